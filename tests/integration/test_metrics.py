"""The metrics listener as Prometheus meets it: real sockets, real TLS, both event loops, calls going on meanwhile."""

import asyncio
import contextlib
import io
import socket
import ssl
import stat
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
import uvloop
from fakes.lines import line
from fakes.scrapes import OPEN_METRICS, Scraped, ask, connect, families, open_files, samples, until

from gateway.clock import SystemClock
from gateway.metrics.counts import Metrics
from gateway.metrics.exposition import Exposition
from gateway.metrics.gauges import Gauges, Names
from gateway.settings.listeners import MetricsSettings
from gateway.surfaces.http import Bounds
from gateway.surfaces.metrics import MetricsServer
from gateway.surfaces.sockets import bound_socket
from gateway.telemetry import configure

TOKEN = "integration-token"
LISTENERS = ("agent", "approvers")

Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Runs a scenario on one of the loops: the gateway's own is uvloop."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else None
    with asyncio.Runner(loop_factory=factory) as runner:
        yield runner.run


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path."""
    with tempfile.TemporaryDirectory(prefix="m") as name:
        yield Path(name)


class Site:
    """Metrics of a gateway, on a listener."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.metrics = Metrics(listeners=LISTENERS)
        self.token = folder / "token"
        self.token.write_text(TOKEN)
        self.settings = MetricsSettings.model_validate(settings)
        self.port = 0

    @asynccontextmanager
    async def served(self, **bounds: Any) -> AsyncIterator["Site"]:
        """Started, and stopped."""
        exposition = Exposition(self.metrics, Gauges(is_ready=lambda: True), Names(listeners=frozenset(LISTENERS)))
        server = MetricsServer(
            self.settings,
            exposition,
            self.metrics,
            clock=SystemClock(),
            log=configure("info", io.StringIO()),
            bounds=Bounds(**bounds),
        )
        sock = bound_socket(self.settings.address)
        if sock.family != socket.AF_UNIX:
            self.port = sock.getsockname()[1]
        await server.start(sock)
        try:
            yield self
        finally:
            await server.stop()

    def refused(self) -> float | None:
        """How many came without a proof."""
        return Scraped(
            samples(families(b"".join(Exposition(self.metrics, Gauges(), Names()).pieces()).decode()))
        ).value("tollhouse_scrapes_total", result="unauthenticated")


