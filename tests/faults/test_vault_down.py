"""A vault that is killed, frozen, slow or out of its mind: what was read serves for a while, then nothing does."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from fakes.vault import Answer, FakeVaultServer, Seen, auth, kv2
from real.bao import Bao, running
from real.waiting import until

from adapters.base import Fault
from gateway.clients.vault import VaultClient
from gateway.clock import SystemClock
from gateway.credentials.vault import VaultSource
from gateway.errors import Reason, Refusal
from gateway.settings.vault import AppRoleAuth, VaultMount, VaultSettings

TIMEOUT_MS = 300
CACHE_SECONDS, STALE_SECONDS = 1.0, 1.0
NAMES = itertools.count(1)


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    """One server, well again after each test."""
    with running(tmp_path_factory.mktemp("bao")) as server:
        server.mount("secret", 2)
        server.put("secret", "acme/smtp", password="hunter2-acme")
        server.allow("gateway", "secret/data/*")
        yield server


Opened = Callable[..., VaultSource]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    """Makes sources and stops them."""
    sources: list[VaultSource] = []

    def make(*addresses: str) -> VaultSource:
        settings = VaultSettings(
            addresses=addresses,
            auth=AppRoleAuth(kind="approle", role_id_file=tmp_path / "role", secret_id_file=tmp_path / "secret"),
            mounts=(VaultMount(path="secret", version=2),),
            timeout_ms=TIMEOUT_MS,
            cache_seconds=CACHE_SECONDS,
            max_stale_seconds=STALE_SECONDS,
        )
        client = VaultClient(settings.addresses, timeout_seconds=TIMEOUT_MS / 1000)
        sources.append(VaultSource(settings, client, clock=SystemClock(), chance=lambda: 0.0))
        return sources[-1]

    (tmp_path / "role").write_text("role")
    (tmp_path / "secret").write_text("secret")
    yield make
    for source in sources:
        await source.stop()


@pytest.fixture
def files(bao: Bao, tmp_path: Path, opened: Opened) -> Path:
    """A role of the test's own in the files that sources log in with."""
    for file, value in zip(("role", "secret"), bao.role(f"role-{next(NAMES)}", "gateway"), strict=True):
        (tmp_path / file).write_text(value)
    return tmp_path


async def call(source: VaultSource, path: str = "acme/smtp") -> str | Refusal:
    """What one call gets. It never takes much longer than the settings say."""
    began = time.monotonic()
    try:
        return (await source.resolve("acme", f"secret/{path}#password")).reveal()
    except Refusal as refusal:
        return refusal
    finally:
        assert time.monotonic() - began < TIMEOUT_MS / 1000 + 1.0


async def serves(source: VaultSource) -> bool:
    """Whether a call gets its credential."""
    return await call(source) == "hunter2-acme"


async def serves_then_stops(source: VaultSource, began: float) -> Refusal:
    """The old value serves beyond its time, and not beyond the time that no answer excuses. What it ends with."""
    last = asked = began
    while isinstance(answer := await call(source), str):
        assert answer == "hunter2-acme"
        assert asked - began < CACHE_SECONDS + STALE_SECONDS
        last = asked
        await asyncio.sleep(0.02)
        asked = time.monotonic()
    assert last - began > CACHE_SECONDS + STALE_SECONDS / 2
    assert answer.reason is Reason.CREDENTIAL_UNAVAILABLE
    return answer


async def back_within_two_seconds(source: VaultSource) -> None:
    """Counted from when the server is well."""
    await until(lambda: serves(source), 2.0)
    assert source.status().is_up


async def test_killed(bao: Bao, opened: Opened, files: Path) -> None:
    """And started again: it unseals itself, and the gateway's token still holds."""
    source = opened(bao.address)
    assert await serves(source)
    began = time.monotonic()
    bao.daemon.kill()
    try:
        refusal = await serves_then_stops(source, began)
        assert refusal.fault in (Fault.RESET, Fault.TIMEOUT)
        assert source.status().is_up is False
        assert isinstance(await call(source, "acme/never-read"), Refusal)
    finally:
        bao.start()
    await back_within_two_seconds(source)


