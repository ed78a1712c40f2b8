"""The text of an HTML mail."""

import time

import pytest

from adapters.email.html import MAX_TAGS, text_of


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>Hello <b>Ann</b>,</p><p>how are you?</p>", "Hello Ann,\n\nhow are you?"),
        ("a<br>b<BR/>c", "a\nb\nc"),
        ("<ul><li>one<li>two</ul>", "- one\n- two"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\n\nc"),
        ("x &lt;b&gt; &amp; &euro; &#8364; &nope;", "x <b> & € € &nope;"),
        ('<a href="https://a.example/x?y=1&amp;z=2">click</a> here', "click <https://a.example/x?y=1&z=2> here"),
        ('<a href="javascript:alert(1)">click</a>', "click"),
        ('<img alt="A chart" src="https://spy.example/p.gif">', "A chart"),
        ("<style>p {color: red}</style><script>alert('<p>x</p>')</script>seen", "seen"),
        ("<!-- <p>not seen</p> -->seen<!-- no end", "seen"),
        ("<![CDATA[x]]><?php x ?><!DOCTYPE html>seen", "seen"),
        ("1 < 2 and 3 > 2 <", "1 < 2 and 3 > 2 <"),
        ('<p title="a > b">seen</p>', "seen"),
        ("<title>not seen</title>seen", "seen"),
        ("</p></div>seen</b>", "seen"),
        ("", ""),
        ("plain", "plain"),
    ],
)
def test_what_a_reader_sees_is_told(source: str, text: str) -> None:
    """Blocks are lines, links show where they lead to, and nothing that runs is left."""
    assert text_of(source) == (text, True)


@pytest.mark.parametrize(
    "hidden",
    [
        '<div style="display:none">secret<div>secret</div>secret</div>',
        '<span style="DISPLAY : None !important">secret</span>',
        "<span style='font-size:0px'>secret</span>",
        '<span style="visibility: hidden; color: red">secret</span>',
        '<p style="opacity:0.0">secret</p>',
        "<div hidden>secret<br>secret</div>",
        '<div hidden="hidden">secret</div>',
        '<p style="display:none">secret',
        "<template>secret</template>",
        "<noscript>secret</noscript>",
        '<p style="mso-hide:all">secret</p>',
        '<p style="display&#58;none">secret</p>',
        "<P STYLE=DISPLAY:NONE>secret</P>",
        "<p/hidden>secret</p>",
        '<div style="max-height:0px;overflow:hidden">secret</div>',
        '<span style="color: transparent">secret</span>',
        '<span style="text-indent:-9999px">secret</span>',
    ],
)
def test_what_a_reader_does_not_see_is_left_out(hidden: str) -> None:
    """Words for a model that no person would see."""
    assert text_of(f"<p>before</p>{hidden}<p>after</p>")[0].split() == ["before", "after"]


def test_small_letters_are_seen() -> None:
    """Only nothing is nothing."""
    assert text_of('<p style="font-size:0.8em;opacity:0.5">seen</p>') == ("seen", True)


@pytest.mark.parametrize(
    "piece",
    ["<", "<!--", "<a ", "</", "<p", "&", "<script>", '<a href="', "<div hidden>", "<!", "<td>", "=\"'", "İ<b>"],
)
def test_broken_html_takes_no_longer_than_it_is_long(piece: str) -> None:
    """Half a megabyte of what sends other readers round and round."""
    begun = time.perf_counter()
    text_of(piece * (500_000 // len(piece)))
    assert time.perf_counter() - begun < 5.0


def test_there_is_a_most_that_is_read() -> None:
    """Tags without end have an end."""
    assert text_of("<b>" * MAX_TAGS + "not read") == ("", False)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a &#" + "9" * 5000 + "; b", "a \ufffd b"),
        ("a &#x" + "f" * 5000 + "; b", "a \ufffd b"),
        ('<a href="https://a.example/&#' + "9" * 5000 + '">x</a>', "x <https://a.example/\ufffd>"),
        ('<p title="a hidden gem">seen</p>', "seen"),
        ('<p class="md hidden lg">seen</p>', "seen"),
        ('<p data-x1="style=display:none">seen</p>', "seen"),
        ("<p title='style=\"display:none\"'>seen</p>", "seen"),
        ('<a href="HTTPS://a.example">x</a>', "x <HTTPS://a.example>"),
        ("İ<SCRIPT>not seen</SCRIPT><P HIDDEN>not seen</P>seen", "İ\nseen"),
        ('<p style="line-height:0;max-width:0">seen</p>', "seen"),
    ],
)
def test_what_a_sender_may_try(source: str, text: str) -> None:
    """Neither a crash nor a way to hide from a model what a person sees."""
    assert text_of(source) == (text, True)


@pytest.mark.parametrize("piece", ["a ", "a= ", "style ", "a='", 'a="', "a=' \"", "hidden", "a=b", " a", "=" * 9])
def test_broken_attributes_take_no_longer_than_they_are_long(piece: str) -> None:
    """In one tag after the other."""
    begun = time.perf_counter()
    text_of(f"<a style hidden {piece * (9_000 // len(piece))}>" * 50)
    assert time.perf_counter() - begun < 5.0
