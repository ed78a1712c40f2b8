"""What a server's errors mean, and what they say of the effect."""

import pytest

from adapters.base import ErrorKind, Happened
from adapters.mcp_upstream import failures
from adapters.mcp_upstream.rpc import RpcError

NO, UNKNOWN = Happened.NO, Happened.UNKNOWN


@pytest.mark.parametrize(
    ("code", "kind", "happened"),
    [
        (-32601, ErrorKind.NOT_FOUND, NO),
        (-32602, ErrorKind.INVALID, NO),
        (-32600, ErrorKind.MALFORMED, NO),
        (-32700, ErrorKind.MALFORMED, NO),
        (-32020, ErrorKind.MALFORMED, NO),
        (-32021, ErrorKind.FORBIDDEN, NO),
        (-32022, ErrorKind.MALFORMED, NO),
        (-32042, ErrorKind.NEEDS_AUTHORISATION, NO),
        (-32002, ErrorKind.NOT_FOUND, UNKNOWN),
        (-32603, ErrorKind.UNAVAILABLE, UNKNOWN),
        (-32000, ErrorKind.UNAVAILABLE, UNKNOWN),
        (1, ErrorKind.UNAVAILABLE, UNKNOWN),
    ],
)
def test_codes(code: int, kind: ErrorKind, happened: Happened) -> None:
    """Those that are defined as a request that was not carried out say so; of a read nothing happens anyway."""
    error = failures.rpc_failure(RpcError(code=code), has_effect=True)
    assert (error.kind, error.happened) == (kind, happened)
    assert len(error.message) <= 300
    assert failures.rpc_failure(RpcError(code=code), has_effect=False).happened is NO


def test_who_has_told_progress_had_begun() -> None:
    """So it is not believed that it did not call the tool."""
    error = failures.rpc_failure(RpcError(code=-32602, has_begun=True), has_effect=True)
    assert (error.kind, error.happened) == (ErrorKind.INVALID, UNKNOWN)


def test_a_status_that_refuses_says_so() -> None:
    """Whatever the code."""
    assert failures.rpc_failure(RpcError(code=-32000, is_refused=True), has_effect=True).happened is NO


@pytest.mark.parametrize("fail", [failures.unreadable, failures.too_large, failures.broken_off])
def test_after_sending(fail: type) -> None:
    """What has an effect may have happened."""
    assert fail(has_effect=True).happened is UNKNOWN  # type: ignore[attr-defined]
    assert fail(has_effect=False).happened is NO  # type: ignore[attr-defined]


def test_the_same_for_another_one() -> None:
    """Who waited for a server to be opened has called nothing."""
    error = failures.not_now("Not now.", 3.0)
    error.happened = UNKNOWN
    other = failures.again(error)
    assert other is not error
    assert (other.kind, other.message, other.retry_after_seconds) == (ErrorKind.UNAVAILABLE, "Not now.", 3.0)
    assert other.happened is NO
