"""What a server says, as values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.email.imap.grammar import MAX_DEPTH, MAX_VALUES, NotImap, Reader, Value, literal_size


@pytest.mark.parametrize(
    ("pieces", "values"),
    [
        ([b"FETCH (UID 7 FLAGS (\\Seen $x))"], ["FETCH", ["UID", "7", "FLAGS", ["\\Seen", "$x"]]]),
        ([b'("a\\"b\\\\" NIL nil "NIL" ())'], [[b'a"b\\', None, None, b"NIL", []]]),
        ([b"BODY[HEADER.FIELDS (FROM TO)]<0> {3}", b"a(b", b" X)"], None),
        ([b"BODY[HEADER.FIELDS (FROM TO)]<0> {3}", b"a(b", b" X"], ["BODY[HEADER.FIELDS (FROM TO)]<0>", b"a(b", "X"]),
        ([b"(BODY[1] ~{2}", b"\0)", b")"], [["BODY[1]", b"\0)"]]),
        ([b"A {0}", b"", b""], ["A", b""]),
        ([b""], []),
        ([b'"\xff\xfe"'], [b"\xff\xfe"]),
        ([b'((("text" "plain")"x"))'], [[[[b"text", b"plain"], b"x"]]]),
    ],
)
def test_values(pieces: list[bytes], values: list[Value] | None) -> None:
    """Atoms, strings, literals and lists; or it is no IMAP."""
    if values is None:
        with pytest.raises(NotImap):
            Reader().read(pieces)
    else:
        assert Reader().read(pieces) == values


@pytest.mark.parametrize(
    "line",
    [
        b"(",
        b")",
        b'"',
        b'"a',
        b"a)",
        b"{5}",
        b"\xff",
        b"a\0[",
        b"[",
        b'"a\\x"',
        b"(" * (MAX_DEPTH + 2),
        b"a " * MAX_VALUES + b"b",
    ],
)
def test_what_is_no_imap_is_said_to_be_none(line: bytes) -> None:
    """However deep or long it is."""
    with pytest.raises(NotImap):
        Reader().read([line])


@pytest.mark.parametrize(
    ("line", "size"),
    [(b"a {5}", 5), (b"a {0}", 0), (b"a {5+}", 5), (b"a ~{5}", 5), (b"a {5} ", None), (b"a {x}", None), (b"", None)],
)
def test_the_size_of_a_literal(line: bytes, size: int | None) -> None:
    """At the end of a line, and nowhere else."""
    assert literal_size(line) == size


def test_a_size_that_is_no_size_is_none() -> None:
    """Nobody counts that far."""
    assert literal_size(b"a {99999999999}") is None


@given(st.binary(max_size=200))
def test_no_line_is_a_crash(line: bytes) -> None:
    """It is read, or it is no IMAP."""
    try:
        Reader().read([line])
    except NotImap:
        return
