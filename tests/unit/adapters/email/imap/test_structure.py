"""What a message is made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.email.imap.grammar import Reader
from adapters.email.imap.structure import MAX_PARTS, MAX_TEXTS, Structure, read_structure

PLAIN = b'("text" "plain" ("charset" "utf-8") NIL NIL "7bit" 10 1 NIL NIL NIL NIL)'
HTML = b'("TEXT" "HTML" ("CHARSET" "UTF-8") NIL NIL "QUOTED-PRINTABLE" 20 2 NIL NIL NIL NIL)'
PDF = b'("application" "pdf" NIL NIL NIL "base64" 780 NIL ("attachment" ("filename" "a.pdf")) NIL NIL)'
IMAGE = b'("image" "png" ("name" "logo.png") "<1>" NIL "base64" 78 NIL ("inline" NIL) NIL NIL)'
MAIL = b'("message" "rfc822" NIL NIL NIL "7bit" 500 (NIL) ' + PLAIN + b" 9 NIL NIL NIL NIL)"
NOTE = b'("text" "plain" NIL NIL NIL "7bit" 30 1 NIL ("attachment" ("filename" "note.txt")) NIL NIL)'


def read(line: bytes) -> Structure:
    """The structure that a server tells."""
    (value,) = Reader().read([line])
    return read_structure(value)


def sections(line: bytes) -> tuple[list[str], list[tuple[str, str | None]]]:
    """Where text is, and which files there are."""
    structure = read(line)
    return [part.section for part in structure.texts], [(part.section, part.filename) for part in structure.files]


@pytest.mark.parametrize(
    ("line", "texts", "files"),
    [
        (PLAIN, ["1"], []),
        (PDF, [], [("1", "a.pdf")]),
        (b"(" + PLAIN + HTML + b' "alternative")', ["1"], []),
        (b"(" + HTML + PLAIN + b' "alternative")', ["2"], []),
        (b"(" + HTML + b' "alternative")', ["1"], []),
        (b"(" + PLAIN + PDF + b' "mixed" ("boundary" "x"))', ["1"], [("2", "a.pdf")]),
        (
            b"((" + PLAIN + HTML + b' "alternative")' + PDF + IMAGE + b' "MIXED")',
            ["1.1"],
            [("2", "a.pdf"), ("3", "logo.png")],
        ),
        (b"(" + PLAIN + b"(" + HTML + IMAGE + b' "related") "alternative")', ["1"], [("2.2", "logo.png")]),
        (b"(" + PLAIN + NOTE + b' "mixed")', ["1"], [("2", "note.txt")]),
        (b"(" + PLAIN + MAIL + b' "mixed")', ["1"], [("2", None)]),
        (b"(" + PLAIN + PLAIN + b' "mixed")', ["1", "2"], []),
        (b"(" + PLAIN.replace(b" 10 ", b" 0 ") + HTML + b' "alternative")', ["2"], []),
    ],
)
def test_text_and_files_are_told_apart(line: bytes, texts: list[str], files: list[tuple[str, str | None]]) -> None:
    """Of alternatives the plain one is read; a message in the message is a file."""
    assert sections(line) == (texts, files)


@pytest.mark.parametrize(
    ("told", "name"),
    [
        (b'"filename" "a.pdf"', "a.pdf"),
        (b'"filename*" "utf-8\'de\'Gr%C3%BC%C3%9Fe.pdf"', "Grüße.pdf"),
        (b'"filename*0*" "utf-8\'\'%C3%BC" "filename*1" "b.p" "filename*2*" "%64f"', "üb.pdf"),
        (b'"filename*1" "b.pdf" "filename*0" "a"', "ab.pdf"),
        (b'"filename" "=?utf-8?q?=C3=BC.pdf?="', "ü.pdf"),
        (b'"filename" "a\\\\..\\\\b.pdf"', "a\\..\\b.pdf"),
        (b'"filename*" "\'\'a%0D%0AX: y"', "a X: y"),
        (b'"filename*" "utf-8\'\'%E2%80%AEfdp.exe"', "fdp.exe"),
        (b'"filename" ""', None),
        (b'"other" "x"', None),
        (b'"filename*" "%"', None),
        (b'"filename" "a.pdf" "filename*" "utf-8\'\'b.exe"', "b.exe"),
        (b'"name" "a.pdf" "filename" "b.exe"', "b.exe"),
        (b'"filename*0" "a" "filename*2" "c"', "a"),
        (b'"filename*0" "a" "filename" "b" "name*0" "c"', "a"),
    ],
)
def test_a_files_name_is_one_line(told: bytes, name: str | None) -> None:
    """However it was written."""
    line = PDF.replace(b'"filename" "a.pdf"', told)
    assert [part.filename for part in read(line).files] == [name]


def test_size_charset_and_encoding() -> None:
    """A size is about what comes out when it is decoded."""
    (part,) = read(PDF).files
    assert (part.kind, part.encoding, part.size, part.decoded_size) == ("application/pdf", "base64", 780, 570)
    (text,) = read(HTML).texts
    assert (text.kind, text.charset, text.encoding, text.decoded_size) == ("text/html", "UTF-8", "quoted-printable", 20)


def test_the_number_of_parts_and_their_depth_are_bounded() -> None:
    """And said to be more."""
    wide = read(b"(" + PDF * 500 + b' "mixed")')
    assert (len(wide.files), wide.is_cut) == (MAX_PARTS, True)
    texts = read(b"(" + PLAIN * 20 + b' "mixed")')
    assert (len(texts.texts), texts.is_cut) == (MAX_TEXTS, True)
    deep = read(b"(" * 35 + PLAIN + b' "mixed")' * 35)
    assert (deep.texts, deep.is_cut) == ((), True)


JSONISH = st.recursive(
    st.none()
    | st.binary(max_size=5)
    | st.sampled_from(["text", "1", "99999999999999999", "attachment", "filename*0*"]),
    lambda inner: st.lists(inner, max_size=12),
    max_leaves=40,
)


@given(JSONISH)
def test_no_structure_is_a_crash(value: object) -> None:
    """Whatever a server says."""
    structure = read_structure(value)  # type: ignore[arg-type]
    assert len(structure.files) <= MAX_PARTS


@pytest.mark.parametrize("kind", ["calendar", "csv", "x-unknown"])
def test_what_is_not_read_is_listed(kind: str) -> None:
    """A text that is none to read is not lost for having no name."""
    line = PLAIN.replace(b'"plain"', f'"{kind}"'.encode())
    assert sections(b"(" + PLAIN + line + b' "mixed")') == (["1"], [("2", None)])
