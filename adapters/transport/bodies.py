"""Reading a body: decompressed step by step, and never more of it than was asked for."""

import zlib
from collections.abc import AsyncIterable, Iterator
from dataclasses import dataclass, field

from adapters.base import AdapterError, Cut, ErrorKind, Fault, Happened

ACCEPT_ENCODING = "gzip, deflate"
"""What is advertised; an answer in anything else is refused."""

_STEP_BYTES = 64 * 1024
_MAX_MEMBERS = 16
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What was kept of a body, and the evidence when something was not."""

    data: bytes = field(repr=False)
    cut: Cut | None


async def read_body(chunks: AsyncIterable[bytes], encoding: str, max_bytes: int, happened: Happened) -> Body:
    """The decoded body up to `max_bytes`; reading stops there, so the connection is not fit for reuse.

    Raises `AdapterError` (malformed, with `happened`) for an encoding that was not asked for, a broken
    or unfinished stream, and one that swallows input without giving output.
    """
    decoder = _decoder(encoding, happened)
    kept = bytearray()
    raw_bytes = 0
    async for chunk in chunks:
        raw_bytes += len(chunk)
        try:
            for piece in decoder.pieces(chunk):
                kept += piece
                if len(kept) > max_bytes:
                    return Body(data=bytes(kept[:max_bytes]), cut=Cut(read_bytes=max_bytes, seen_bytes=len(kept)))
        except zlib.error as error:
            raise _malformed(happened) from error
        if raw_bytes > 2 * max_bytes + _STEP_BYTES:
            raise _malformed(happened)
    if not decoder.is_done():
        raise _malformed(happened)
    return Body(data=bytes(kept), cut=None)


class _Identity:
    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        yield chunk

    def is_done(self) -> bool:
        return True


class _Inflate:
    """Gzip (up to 16 members), or deflate with or without its zlib header: servers disagree about that."""

    def __init__(self, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
        self._head = b""
        self._members = 1
        self._stream = zlib.decompressobj(_GZIP) if is_gzip else None
        self._is_begun = False

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """The output for this input in steps of at most 64 KiB. Raises zlib.error."""
        self._is_begun = True
        if self._stream is None:
            self._head += chunk
            if len(self._head) < 2:
                return
            chunk, self._stream = self._head, zlib.decompressobj(_window_bits(self._head))
        piece = b""
        # A full step may leave output behind after the last byte of input was taken.
        while chunk or len(piece) == _STEP_BYTES:
            stream = self._stream
            piece = stream.decompress(chunk, _STEP_BYTES)
            yield piece
            chunk = stream.unconsumed_tail
            if stream.eof:
                if not stream.unused_data:
                    return
                self._stream, chunk = self._next_member(), stream.unused_data

    def is_done(self) -> bool:
        """Whether the stream came to its own end; an empty body is one."""
        return not self._is_begun or (self._stream is not None and self._stream.eof)

    def _next_member(self) -> "zlib._Decompress":
        self._members += 1
        if not self._is_gzip or self._members > _MAX_MEMBERS:
            raise zlib.error("data after the end of the stream")
        return zlib.decompressobj(_GZIP)


def _window_bits(head: bytes) -> int:
    has_zlib_header = head[0] & 0x0F == 8 and (head[0] << 8 | head[1]) % 31 == 0
    return zlib.MAX_WBITS if has_zlib_header else -zlib.MAX_WBITS


def _decoder(encoding: str, happened: Happened) -> _Identity | _Inflate:
    match encoding.strip().lower():
        case "" | "identity":
            return _Identity()
        case "gzip" | "x-gzip":
            return _Inflate(is_gzip=True)
        case "deflate":
            return _Inflate(is_gzip=False)
    raise _malformed(happened)


def _malformed(happened: Happened) -> AdapterError:
    return AdapterError(
        ErrorKind.MALFORMED,
        "The site's answer is compressed in a way that cannot be read.",
        happened=happened,
        fault=Fault.MALFORMED,
    )
