"""What a Prometheus does: asks over HTTP, and parses what it gets with the library's own parsers."""

import asyncio
import os
import ssl
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open_metrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from gateway.metrics.exposition import Exposition
from gateway.metrics.families import Scrape

OPEN_METRICS = "application/openmetrics-text"

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def families(body: str, *, is_open: bool = False) -> list[Metric]:
    """The metrics in a body. Raises `ValueError` when it is not what it should be."""
    return list(parse_open_metrics(body) if is_open else parse_text(body))


def samples(metrics: Iterable[Metric]) -> Samples:
    """Every sample by name and labels; one that is there twice is an error."""
    found: Samples = {}
    for metric in metrics:
        for sample in metric.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, key
            found[key] = sample.value
    return found


def scrape(exposition: Exposition, *, accept: str = "") -> "Scraped":
    """The exposition as a reader has it."""
    body = b"".join(exposition.pieces(accept)).decode()
    return Scraped(samples(families(body, is_open=OPEN_METRICS in exposition.content_type(accept))))


@dataclass(frozen=True, slots=True)
class Scraped:
    """One scrape."""

    samples: Samples

    def value(self, name: str, **labels: str) -> float | None:
        """The sample's value; None when it is not there."""
        return self.samples.get((name, frozenset(labels.items())))

    def total(self, name: str) -> float:
        """The sum over all labels."""
        return sum(value for (each, _), value in self.samples.items() if each == name)

    def labels(self, name: str) -> Iterator[dict[str, str]]:
        """The labels of every sample of this name."""
        return (dict(labels) for each, labels in self.samples if each == name)


class FixedRendering:
    """Shows the same each time, in two pieces; with `padding` a long one in between."""

    def __init__(self, *, fails: bool = False, padding: int = 0) -> None:
        self._fails = fails
        self._padding = padding

    def pieces(self, accept: str = "") -> Iterator[bytes]:
        """`up 1` in the format that is asked for."""
        if self._fails:
            raise RuntimeError("secret-of-a-part")
        yield b"# TYPE up gauge\nup 1\n" + b"#" * self._padding
        yield b"# EOF\n" if OPEN_METRICS in accept else b""

    def content_type(self, accept: str = "") -> str:
        """As it was asked for."""
        return OPEN_METRICS if OPEN_METRICS in accept else "text/plain"


class Tally:
    """Keeps how requests ended."""

    def __init__(self) -> None:
        self.results: list[Scrape] = []

    def scraped(self, result: Scrape) -> None:
        """Keep it."""
        self.results.append(result)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer by HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Line:
    """One connection, kept alive."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def get(self, path: str = "/metrics", *, method: str = "GET", **headers: str) -> Reply:
        """One request, and its answer."""
        fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        return await self.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{fields}\r\n".encode("latin-1"))

    async def send(self, raw: bytes) -> Reply:
        """These bytes, and the answer to them."""
        self.writer.write(raw)
        await self.writer.drain()
        return await self.reply()

    async def reply(self) -> Reply:
        """The next answer. Raises `IncompleteReadError` when the connection ends without one."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in head[1:] if each)}
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Reply(int(head[0].split()[1]), headers, body)

    async def ended(self) -> bool:
        """The other side closes, with nothing more to say."""
        try:
            return await self.reader.read() == b""
        except ConnectionError:
            return True

    async def close(self) -> None:
        """End it."""
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except (OSError, ssl.SSLError):
            return


async def connect(where: Path | int, *, context: ssl.SSLContext | None = None) -> Line:
    """A connection to a Unix socket's path, or to a port of 127.0.0.1."""
    if isinstance(where, Path):
        return Line(*await asyncio.open_unix_connection(where))
    name = "localhost" if context is not None else None
    return Line(*await asyncio.open_connection("127.0.0.1", where, ssl=context, server_hostname=name))


async def ask(
    where: Path | int,
    path: str = "/metrics",
    *,
    context: ssl.SSLContext | None = None,
    method: str = "GET",
    **headers: str,
) -> Reply:
    """One request on a connection of its own."""
    line = await connect(where, context=context)
    try:
        return await line.get(path, method=method, **headers)
    finally:
        await line.close()


async def until(condition: Callable[[], bool], *, seconds: float = 5.0) -> None:
    """Return once the condition holds. Raises `TimeoutError` when it does not in time."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


def open_files() -> int:
    """How many descriptors this process has."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the directory's own descriptor counts each time alike
