"""An answer that is read while it comes, such as a stream of server-sent events."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TypeVar

import aiohttp

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.transport.failures import Progress

T = TypeVar("T")

Reads = Callable[["Streamed"], Awaitable[T]]
"""Makes something of an answer while it comes."""

_TOO_LARGE = "The site's answer is larger than can be taken; ask for less at once."
_COMPRESSED = "The site's answer is compressed, which was not asked for; it cannot be read while it comes."


class Streamed:
    """The head of an answer with any status, and its body as it comes."""

    def __init__(
        self, answer: aiohttp.ClientResponse, max_bytes: int, progress: Progress, retry_after_seconds: float | None
    ) -> None:
        self.status = answer.status
        self.headers: Mapping[str, str] = answer.headers
        self.retry_after_seconds = retry_after_seconds
        self._answer = answer
        self._left = max_bytes
        self._progress = progress

    @property
    def happened(self) -> Happened:
        """What the status alone says of the effect that was asked for."""
        return self._progress.happened

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body in pieces of at most some hundred KiB. Who stops early lets go of the connection.

        Raises `AdapterError`: too_large beyond what was asked for, malformed when it is compressed.
        """
        if self._answer.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
            raise self._error(ErrorKind.MALFORMED, _COMPRESSED)
        async for piece in self._answer.content.iter_any():
            self._left -= len(piece)
            if self._left < 0:
                raise self._error(ErrorKind.TOO_LARGE, _TOO_LARGE)
            yield piece

    async def body(self) -> bytes:
        """All of it that is still to come. Raises `AdapterError` like `pieces`."""
        return b"".join([piece async for piece in self.pieces()])

    def _error(self, kind: ErrorKind, message: str) -> AdapterError:
        return AdapterError(kind, message, happened=self.happened, fault=Fault.MALFORMED)
