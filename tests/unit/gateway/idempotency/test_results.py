"""A result survives being kept, whatever is in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Binary, Text
from gateway.call import Result, Truncation
from gateway.idempotency.results import ResultUnreadable, decode, encode

_TEXT = st.text(st.characters(), max_size=20)  # lone surrogates as well
_BLOCK = st.builds(Text, text=_TEXT) | st.builds(Binary, mime_type=_TEXT, data=st.binary(max_size=20))
_CUT = st.builds(
    Truncation,
    limit=_TEXT,
    original_bytes=st.integers(0, 2**60),
    kept_bytes=st.integers(0, 2**60),
    paths=st.lists(_TEXT, max_size=2).map(tuple),
    is_at_least=st.booleans(),
)
_RESULT = st.builds(
    Result,
    content=st.lists(_BLOCK, max_size=3).map(tuple),
    structured_json=st.binary(max_size=40),
    receipt=_TEXT,
    truncation=st.none() | _CUT,
    labels=st.lists(_TEXT, max_size=2).map(tuple),
    redacted_paths=st.lists(_TEXT, max_size=2).map(tuple),
    scrubbed=st.integers(0, 1000),
)


@given(_RESULT)
def test_a_result_comes_back_as_it_was(result: Result) -> None:
    """To the byte."""
    assert decode(encode(result)) == result


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"null",
        b"[1]",
        b'{"format":2}',
        b"\xff",
        encode(Result(content=(), structured_json=b"", receipt="r"))[:-4],
    ],
)
def test_anything_else_is_told(raw: bytes) -> None:
    """And nothing of it is in what is said."""
    with pytest.raises(ResultUnreadable) as caught:
        decode(raw)
    assert caught.value.__cause__ is None


@given(st.binary(max_size=60))
def test_no_bytes_make_it_fail_otherwise(raw: bytes) -> None:
    """Whatever a broken disk gives."""
    with pytest.raises(ResultUnreadable):
        decode(raw)
