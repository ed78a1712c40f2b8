"""How a call is written into a request: an argument in a path stays one segment."""

from urllib.parse import quote, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import AdapterError, ErrorKind, Happened, Target
from adapters.transport.calls import Call, path_of, url_of

OWN = "https://api.vendor.example/v1"
POST = Call(method="POST", path="/things", json={"a": 1})
HOSTILE = ("a/b", "../x", "..%2f", "%2e%2e", "a?b=c", "a#b", "a\\b", "{}", "{0}", "ü", "a b", "\x00", "\n", "é/../")
TARGET = Target(name="c", hosts=("api.vendor.example",))


class TestPaths:
    """An argument in a path stays one segment."""

    @pytest.mark.parametrize("segment", ["", ".", "..", "...", "." * 50])
    def test_one_that_would_lead_elsewhere_is_refused(self, segment: str) -> None:
        """As is one that is nothing."""
        with pytest.raises(AdapterError) as caught:
            path_of("/repos/{}/issues", segment)
        assert (caught.value.kind, caught.value.happened) == (ErrorKind.INVALID, Happened.NO)

    @pytest.mark.parametrize(
        "segment",
        ["a/b", "../x", "..%2f", "%2e%2e", "a?b=c", "a#b", "a\\b", "{}", "{0}", "ü", "a b", "\x00", "\n", "é/../"],
    )
    def test_what_is_in_one_comes_out_as_it_was(self, segment: str) -> None:
        """At the vendor, as one segment, once the URL is read as it is sent."""
        url = url_of(TARGET, OWN, Call(path=path_of("/a/{}/b", segment)))
        sent = urlsplit(url.text)
        assert (sent.scheme, sent.netloc) == ("https", "api.vendor.example")
        assert [unquote(one) for one in sent.path.split("/")] == ["", "v1", "a", segment, "b"]
        assert (sent.query, sent.fragment) == ("", "")

    @given(st.text(max_size=50), st.text(max_size=50))
    def test_whatever_is_in_two_they_are_two(self, first: str, second: str) -> None:
        """Or it is an argument that is wrong."""
        try:
            path = path_of("/a/{}/b/{}", first, second)
        except AdapterError as error:
            kind = error.kind
        else:
            kind = None
            sent = urlsplit(url_of(TARGET, OWN, Call(path=path)).text)
            assert [unquote(one) for one in sent.path.split("/")] == ["", "v1", "a", first, "b", second]
            assert sent.netloc == "api.vendor.example"
        assert kind in (None, ErrorKind.INVALID)

    @pytest.mark.parametrize("segment", ["\ud800", "x" * 5000])
    def test_what_is_no_segment_is_an_argument_that_is_wrong(self, segment: str) -> None:
        """A text that is no Unicode, and one without end."""
        with pytest.raises(AdapterError) as caught:
            url_of(TARGET, OWN, Call(path=path_of("/{}", segment)))
        assert caught.value.kind is ErrorKind.INVALID

    def test_numbers_are_segments(self) -> None:
        """As they are."""
        assert path_of("/{}/{}", 7, 0) == "/7/0"


def test_what_is_escaped_is_sent_escaped() -> None:
    """A bare `;`, `:`, `=` or `@` in an argument may be more to a server than a part of a name."""
    signs = "".join(map(chr, range(33, 127)))
    call = Call(path=path_of("/things/{}:archive", signs), query={"q;": signs})
    escaped = quote(signs, safe="")
    assert url_of(TARGET, OWN, call).text == f"{OWN}/things/{escaped}:archive?q%3B={escaped}"
    assert url_of(TARGET, OWN, call).path == f"/v1/things/{escaped}:archive"


@pytest.mark.parametrize(
    ("path", "want"),
    [("/a/\u00fc", "/v1/a/%C3%BC"), ("/a/../b", "/v1/b"), ("/a/%2E%2e/b", "/v1/b"), ("/a/./b", "/v1/a/b")],
)
def test_a_path_that_is_not_escaped_is_made_canonical(path: str, want: str) -> None:
    """As any other URL is."""
    assert url_of(TARGET, OWN, Call(path=path)).path == want
