"""Bodies are decompressed in steps, up to a cap, and broken streams are told apart from short ones."""

import gzip
import zlib
from collections.abc import AsyncIterator

import pytest

from adapters.base import AdapterError, Cut, ErrorKind, Happened
from adapters.transport.bodies import Body, read_body

WORDS = b"plain words, many of them; " * 400


async def _chunks(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def _read(data: bytes, encoding: str = "", max_bytes: int = 1_000_000, size: int = 1000) -> Body:
    return await read_body(_chunks(data, size), encoding, max_bytes, Happened.YES)


def _gzip(data: bytes) -> bytes:
    """Without the time, so that the case has one name."""
    return gzip.compress(data, mtime=0)


def _raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


@pytest.mark.parametrize("size", [1, 2, 7, 100_000])
@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (WORDS, ""),
        (WORDS, "identity"),
        (_gzip(WORDS), "gzip"),
        (_gzip(WORDS), "X-GZIP"),
        (_gzip(WORDS[:500]) + _gzip(WORDS[500:]), "gzip"),
        (zlib.compress(WORDS), "deflate"),
        (_raw_deflate(WORDS), "deflate"),
    ],
)
async def test_a_body_arrives_whole(data: bytes, encoding: str, size: int) -> None:
    """However it is compressed and however it is cut into chunks."""
    assert await _read(data, encoding, size=size) == Body(data=WORDS, cut=None)


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
async def test_an_empty_body_is_empty(encoding: str) -> None:
    """A body of no bytes is no broken stream."""
    assert await _read(b"", encoding) == Body(data=b"", cut=None)


async def test_exactly_the_cap_is_not_cut() -> None:
    """The evidence of a cut is there only when something was left out."""
    assert await _read(b"abcd", max_bytes=4) == Body(data=b"abcd", cut=None)


async def test_a_longer_body_is_cut_with_evidence() -> None:
    """What was kept, and at least how much there was; the site's own claims do not count."""
    body = await _read(b"abcdefgh", max_bytes=3, size=5)
    assert body == Body(data=b"abc", cut=Cut(read_bytes=3, seen_bytes=5))


async def test_a_decompression_bomb_is_cut_after_the_cap() -> None:
    """Of 200 MB that 200 KB unpack to, no more than a step beyond the cap is ever made."""
    bomb = _gzip(b"0" * 200_000_000)
    body = await _read(bomb, "gzip", max_bytes=10_000, size=100_000)
    assert body.data == b"0" * 10_000
    assert body.cut is not None
    assert body.cut.seen_bytes <= 10_000 + 64 * 1024


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (_gzip(WORDS)[:-9], "gzip"),
        (_gzip(WORDS)[:5], "gzip"),
        (b"x", "deflate"),
        (zlib.compress(WORDS)[:-9], "deflate"),
        (b"not compressed", "gzip"),
        (b"\xff\xff not compressed", "deflate"),
        (_gzip(WORDS) + b"rubbish", "gzip"),
        (zlib.compress(WORDS) + b"rubbish", "deflate"),
        (_gzip(b"x") * 17, "gzip"),
        (WORDS, "br"),
        (WORDS, "gzip, gzip"),
        (WORDS, "gzip,deflate"),
    ],
)
async def test_a_broken_or_strange_encoding_is_malformed(data: bytes, encoding: str) -> None:
    """It is said so, with what is known of the effect; a half is never passed off as the whole."""
    with pytest.raises(AdapterError) as caught:
        await _read(data, encoding)
    assert caught.value.kind is ErrorKind.MALFORMED
    assert caught.value.happened is Happened.YES


async def test_input_that_gives_no_output_is_stopped() -> None:
    """Endless empty deflate blocks cannot keep a reader busy."""
    header = _gzip(b"")[:10]
    with pytest.raises(AdapterError) as caught:
        await _read(header + b"\x00\x00\x00\xff\xff" * 50_000, "gzip", max_bytes=1000)
    assert caught.value.kind is ErrorKind.MALFORMED
