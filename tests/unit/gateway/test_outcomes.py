"""A result survives being kept, whatever is in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import ArgumentIssue, Binary, Fault, Text
from gateway.call import Failure, Result, Truncation
from gateway.errors import PolicyReason, Reason
from gateway.outcomes import OutcomeUnreadable, decode, decode_result, encode

_TEXT = st.text(st.characters(), max_size=20)  # lone surrogates as well
_BLOCK = st.builds(Text, text=_TEXT) | st.builds(Binary, mime_type=_TEXT, data=st.binary(max_size=20))
_CUT = st.builds(
    Truncation,
    limit=_TEXT,
    original_bytes=st.integers(0, 2**60),
    kept_bytes=st.integers(0, 2**60),
    paths=st.lists(_TEXT, max_size=2).map(tuple),
    is_at_least=st.booleans(),
    artifact_id=_TEXT,
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
_FAILURE = st.builds(
    Failure,
    reason=st.sampled_from(Reason),
    message=_TEXT,
    issues=st.lists(st.builds(ArgumentIssue, path=_TEXT, rule=_TEXT, message=_TEXT), max_size=2).map(tuple),
    policy_reasons=st.lists(st.builds(PolicyReason, code=_TEXT, message=_TEXT, advice=_TEXT), max_size=2).map(tuple),
    retry_after_ms=st.integers(0, 2**40),
    fault=st.none() | st.sampled_from(Fault),
)


@given(_FAILURE)
def test_a_failure_comes_back_as_it_was(failure: Failure) -> None:
    """And is no result."""
    assert decode(encode(failure)) == failure
    with pytest.raises(OutcomeUnreadable):
        decode_result(encode(failure))


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
    with pytest.raises(OutcomeUnreadable) as caught:
        decode(raw)
    assert caught.value.__cause__ is None


@given(st.binary(max_size=60))
def test_no_bytes_make_it_fail_otherwise(raw: bytes) -> None:
    """Whatever a broken disk gives."""
    with pytest.raises(OutcomeUnreadable):
        decode(raw)
