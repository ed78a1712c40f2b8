"""Data keys that a vault wraps: made rarely, kept for a while, and refused when the vault says no."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from fakes.clock import FakeClock
from fakes.vault import FakeVault

from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.sealing import transit
from gateway.sealing.transit import TransitSeal
from gateway.settings.sealing import TransitSettings
from gateway.store.sealing import SealBroken, SealDown

T = TypeVar("T")


class Kit:
    """A seal over a fake vault. `trouble` is what asking with the gateway's token ends with."""

    def __init__(self) -> None:
        self.vault, self.clock = FakeVault(), FakeClock()
        self.vault.tokens = {"t"}
        self.trouble: Trouble | None = None
        self.seal = self.another()

    def another(self) -> TransitSeal:
        """A seal of another process."""
        settings = TransitSettings(mount="keys", key="seal-{tenant}", data_key_seconds=60)
        return TransitSeal(settings, self.vault, self.ask, self.clock.monotonic)

    async def ask(self, question: Callable[[str], Awaitable[T]]) -> T:
        """As a session of the vault does."""
        if self.trouble is not None:
            raise VaultFailed(self.trouble)
        return await question("t")


@pytest.fixture
def kit() -> Kit:
    """A fresh one."""
    return Kit()


async def test_one_data_key_seals_for_a_while(kit: Kit) -> None:
    """Many at the same time ask for one; another is made when its time or its uses are over."""
    await asyncio.gather(*(kit.seal.seal("acme", f"{n}", b"x") for n in range(20)))
    await kit.seal.seal("acme", "k", b"x")
    assert kit.vault.count("transit_encrypt") == 1
    await kit.seal.seal("other", "k", b"x")
    assert kit.vault.count("transit_encrypt") == 2
    kit.clock.advance(61)
    await kit.seal.seal("acme", "k", b"x")
    assert kit.vault.count("transit_encrypt") == 3


async def test_a_data_key_is_not_used_without_end(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its nonces are drawn by chance."""
    monkeypatch.setattr(transit, "MAX_USES", 3)
    for _ in range(7):
        await kit.seal.seal("acme", "k", b"x")
    assert kit.vault.count("transit_encrypt") == 3


async def test_an_opened_key_is_kept_for_a_while(kit: Kit) -> None:
    """And asked for again after it: a right that was taken away ends."""
    sealed = [await kit.seal.seal("acme", f"{n}", b"x") for n in range(20)]
    other = kit.another()
    await asyncio.gather(*(other.open("acme", f"{n}", one) for n, one in enumerate(sealed)))
    await other.open("acme", "0", sealed[0])
    assert kit.vault.count("transit_decrypt") == 1
    kit.clock.advance(61)
    kit.trouble = Trouble.DENIED
    with pytest.raises(SealDown):
        await other.open("acme", "0", sealed[0])


async def test_each_tenant_has_a_key_of_its_own_there(kit: Kit) -> None:
    """A name that the engine would not take stands there as its digest, which no tenant's name looks like."""
    for tenant in ("acme", "a/b", "t.0", "ä"):
        await kit.seal.seal(tenant, "k", b"x")
    names = sorted(kit.vault.transit_keys)
    assert names[0] == "keys/seal-acme"
    assert len(names) == 4
    assert all(name.startswith("keys/seal-t.") and len(name) == len("keys/seal-t.") + 40 for name in names[1:])


async def test_a_wrapped_key_opens_for_its_tenant_alone(kit: Kit) -> None:
    """The vault says no."""
    sealed = await kit.seal.seal("acme", "k", b"private")
    with pytest.raises(SealBroken) as caught:
        await kit.another().open("rival", "k", sealed)
    assert not isinstance(caught.value, SealDown)


@pytest.mark.parametrize("trouble", [trouble for trouble in Trouble if trouble is not Trouble.REJECTED])
async def test_what_the_vault_does_not_wrap_or_unwrap_is_neither_sealed_nor_opened(kit: Kit, trouble: Trouble) -> None:
    """It is said to be down, and it goes on when it is back; nothing is kept in the open."""
    sealed = await kit.seal.seal("acme", "k", b"private")
    other, kit.trouble = kit.another(), trouble
    for asked in (other.seal("acme", "k", b"private"), other.open("acme", "k", sealed)):
        with pytest.raises(SealDown) as caught:
            await asked
        assert caught.value.__cause__ is None
        assert "private" not in repr(caught.value)
    kit.trouble = None
    assert await other.open("acme", "k", sealed) == b"private"


async def test_a_no_to_a_new_key_is_no_broken_seal(kit: Kit) -> None:
    """Nothing was sealed yet that could be."""
    kit.trouble = Trouble.REJECTED
    with pytest.raises(SealDown):
        await kit.seal.seal("acme", "k", b"x")


async def test_a_changed_byte_breaks_it(kit: Kit) -> None:
    """Wherever it is, in the wrapped key as well."""
    sealed = await kit.seal.seal("acme", "k", b"private")
    for index in range(len(sealed)):
        with pytest.raises(SealBroken):
            await kit.seal.open("acme", "k", sealed[:index] + bytes([sealed[index] ^ 1]) + sealed[index + 1 :])


async def test_what_is_no_key_is_used_for_nothing(kit: Kit) -> None:
    """A vault that gives nonsense."""
    sealed = await kit.seal.seal("acme", "k", b"private")

    async def short(*_arguments: object) -> bytes:
        return b"short"

    async def long(*_arguments: object) -> str:
        return "x" * 5000

    kit.vault.transit_decrypt = short  # type: ignore[method-assign]
    kit.vault.transit_encrypt = long  # type: ignore[method-assign]
    other = kit.another()
    with pytest.raises(SealBroken):
        await other.open("acme", "k", sealed)
    with pytest.raises(SealDown):
        await other.seal("acme", "k", b"private")


async def test_no_key_is_printed_and_none_stays_after_the_end(kit: Kit) -> None:
    """Not even the wrapped ones' plain form."""
    await kit.seal.start()
    await kit.seal.seal("acme", "k", b"private")
    assert "AESGCM" not in repr(kit.seal._sealing.get("acme"))
    await kit.seal.stop()
    assert len(kit.seal._sealing) == len(kit.seal._opened) == 0
