"""Every foreign exception becomes an `AdapterError` here, with what is known about the effect."""

import asyncio
import ssl
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import aiohttp

from adapters.base import AdapterError, ErrorKind, Fault, Happened


@dataclass(slots=True)
class Progress:
    """How far one request came. It says what an exception means for the effect that was asked for."""

    has_effect: bool
    is_connected: bool = False
    """A connection stood, so bytes of the request may have gone out."""
    is_in_doubt: bool = False
    """An earlier attempt of the same effect ended without anybody knowing."""
    status: int | None = None

    @property
    def happened(self) -> Happened:
        """What is known now."""
        if not self.has_effect:
            return Happened.NO
        if self.status is not None and 200 <= self.status < 300:
            return Happened.YES
        is_denied = self.status is not None and 400 <= self.status < 500 and self.status != 408
        if self.is_in_doubt or (self.is_connected and not is_denied):
            return Happened.UNKNOWN
        return Happened.NO

    def begin_attempt(self) -> None:
        """Forget the attempt before, except for its doubt."""
        self.is_in_doubt = self.happened is Happened.UNKNOWN
        self.is_connected = False
        self.status = None


@dataclass(frozen=True, slots=True)
class _Row:
    exceptions: tuple[type[Exception], ...]
    kind: ErrorKind
    fault: Fault
    message: str


_TABLE = (
    _Row(
        (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError, aiohttp.ServerFingerprintMismatch),
        ErrorKind.UNAVAILABLE,
        Fault.REFUSED,
        "The site's TLS certificate or handshake cannot be trusted; nothing was sent.",
    ),
    _Row(
        (aiohttp.ClientConnectorDNSError,),
        ErrorKind.UNAVAILABLE,
        Fault.ERROR,
        "The host's name cannot be resolved; check its spelling or try again later.",
    ),
    _Row(
        (aiohttp.ServerTimeoutError,),
        ErrorKind.UNAVAILABLE,
        Fault.TIMEOUT,
        "The site did not answer in time; try again later.",
    ),
    _Row(
        (TimeoutError, asyncio.TimeoutError),
        ErrorKind.DEADLINE,
        Fault.TIMEOUT,
        "The call's time was up before the site had answered.",
    ),
    _Row(
        (aiohttp.ClientConnectorError,),
        ErrorKind.UNAVAILABLE,
        Fault.REFUSED,
        "The site cannot be connected to; try again later.",
    ),
    _Row(
        (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError),
        ErrorKind.INVALID,
        Fault.ERROR,
        "The URL cannot be requested; check it.",
    ),
    _Row(
        (aiohttp.ClientResponseError, aiohttp.http_exceptions.HttpProcessingError, zlib.error),
        ErrorKind.MALFORMED,
        Fault.MALFORMED,
        "The site's answer is not proper HTTP.",
    ),
    _Row(
        (aiohttp.ClientError, ConnectionError),
        ErrorKind.UNAVAILABLE,
        Fault.RESET,
        "The site broke the connection off; try again later.",
    ),
    _Row(
        (ssl.SSLError, OSError, RuntimeError, asyncio.IncompleteReadError),
        ErrorKind.UNAVAILABLE,
        Fault.ERROR,
        "The connection to the site failed; try again later.",
    ),
    _Row(
        (ValueError,),
        ErrorKind.MALFORMED,
        Fault.MALFORMED,
        "The exchange with the site cannot be read.",
    ),
)
"""Most specific first."""

_FOREIGN = tuple(exception for row in _TABLE for exception in row.exceptions)


@contextmanager
def failures_mapped(progress: Progress) -> Iterator[None]:
    """Turns what the network and its libraries raise into `AdapterError`.

    `AdapterError`, cancellation and our own mistakes (a TypeError) pass. The message is ours alone:
    what a library says may quote a URL, a header or a stranger.
    """
    try:
        yield
    except _FOREIGN as error:
        row = next(row for row in _TABLE if isinstance(error, row.exceptions))
        raise AdapterError(row.kind, row.message, happened=progress.happened, fault=row.fault) from error


def status_error(status: int, happened: Happened, retry_after_seconds: float | None = None) -> AdapterError | None:
    """What an HTTP status means for an adapter, or None for a 2xx."""
    if 200 <= status < 300:
        return None
    kind, message = _STATUS.get(status) or _STATUS_CLASS.get(status // 100, _NOT_AN_ANSWER)
    fault = Fault.ERROR if kind is ErrorKind.UNAVAILABLE else None
    return AdapterError(
        kind, message.format(status=status), happened=happened, fault=fault, retry_after_seconds=retry_after_seconds
    )


_FORBIDDEN = (ErrorKind.FORBIDDEN, "The site refuses access to this (HTTP {status}).")
_GONE = (ErrorKind.NOT_FOUND, "The site has nothing under this address (HTTP {status}).")
_NOT_AN_ANSWER = (ErrorKind.MALFORMED, "The site answered with HTTP {status}, which is no usable answer.")
_STATUS = {
    401: _FORBIDDEN,
    402: _FORBIDDEN,
    403: _FORBIDDEN,
    407: _FORBIDDEN,
    451: _FORBIDDEN,
    404: _GONE,
    410: _GONE,
    408: (ErrorKind.UNAVAILABLE, "The site did not wait for the request (HTTP {status}); try again."),
    409: (ErrorKind.CONFLICT, "The site reports a conflict (HTTP {status})."),
    429: (ErrorKind.RATE_LIMITED, "The site asks for fewer requests (HTTP {status}); wait before the next one."),
}
_STATUS_CLASS = {
    4: (ErrorKind.INVALID, "The site does not take this request (HTTP {status})."),
    5: (ErrorKind.UNAVAILABLE, "The site has a fault of its own (HTTP {status}); try again later."),
}
