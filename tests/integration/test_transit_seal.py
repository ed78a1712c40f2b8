"""Sealing by a real OpenBao's transit engine."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from real.bao import Bao, running
from real.waiting import until

from gateway.clients.vault import VaultClient
from gateway.clock import SystemClock
from gateway.credentials.vault import VaultSource
from gateway.sealing.transit import TransitSeal
from gateway.settings.sealing import TransitSettings
from gateway.settings.vault import TokenAuth, VaultMount, VaultSettings
from gateway.store.sealing import SealBroken, SealDown

SETTINGS = TransitSettings(data_key_seconds=60)


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    """One whose gateway may use keys that are there, and make none."""
    with running(tmp_path_factory.mktemp("bao")) as server:
        server.transit("tollhouse-acme", "tollhouse-rotated")
        paths = ("transit/encrypt/tollhouse-*", "transit/decrypt/tollhouse-*")
        server.allow("seal", *paths, capabilities='"update"')
        yield server


Opened = Callable[..., TransitSeal]


@pytest.fixture
async def opened(bao: Bao, tmp_path: Path) -> AsyncIterator[Opened]:
    """Makes seals, each as a process of its own, and ends what they ask with."""
    (tmp_path / "token").write_text(bao.token("seal"))
    sources: list[VaultSource] = []

    def make(clock: FakeClock | None = None) -> TransitSeal:
        settings = VaultSettings(
            addresses=(bao.address,),
            auth=TokenAuth(kind="token", token_file=tmp_path / "token"),
            mounts=(VaultMount(path="secret", version=2),),
        )
        client = VaultClient(settings.addresses, timeout_seconds=1.0)
        sources.append(VaultSource(settings, client, clock=SystemClock(), chance=lambda: 0.0))
        return TransitSeal(SETTINGS, client, sources[-1].session.ask, (clock or FakeClock()).monotonic)

    yield make
    for source in sources:
        await source.stop()


async def test_one_request_for_many_texts(bao: Bao, opened: Opened) -> None:
    """And nothing private in what the server writes down."""
    seal, other, before = opened(), opened(), len(bao.asked())
    sealed = [await seal.seal("acme", f"calls/{number}", b"hunter2-private") for number in range(50)]
    for number, one in enumerate(sealed):
        assert await other.open("acme", f"calls/{number}", one) == b"hunter2-private"
    operations = [path for _, path in bao.asked()[before:] if path.startswith("transit/")]
    assert operations == ["transit/encrypt/tollhouse-acme", "transit/decrypt/tollhouse-acme"]
    assert b"hunter2-private" not in (bao.folder / "audit.log").read_bytes()


async def test_a_tenant_without_a_key_seals_nothing(opened: Opened) -> None:
    """The gateway's right does not reach to making one."""
    with pytest.raises(SealDown):
        await opened().seal("stranger", "k", b"private")


async def test_a_rotated_key_opens_what_older_versions_sealed(bao: Bao, opened: Opened) -> None:
    """Until the operator lets an old version open nothing more."""
    clock = FakeClock()
    seal = opened(clock)
    old = await seal.seal("rotated", "k", b"private")
    bao.root.secrets.transit.rotate_key("tollhouse-rotated")
    clock.advance(61)
    new = await seal.seal("rotated", "k", b"private")
    assert b"vault:v1:" in old
    assert b"vault:v2:" in new
    assert await opened().open("rotated", "k", old) == b"private"
    bao.root.secrets.transit.update_key_configuration("tollhouse-rotated", min_decryption_version=2)
    other = opened()
    with pytest.raises(SealBroken):
        await other.open("rotated", "k", old)
    assert await other.open("rotated", "k", new) == b"private"


async def test_a_server_that_is_killed(bao: Bao, opened: Opened) -> None:
    """What has its data key goes on until its time is over; nothing else is sealed, nor opened, until it is back."""
    clock = FakeClock()
    seal, fresh = opened(clock), opened()
    sealed = await seal.seal("acme", "k", b"private")
    bao.daemon.kill()
    try:
        assert await seal.open("acme", "k", sealed) == b"private"
        assert await seal.open("acme", "other", await seal.seal("acme", "other", b"more")) == b"more"
        with pytest.raises(SealDown):
            await fresh.open("acme", "k", sealed)
        with pytest.raises(SealDown):
            await fresh.seal("acme", "k", b"private")
        clock.advance(61)
        for asked in (seal.seal("acme", "k", b"private"), seal.open("acme", "k", sealed)):
            with pytest.raises(SealDown):
                await asked
    finally:
        bao.start()
    await until(lambda: opens(fresh, sealed), 3.0)  # a login that failed is not tried again at once
    assert await seal.open("acme", "k", sealed) == b"private"


async def opens(seal: TransitSeal, sealed: bytes) -> bool:
    """Whether it does by now."""
    try:
        return await seal.open("acme", "k", sealed) == b"private"
    except SealDown:
        return False
