"""What every seal does."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.seal import FakeSeal
from real.bao import Bao, running

from gateway.clients.vault import VaultClient
from gateway.credentials.vault import VaultSource
from gateway.sealing.key_file import KeyFileSeal
from gateway.sealing.new_keys import create_key_file
from gateway.sealing.transit import TransitSeal
from gateway.settings.sealing import TransitSettings
from gateway.settings.vault import TokenAuth, VaultMount, VaultSettings
from gateway.store.sealing import Seal, SealBroken

PLAIN = b'{"to": "someone@corp.example", "password": "hunter2"}'
TENANTS = ("acme", "Acme", "acme-2", "a" * 128, "tenant with spaces/ä", "t.0")


@dataclass(frozen=True)
class Case:
    """A seal, and another over the same keys, as a second replica has it."""

    seal: Seal
    other: Seal


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    """A real OpenBao with a transit engine."""
    with running(tmp_path_factory.mktemp("bao")) as server:
        server.transit()
        yield server


@pytest.fixture(params=["fake", "key file", "transit"])
async def case(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Case]:
    """Each implementation."""
    if request.param == "fake":
        yield Case(FakeSeal(), FakeSeal())
    elif request.param == "key file":
        create_key_file(tmp_path / "seal.key")
        clock = itertools.count().__next__
        yield Case(KeyFileSeal(tmp_path / "seal.key", clock), KeyFileSeal(tmp_path / "seal.key", clock))
    else:
        bao = request.getfixturevalue("bao")
        source, client = vault(bao, tmp_path)
        seals = [TransitSeal(TransitSettings(), client, source.session.ask, FakeClock().monotonic) for _ in range(2)]
        yield Case(*seals)
        await source.stop()


def vault(bao: Bao, folder: Path) -> tuple[VaultSource, VaultClient]:
    """Somebody who may ask."""
    (folder / "token").write_text(bao.root.token)
    settings = VaultSettings(
        addresses=(bao.address,),
        auth=TokenAuth(kind="token", token_file=folder / "token"),
        mounts=(VaultMount(path="secret", version=2),),
    )
    client = VaultClient(settings.addresses, timeout_seconds=3.0)
    return VaultSource(settings, client, clock=FakeClock(), chance=lambda: 0.0), client


@pytest.mark.parametrize("plain", [b"", b"x", PLAIN, bytes(range(256)) * 4096])
async def test_what_was_sealed_opens(case: Case, plain: bytes) -> None:
    """Here and on another replica, and reads like nothing while it is sealed."""
    sealed = await case.seal.seal("acme", "calls/1", plain)
    assert await case.seal.open("acme", "calls/1", sealed) == plain
    assert await case.other.open("acme", "calls/1", sealed) == plain
    assert len(plain) < 2 or plain not in sealed


async def test_tenants_of_every_name(case: Case) -> None:
    """None opens what is another's, whatever they are called."""
    sealed = {tenant: await case.seal.seal(tenant, "calls/1", PLAIN) for tenant in TENANTS}
    for tenant, other in itertools.product(TENANTS, TENANTS):
        if tenant == other:
            assert await case.other.open(tenant, "calls/1", sealed[tenant]) == PLAIN
            continue
        with pytest.raises(SealBroken):
            await case.seal.open(other, "calls/1", sealed[tenant])


@pytest.mark.parametrize("place", ["calls/2", "calls/", "calls/10", "", "acme/calls/1"])
async def test_another_place_does_not_open_it(case: Case, place: str) -> None:
    """A row moved to another is none."""
    sealed = await case.seal.seal("acme", "calls/1", PLAIN)
    with pytest.raises(SealBroken):
        await case.seal.open("acme", place, sealed)


async def test_tenant_and_place_do_not_run_into_each_other(case: Case) -> None:
    """Where one ends and the other begins counts."""
    sealed = await case.seal.seal("ab", "c", PLAIN)
    with pytest.raises(SealBroken):
        await case.seal.open("a", "bc", sealed)


@pytest.mark.parametrize("garbage", [b"", b"\x01", b"\x02", b"\x02\xff\xff", b"\x02\x00\x05vault", PLAIN, b"\x03" * 99])
async def test_what_was_never_sealed_does_not_open(case: Case, garbage: bytes) -> None:
    """And the reason holds none of it."""
    with pytest.raises(SealBroken) as caught:
        await case.seal.open("acme", "calls/1", garbage)
    assert "hunter2" not in repr(caught.value)


async def test_no_error_and_no_form_of_a_seal_tells_what_is_inside(case: Case) -> None:
    """Neither the text nor a key."""
    sealed = await case.seal.seal("acme", "calls/1", PLAIN)
    with pytest.raises(SealBroken) as caught:
        await case.seal.open("acme", "calls/2", sealed)
    assert "hunter2" not in f"{caught.value!r}{caught.value.__cause__!r}{case.seal!r}{case.seal}"
    assert caught.value.__cause__ is None


async def test_many_at_the_same_time(case: Case) -> None:
    """Each gets its own back."""
    sealed = await asyncio.gather(*(case.seal.seal("acme", f"calls/{n}", b"%d" % n) for n in range(50)))
    opened = await asyncio.gather(*(case.other.open("acme", f"calls/{n}", one) for n, one in enumerate(sealed)))
    assert opened == [b"%d" % n for n in range(50)]
