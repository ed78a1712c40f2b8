"""What a status of gRPC means."""

import grpc
import pytest
from fakes.recipes.base import UPSTREAM_WORDS

from adapters.base import ErrorKind, Happened
from adapters.grpc_upstream.statuses import status_error

Code = grpc.StatusCode
FAILURES = [code for code in Code if code is not Code.OK]
DID_NOTHING = {
    *(Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.ALREADY_EXISTS, Code.PERMISSION_DENIED, Code.RESOURCE_EXHAUSTED),
    *(Code.FAILED_PRECONDITION, Code.ABORTED, Code.OUT_OF_RANGE, Code.UNIMPLEMENTED, Code.UNAUTHENTICATED),
}


def failed(code: grpc.StatusCode, details: str = UPSTREAM_WORDS) -> grpc.aio.AioRpcError:
    """A call that ended so."""
    wait = b"\x1a\x33\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12\x07\x0a\x05\x08\x07\x10\xe8\x07"
    trailing = grpc.aio.Metadata(("grpc-status-details-bin", wait))
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details)


@pytest.mark.parametrize("code", FAILURES)
def test_every_status_has_a_meaning_and_a_sentence_of_ours(code: grpc.StatusCode) -> None:
    """Nothing of the service's is in it."""
    error = status_error(failed(code), has_effect=True)
    assert 0 < len(error.message) <= 300
    assert UPSTREAM_WORDS not in f"{error!r} {error.message} {error.__dict__}"


@pytest.mark.parametrize("code", FAILURES)
def test_only_what_a_service_refuses_did_nothing(code: grpc.StatusCode) -> None:
    """Everything else may have been done, and nothing that has no effect was."""
    assert status_error(failed(code), has_effect=True).happened is (
        Happened.NO if code in DID_NOTHING else Happened.UNKNOWN
    )
    assert status_error(failed(code), has_effect=False).happened is Happened.NO


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (Code.INVALID_ARGUMENT, ErrorKind.INVALID),
        (Code.OUT_OF_RANGE, ErrorKind.INVALID),
        (Code.NOT_FOUND, ErrorKind.NOT_FOUND),
        (Code.ALREADY_EXISTS, ErrorKind.CONFLICT),
        (Code.ABORTED, ErrorKind.CONFLICT),
        (Code.FAILED_PRECONDITION, ErrorKind.CONFLICT),
        (Code.PERMISSION_DENIED, ErrorKind.FORBIDDEN),
        (Code.UNAUTHENTICATED, ErrorKind.NEEDS_AUTHORISATION),
        (Code.RESOURCE_EXHAUSTED, ErrorKind.RATE_LIMITED),
        (Code.UNIMPLEMENTED, ErrorKind.CHANGED),
        (Code.DEADLINE_EXCEEDED, ErrorKind.DEADLINE),
        (Code.UNAVAILABLE, ErrorKind.UNAVAILABLE),
        (Code.INTERNAL, ErrorKind.UNAVAILABLE),
        (Code.UNKNOWN, ErrorKind.UNAVAILABLE),
        (Code.DATA_LOSS, ErrorKind.UNAVAILABLE),
        (Code.CANCELLED, ErrorKind.UNAVAILABLE),
    ],
)
def test_what_each_is(code: grpc.StatusCode, kind: ErrorKind) -> None:
    """To an agent."""
    assert status_error(failed(code), has_effect=False).kind is kind


@pytest.mark.parametrize("code", FAILURES)
def test_a_wait_is_told_where_waiting_helps(code: grpc.StatusCode) -> None:
    """And nowhere else."""
    error = status_error(failed(code), has_effect=False)
    helps = error.kind in (ErrorKind.RATE_LIMITED, ErrorKind.UNAVAILABLE)
    assert error.retry_after_seconds == (pytest.approx(7.000001) if helps else None)


@pytest.mark.parametrize(
    ("words", "kind", "happened"),
    [
        ("Stream removed (CLIENT: Received message larger than max (5 vs. 4))", ErrorKind.TOO_LARGE, Happened.YES),
        ("Decompressed message larger than max", ErrorKind.TOO_LARGE, Happened.YES),
        ("SERVER: Received message larger than max (5 vs. 4)", ErrorKind.INVALID, Happened.NO),
        ("grpc: received message larger than max (5 vs. 4)", ErrorKind.INVALID, Happened.NO),
        ("no quota", ErrorKind.RATE_LIMITED, Happened.NO),
    ],
)
def test_what_is_too_large_is_told_apart(words: str, kind: ErrorKind, happened: Happened) -> None:
    """An answer that was too large is one; a request that was has done nothing. No status of its own says so."""
    error = status_error(failed(Code.RESOURCE_EXHAUSTED, words), has_effect=True)
    assert (error.kind, error.happened) == (kind, happened)


@pytest.mark.parametrize("code", [Code.RESOURCE_EXHAUSTED, Code.PERMISSION_DENIED, Code.CANCELLED])
def test_a_stream_that_is_given_up_is_no_status(code: grpc.StatusCode) -> None:
    """Whatever the library makes of the reason: the service may have done its work before."""
    words = "Stream removed (RST_STREAM (Received RST_STREAM with error code 11))"
    error = status_error(failed(code, words), has_effect=True)
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.UNKNOWN)
