"""Every exception of the HTTP library becomes an `AdapterError` that knows what happened."""

import asyncio
import socket
import ssl
import zlib
from collections.abc import Iterator
from types import SimpleNamespace

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.transport.failures import Progress, failures_mapped, status_error

SECRET = "hunter2-Zq8"
KEY = ConnectionKey(f"{SECRET}.example", 443, True, True, None, None, None)
REQUEST = SimpleNamespace(real_url=f"https://example.com/?key={SECRET}", headers={"Authorization": SECRET})
OS_ERROR = OSError(111, f"refused {SECRET}")


def _all(base: type) -> Iterator[type]:
    for child in base.__subclasses__():
        yield child
        yield from _all(child)


def _made(kind: type) -> Exception:
    """An instance, by the constructor that this family has."""
    ways = (
        lambda: kind(KEY, OS_ERROR),
        lambda: kind(REQUEST, (), status=500, message=SECRET),
        lambda: kind("path", KEY, OS_ERROR),
        lambda: kind(b"a", b"b", SECRET, 443),
        lambda: kind(f"https://{SECRET}"),
        lambda: kind(SECRET),
    )
    if issubclass(kind, aiohttp.ClientConnectorCertificateError):
        return kind(KEY, ssl.SSLCertVerificationError(1, SECRET))
    if issubclass(kind, aiohttp.client_exceptions.UnixClientConnectorError):
        return kind(SECRET, KEY, OS_ERROR)
    for way in ways:
        try:
            made = way()
            str(made)
        except (TypeError, AttributeError):
            continue
        return made
    raise AssertionError(f"nobody knows how to make a {kind.__name__}")


FOREIGN = sorted({kind for kind in _all(aiohttp.ClientError) if kind.__module__.startswith("aiohttp")}, key=str)


def _mapped(error: BaseException, progress: Progress | None = None) -> AdapterError:
    with pytest.raises(AdapterError) as caught, failures_mapped(progress or Progress(has_effect=False)):
        raise error
    return caught.value


@pytest.mark.parametrize("kind", FOREIGN)
def test_every_client_error_is_mapped(kind: type) -> None:
    """All that the library defines, and none of their text comes along."""
    error = _mapped(_made(kind))
    assert error.fault is not None
    assert error.happened is Happened.NO
    assert SECRET not in error.message
    assert SECRET not in str(error)
    assert SECRET not in repr(error)


def test_there_are_errors_to_map() -> None:
    """The enumeration above did not come out empty."""
    assert len(FOREIGN) > 20


@pytest.mark.parametrize(
    ("error", "kind", "fault"),
    [
        (TimeoutError(), ErrorKind.DEADLINE, Fault.TIMEOUT),
        (aiohttp.SocketTimeoutError(), ErrorKind.UNAVAILABLE, Fault.TIMEOUT),
        (aiohttp.ConnectionTimeoutError(), ErrorKind.UNAVAILABLE, Fault.TIMEOUT),
        (aiohttp.ClientConnectorDNSError(KEY, OS_ERROR), ErrorKind.UNAVAILABLE, Fault.ERROR),
        (aiohttp.ClientConnectorError(KEY, OS_ERROR), ErrorKind.UNAVAILABLE, Fault.REFUSED),
        (aiohttp.ClientConnectorSSLError(KEY, OS_ERROR), ErrorKind.UNAVAILABLE, Fault.REFUSED),
        (aiohttp.ServerDisconnectedError(), ErrorKind.UNAVAILABLE, Fault.RESET),
        (aiohttp.ClientPayloadError(), ErrorKind.UNAVAILABLE, Fault.RESET),
        (aiohttp.ClientConnectionResetError(), ErrorKind.UNAVAILABLE, Fault.RESET),
        (ConnectionResetError(), ErrorKind.UNAVAILABLE, Fault.RESET),
        (BrokenPipeError(), ErrorKind.UNAVAILABLE, Fault.RESET),
        (ssl.SSLError(1, "x"), ErrorKind.UNAVAILABLE, Fault.ERROR),
        (socket.gaierror(-2, "x"), ErrorKind.UNAVAILABLE, Fault.ERROR),
        (OSError("x"), ErrorKind.UNAVAILABLE, Fault.ERROR),
        (RuntimeError("Session is closed"), ErrorKind.UNAVAILABLE, Fault.ERROR),
        (asyncio.IncompleteReadError(b"", 1), ErrorKind.UNAVAILABLE, Fault.ERROR),
        (aiohttp.InvalidURL("x"), ErrorKind.INVALID, Fault.ERROR),
        (aiohttp.http_exceptions.BadStatusLine("x"), ErrorKind.MALFORMED, Fault.MALFORMED),
        (zlib.error("x"), ErrorKind.MALFORMED, Fault.MALFORMED),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "x"), ErrorKind.MALFORMED, Fault.MALFORMED),
        (ValueError("x"), ErrorKind.MALFORMED, Fault.MALFORMED),
    ],
)
def test_the_kind_and_fault_tell_failures_apart(error: Exception, kind: ErrorKind, fault: Fault) -> None:
    """Timeout, refusal, reset and nonsense are different things to an operator."""
    mapped = _mapped(error)
    assert (mapped.kind, mapped.fault) == (kind, fault)
    assert mapped.__cause__ is error