class Authority:
    """Issues what a listener and its readers show."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.servers = trustme.CA()
        self.readers = trustme.CA()
        self.readers.cert_pem.write_to_path(str(folder / "ca.pem"))
        self.issue_server()

    def issue_server(self) -> None:
        """A new certificate for the listener."""
        issued = self.servers.issue_cert("localhost")
        issued.private_key_pem.write_to_path(str(self.folder / "key.pem"))
        (self.folder / "cert.pem").write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))

    def tls(self, **more: Any) -> dict[str, Any]:
        """The settings of the listener."""
        return {"cert_file": self.folder / "cert.pem", "key_file": self.folder / "key.pem", **more}

    def reader(self, issuer: trustme.CA | None = None) -> ssl.SSLContext:
        """What a reader connects with; its certificate is of this issuer, or it has none."""
        context = ssl.create_default_context()
        self.servers.configure_trust(context)
        if issuer is not None:
            issuer.issue_cert("prometheus").configure_cert(context)
        return context


@pytest.fixture
def authority(folder: Path) -> Authority:
    """The listener's, and the readers'."""
    return Authority(folder)


def test_an_ordinary_client_scrapes_a_port_with_its_token(run: Run, folder: Path) -> None:
    """Both formats parse, and hold what was counted."""
    site = Site(folder, address="127.0.0.1:0", token_file=folder / "token")

    async def scenario() -> None:
        site.metrics.called(line("c1", duration_us=300, steps_us={"policy": 250}))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with site.served(), aiohttp.ClientSession(headers=headers) as session:
            for accept in ("text/plain", OPEN_METRICS):
                async with session.get(f"http://127.0.0.1:{site.port}/metrics", headers={"Accept": accept}) as answer:
                    body = await answer.text()
                    seen = Scraped(samples(families(body, is_open=accept == OPEN_METRICS)))
                    assert answer.status == 200
                    assert answer.content_type == accept
                    assert seen.value("tollhouse_ready") == 1
                    assert seen.total("tollhouse_calls_total") == 1

    run(scenario())


def test_a_socket_is_served_with_the_mode_it_was_given(run: Run, folder: Path) -> None:
    """Closed to others while it is bound; what the settings say is set by whoever holds the path."""
    path = folder / "metrics.sock"
    site = Site(folder, address=f"unix:{path}", mode="0660")

    async def scenario() -> None:
        async with site.served():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            path.chmod(int(site.settings.mode, 8))
            assert (await ask(path)).status == 200

    run(scenario())


def test_a_reader_shows_a_certificate_of_the_right_authority(run: Run, folder: Path, authority: Authority) -> None:
    """Without one, and with one of another authority, there is no HTTP at all; each is counted."""
    site = Site(folder, address="127.0.0.1:0", tls=authority.tls(client_ca_file=folder / "ca.pem"))

    async def scenario() -> None:
        async with site.served(accept_seconds=0.0):
            assert (await ask(site.port, context=authority.reader(authority.readers))).status == 200
            for stranger in (authority.reader(), authority.reader(trustme.CA())):
                with pytest.raises((OSError, asyncio.IncompleteReadError)):
                    await ask(site.port, context=stranger)
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                await ask(site.port)
            await until(lambda: site.refused() == 3)
            assert (await ask(site.port, context=authority.reader(authority.readers))).status == 200

    run(asyncio.wait_for(scenario(), 10))


def test_certificate_and_token_are_both_needed_when_both_are_named(
    run: Run, folder: Path, authority: Authority
) -> None:
    """One proof does not stand for the other."""
    site = Site(
        folder,
        address="127.0.0.1:0",
        token_file=folder / "token",
        tls=authority.tls(client_ca_file=folder / "ca.pem"),
    )

    async def scenario() -> None:
        async with site.served():
            reader = authority.reader(authority.readers)
            assert (await ask(site.port, context=reader)).status == 401
            assert (await ask(site.port, context=reader, authorization=f"Bearer {TOKEN}")).status == 200
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                await ask(site.port, context=authority.reader(), authorization=f"Bearer {TOKEN}")

    run(scenario())


def test_rotated_certificates_are_in_use_without_a_restart(run: Run, folder: Path, authority: Authority) -> None:
    """The new one is shown, and a reader of an authority that was removed is out."""
    site = Site(folder, address="127.0.0.1:0", tls=authority.tls(client_ca_file=folder / "ca.pem"))

    async def shown() -> bytes | None:
        connected = await connect(site.port, context=authority.reader(authority.readers))
        certificate: bytes | None = connected.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        try:
            assert (await connected.get()).status == 200
        finally:
            await connected.close()
        return certificate

    async def changed(before: bytes | None) -> bytes | None:
        while True:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                if (now := await shown()) != before:
                    return now
            await asyncio.sleep(0.05)

    async def scenario() -> None:
        async with site.served():
            first = await shown()
            authority.issue_server()
            second = await changed(first)
            authority.issue_server()
            former = authority.reader(authority.readers)
            authority.readers = trustme.CA()
            authority.readers.cert_pem.write_to_path(str(folder / "ca.pem"))
            assert await changed(second) != first
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                await ask(site.port, context=former)

    run(asyncio.wait_for(scenario(), 15))


def test_many_readers_at_once_while_calls_are_counted(run: Run, folder: Path) -> None:
    """Every page is whole and of one moment: the histogram has as many calls as the counter."""
    site = Site(folder, address="127.0.0.1:0", token_file=folder / "token")

    async def count(stop: asyncio.Event) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            site.metrics.called(line(str(number), duration_us=number, steps_us={"policy": number}))
            await asyncio.sleep(0)

    async def read() -> float:
        reply = await ask(site.port, authorization=f"Bearer {TOKEN}", accept=OPEN_METRICS)
        seen = Scraped(samples(families(reply.body.decode(), is_open=True)))
        calls = seen.total("tollhouse_calls_total")
        assert seen.total("tollhouse_call_duration_seconds_count") == calls
        assert seen.total("tollhouse_step_duration_seconds_count") == calls
        return calls

    async def scenario() -> None:
        async with site.served(accept_seconds=0.0):
            stop = asyncio.Event()
            counting = asyncio.create_task(count(stop))
            seen = await asyncio.gather(*(read() for _ in range(20)))
            stop.set()
            await counting
            assert max(seen) > 0

    run(asyncio.wait_for(scenario(), 20))


def test_nothing_is_left_open_after_stop(run: Run, folder: Path, authority: Authority) -> None:
    """Descriptors are as many as before: readers, strangers in the middle of a handshake, and the socket are gone."""
    site = Site(folder, address="127.0.0.1:0", tls=authority.tls(), token_file=folder / "token")

    async def visited() -> None:
        async with site.served(accept_seconds=0.0):
            silent = [await connect(site.port) for _ in range(5)]
            reader = await connect(site.port, context=authority.reader())
            assert (await reader.get(authorization=f"Bearer {TOKEN}")).status == 200
        for each in (*silent, reader):
            await each.close()

    async def scenario() -> None:
        await visited()  # a loop opens some for itself, once
        before = open_files()
        await visited()
        await until(lambda: open_files() <= before)

    run(asyncio.wait_for(scenario(), 10))