async def test_frozen(bao: Bao, opened: Opened, files: Path) -> None:
    """Nobody waits for it but those who have nothing else."""
    source = opened(bao.address)
    assert await serves(source)
    began = time.monotonic()
    bao.daemon.freeze()
    try:
        refusal = await serves_then_stops(source, began)
        assert refusal.fault is Fault.TIMEOUT
    finally:
        bao.daemon.thaw()
    await back_within_two_seconds(source)


async def test_frozen_before_the_first_login(bao: Bao, opened: Opened, files: Path) -> None:
    """One login is sent into the dark and none after it: each might use up the secret id."""
    source = opened(bao.address)
    before = len(bao.asked())
    bao.daemon.freeze()
    try:
        ends = time.monotonic() + 1.0
        while time.monotonic() < ends:
            refusal = await call(source)
            assert isinstance(refusal, Refusal)
            assert refusal.fault is Fault.TIMEOUT
            await asyncio.sleep(0.02)
    finally:
        bao.daemon.thaw()
    await back_within_two_seconds(source)
    logins = [path for _, path in bao.asked()[before:] if path == "auth/approle/login"]
    assert len(logins) <= 2


async def test_killed_before_the_first_login(bao: Bao, opened: Opened, files: Path) -> None:
    """The gateway starts nevertheless, and logs in when there is somebody to log in to."""
    source = opened(bao.address)
    bao.daemon.kill()
    try:
        await source.start()
        assert isinstance(await call(source), Refusal)
        report = await source.check([("acme", "vault:secret/acme/smtp#password")])
        assert report.problems == ()
        assert len(report.warnings) == 1
    finally:
        bao.start()
    await back_within_two_seconds(source)


async def test_one_of_two_servers_killed(bao: Bao, opened: Opened, files: Path) -> None:
    """The other is asked, and no caller notices."""
    with FakeVaultServer(well) as other:
        source = opened(bao.address, other.address)
        assert await serves(source)
        bao.daemon.kill()
        try:
            ends = time.monotonic() + CACHE_SECONDS + 0.5
            while time.monotonic() < ends:
                assert await serves(source)
                await asyncio.sleep(0.02)
        finally:
            bao.start()


def well(seen: Seen) -> Answer:
    """A server that holds the secret."""
    return auth() if "/login" in seen.path else kv2(password="hunter2-acme")


BROKEN = {
    "dripping": (Answer(body=b'{"data": {"data": {"password": "hunter2-acme"}}}', drip_seconds=0.1), Fault.TIMEOUT),
    "garbage": (Answer(body=b"\x00\xff garbage"), Fault.MALFORMED),
    "a page": (Answer(body=b"<html>Please log in</html>"), Fault.MALFORMED),
    "another page": (Answer(302, b"", {"Location": "http://127.0.0.1:1/"}), Fault.MALFORMED),
    "failing": (Answer(500), Fault.ERROR),
    "overloaded": (Answer(429), Fault.ERROR),
    "sealed": (Answer(503), Fault.ERROR),
    "breaking off": (None, Fault.RESET),
}


async def test_out_of_its_mind(opened: Opened) -> None:
    """No such answer says that the credential was taken away, so it serves on for its time and not longer."""
    await asyncio.gather(*(breaks_and_returns(opened, answer, fault) for answer, fault in BROKEN.values()))


async def breaks_and_returns(opened: Opened, answer: Answer | None, fault: Fault) -> None:
    """A server of its own for each way to break."""
    with FakeVaultServer(well) as server:
        source = opened(server.address)
        assert await serves(source)
        began = time.monotonic()
        server.answer = lambda _seen: answer
        refusal = await serves_then_stops(source, began)
        assert refusal.fault is fault
        server.answer = well
        await back_within_two_seconds(source)


async def test_a_no_while_it_is_out_of_its_mind_still_counts(opened: Opened) -> None:
    """What a server takes away is gone, though it fails before and after."""
    with FakeVaultServer(well) as server:
        source = opened(server.address)
        assert await serves(source)
        server.answer = lambda _seen: Answer(403)

        async def is_refused() -> bool:
            return not await serves(source)

        await until(is_refused, CACHE_SECONDS + 0.5)
        server.answer = lambda _seen: Answer(500)
        assert isinstance(await call(source), Refusal)