def test_our_own_errors_pass_untouched() -> None:
    """An `AdapterError` is not wrapped again."""
    error = AdapterError(ErrorKind.CONFLICT, "x", happened=Happened.YES)
    assert _mapped(error) is error


@pytest.mark.parametrize("error", [asyncio.CancelledError(), KeyboardInterrupt(), TypeError("a bug")])
def test_cancellation_and_bugs_are_not_dressed_up(error: BaseException) -> None:
    """A cancelled call is cancelled, and a mistake of ours stays visible."""
    with pytest.raises(type(error)), failures_mapped(Progress(has_effect=False)):
        raise error


@pytest.mark.parametrize(
    ("has_effect", "is_connected", "status", "happened"),
    [
        (False, True, 200, Happened.NO),
        (True, False, None, Happened.NO),
        (True, True, None, Happened.UNKNOWN),
        (True, True, 201, Happened.YES),
        (True, True, 302, Happened.UNKNOWN),
        (True, True, 400, Happened.NO),
        (True, True, 408, Happened.UNKNOWN),
        (True, True, 429, Happened.NO),
        (True, True, 500, Happened.UNKNOWN),
        (True, True, 503, Happened.UNKNOWN),
    ],
)
def test_progress_says_what_happened(
    *, has_effect: bool, is_connected: bool, status: int | None, happened: Happened
) -> None:
    """Reads have no effect; a write that could have been sent is unknown until the vendor says."""
    assert Progress(has_effect=has_effect, is_connected=is_connected, status=status).happened is happened


def test_a_doubt_outlives_the_next_attempt() -> None:
    """When a first attempt may have worked, a refused connection of the second does not make it certain."""
    progress = Progress(has_effect=True, is_connected=True)
    progress.begin_attempt()
    assert progress.happened is Happened.UNKNOWN
    progress.is_connected, progress.status = True, 409
    assert progress.happened is Happened.UNKNOWN
    progress.status = 200
    assert progress.happened is Happened.YES


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (101, ErrorKind.MALFORMED),
        (304, ErrorKind.MALFORMED),
        (400, ErrorKind.INVALID),
        (401, ErrorKind.FORBIDDEN),
        (403, ErrorKind.FORBIDDEN),
        (404, ErrorKind.NOT_FOUND),
        (408, ErrorKind.UNAVAILABLE),
        (409, ErrorKind.CONFLICT),
        (410, ErrorKind.NOT_FOUND),
        (418, ErrorKind.INVALID),
        (422, ErrorKind.INVALID),
        (429, ErrorKind.RATE_LIMITED),
        (451, ErrorKind.FORBIDDEN),
        (500, ErrorKind.UNAVAILABLE),
        (503, ErrorKind.UNAVAILABLE),
        (599, ErrorKind.UNAVAILABLE),
        (999, ErrorKind.MALFORMED),
    ],
)
def test_a_status_becomes_a_kind(status: int, kind: ErrorKind) -> None:
    """With the number in the sentence."""
    error = status_error(status, Happened.NO, 7.0)
    assert error is not None
    assert error.kind is kind
    assert str(status) in error.message
    assert error.retry_after_seconds == 7.0


@pytest.mark.parametrize("status", [200, 201, 204, 206])
def test_success_is_no_error(status: int) -> None:
    """Any 2xx."""
    assert status_error(status, Happened.NO) is None
