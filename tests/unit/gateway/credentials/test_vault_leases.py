"""Leases: made for a call, kept alive while it needs them, and revoked whatever becomes of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import pytest
from fakes.clock import FakeClock
from fakes.vault import FakeVault
from real.waiting import until

from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.credentials import vault_leases
from gateway.credentials.vault_leases import Leases
from gateway.credentials.vault_loan import Loan, Role
from gateway.settings.vault import DynamicSettings

ROLE = Role("acme", "", "database", "reader")
OTHER = Role("other", "", "database", "reader")
T = TypeVar("T")


class Kit:
    """Leases over a fake vault whose token is `token`."""

    def __init__(self) -> None:
        self.vault, self.clock = FakeVault(), FakeClock()
        self.token = "t-1"
        self.vault.tokens = {"t-1", "t-2"}
        self.made: list[Leases] = []
        self.leases = self.another()

    def another(self, *, wait_seconds: float = 5.0, pool: bool = False, max_leases: int = 100) -> Leases:
        """Leases under other settings."""
        settings = DynamicSettings(engines=("database",), pool=pool, max_leases=max_leases)
        leases = Leases(
            settings,
            self,  # type: ignore[arg-type]
            self.vault,  # type: ignore[arg-type]
            clock=self.clock,
            wait_seconds=wait_seconds,
            is_current=lambda token: token == self.token,
        )
        self.made.append(leases)
        return leases

    async def ask(self, question: Callable[[str], Awaitable[T]]) -> T:
        """As a session does."""
        return await question(self.token)

    async def settled(self) -> None:
        """Return when all that can go on without more time has gone on."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        """Let time pass, and what waits for it go on."""
        self.clock.advance(seconds)
        await self.settled()


@pytest.fixture
async def kit() -> AsyncIterator[Kit]:
    """A fresh one; whatever went wrong in a test, its leases are given back."""
    made = Kit()
    yield made
    made.vault.failure, made.vault.failures = None, {}
    made.vault.gate.set()
    for leases in made.made:
        await leases.close()
    assert made.vault.leases == {}


async def borrowed(leases: Leases, number: int, seconds: float = 5.0) -> list[Loan]:
    """So many at the same time."""
    return await asyncio.gather(*(leases.borrow(ROLE, seconds) for _ in range(number)))


async def test_each_call_has_its_own_and_it_ends_with_the_call(kit: Kit) -> None:
    """Revoked at the server, and its values forgotten."""
    loans = await borrowed(kit.leases, 3)
    assert len({loan.id for loan in loans}) == 3
    assert kit.leases.counts() == (3, 0)
    assert loans[0].held.values["password"] == "hunter2-1"
    kit.leases.give_back(loans[0])
    await kit.settled()
    assert set(kit.vault.leases) == {loans[1].id, loans[2].id}
    assert loans[0].held.values == {}
    assert kit.leases.counts() == (2, 0)


async def test_nothing_secret_is_printed(kit: Kit) -> None:
    """Not by accident."""
    (loan,) = await borrowed(kit.leases, 1)
    assert not any(secret in f"{loan!r}{loan}" for secret in ("hunter2", "t-1"))


async def test_a_caller_that_is_cancelled_leaves_no_lease(kit: Kit) -> None:
    """Cut off while the server is asked, and at every turn of the loop around its answer."""
    kit.vault.gate.clear()
    waiting = asyncio.create_task(kit.leases.borrow(ROLE, 5.0))
    await kit.settled()
    waiting.cancel()
    await kit.settled()
    kit.vault.gate.set()
    await kit.settled()
    assert kit.vault.count("issue") == kit.vault.count("revoke_lease") == 1
    for turns in range(12):
        task = asyncio.create_task(kit.leases.borrow(ROLE, 5.0))
        for _ in range(turns):
            await asyncio.sleep(0)
        if not task.done():
            task.cancel()
        ended = (await asyncio.gather(task, return_exceptions=True))[0]
        if isinstance(ended, Loan):
            kit.leases.give_back(ended)
        await kit.settled()
        assert kit.vault.leases == {}
    assert kit.leases.counts() == (0, 0)


async def test_a_caller_that_does_not_wait_longer_leaves_no_lease(kit: Kit) -> None:
    """What comes after its patience is given back."""
    leases = kit.another(wait_seconds=0.01)
    kit.vault.gate.clear()
    with pytest.raises(VaultFailed) as caught:
        await leases.borrow(ROLE, 5.0)
    assert caught.value.trouble is Trouble.TIMEOUT
    kit.vault.gate.set()
    await kit.settled()
    assert kit.vault.count("revoke_lease") == 1
    assert leases.counts() == (0, 0)


async def test_a_failure_is_what_the_vault_said(kit: Kit) -> None:
    """And leaves nothing to give back."""
    kit.vault.failures["issue"] = Trouble.DENIED
    with pytest.raises(VaultFailed) as caught:
        await kit.leases.borrow(ROLE, 5.0)
    assert caught.value.trouble is Trouble.DENIED
    assert kit.leases.counts() == (0, 0)


async def test_no_more_leases_than_the_settings_allow(kit: Kit) -> None:
    """Those that could not be revoked count."""
    leases = kit.another(max_leases=2)
    first, _ = await borrowed(leases, 2)
    kit.vault.failures["revoke_lease"] = Trouble.UNREACHABLE
    leases.give_back(first)
    await kit.settled()
    with pytest.raises(VaultFailed) as caught:
        await leases.borrow(ROLE, 5.0)
    assert caught.value.trouble is Trouble.BUSY
    kit.vault.failures.clear()
    await kit.advance(1.0)
    assert await leases.borrow(ROLE, 5.0)


async def test_a_pool_makes_one_for_all_of_a_tenant(kit: Kit) -> None:
    """Those who ask at the same time, and those who come later; another tenant has its own."""
    leases = kit.another(pool=True)
    loans = await borrowed(leases, 20)
    for loan in loans:
        leases.give_back(loan)
    assert await leases.borrow(ROLE, 5.0) is loans[0]
    assert kit.vault.count("issue") == 1
    assert await leases.borrow(OTHER, 5.0) is not loans[0]


async def test_in_a_pool_one_who_leaves_takes_nobodys_lease_along(kit: Kit) -> None:
    """The one that was made is for the others."""
    leases = kit.another(pool=True)
    kit.vault.gate.clear()
    first, second = (asyncio.create_task(leases.borrow(ROLE, 5.0)) for _ in range(2))
    await kit.settled()
    first.cancel()
    kit.vault.gate.set()
    loan = await second
    assert loan.borrowers == 1
    assert kit.vault.count("issue") == 1


async def test_a_shared_lease_is_replaced_after_two_thirds_of_its_time(kit: Kit) -> None:
    """Who has it keeps it; the last to give it back has it revoked."""
    leases = kit.another(pool=True)
    old = await leases.borrow(ROLE, 5.0)
    await kit.advance(41.0)
    new = await leases.borrow(ROLE, 5.0)
    assert new is not old
    assert set(kit.vault.leases) == {old.id, new.id}
    leases.give_back(old)
    await kit.settled()
    assert set(kit.vault.leases) == {new.id}


async def test_a_shared_lease_that_nobody_has_is_revoked_when_its_time_is_over(kit: Kit) -> None:
    """Nobody has to come for that."""
    leases = kit.another(pool=True)
    leases.give_back(await leases.borrow(ROLE, 5.0))
    await kit.advance(39.0)
    assert len(kit.vault.leases) == 1
    await kit.advance(2.0)
    assert kit.vault.leases == {}


async def test_a_shared_lease_is_not_used_with_another_token(kit: Kit) -> None:
    """It dies with the token that it was made with."""
    leases = kit.another(pool=True)
    old = await leases.borrow(ROLE, 5.0)
    leases.give_back(old)
    kit.token = "t-2"
    assert await leases.borrow(ROLE, 5.0) is not old
    await kit.settled()
    assert old.id not in kit.vault.leases


async def test_a_shared_lease_that_cannot_last_is_not_given_to_a_long_call(kit: Kit) -> None:
    """It gets a new one, which the others share from then on."""
    leases = kit.another(pool=True)
    kit.vault.renewed_lease_seconds = 1.0
    old = await leases.borrow(ROLE, 100.0)
    await kit.advance(37.0)
    new = await leases.borrow(ROLE, 50.0)
    assert new is not old
    assert await leases.borrow(ROLE, 5.0) is new


async def test_closing_revokes_what_is_held_and_what_is_still_being_made(kit: Kit) -> None:
    """And nothing is lent after it."""
    (held,) = await borrowed(kit.leases, 1)
    kit.vault.gate.clear()
    coming = asyncio.create_task(kit.leases.borrow(ROLE, 5.0))
    await kit.settled()
    closing = asyncio.create_task(kit.leases.close())
    await kit.settled()
    kit.vault.gate.set()
    await closing
    assert kit.vault.leases == {}
    kit.leases.give_back(held)
    kit.leases.give_back(await coming)
    with pytest.raises(VaultFailed):
        await kit.leases.borrow(ROLE, 5.0)


async def test_closing_does_not_wait_for_ever(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vault that does not answer keeps nobody up; its leases end by themselves."""
    monkeypatch.setattr(vault_leases, "STOP_SECONDS", 0.05)
    await borrowed(kit.leases, 2)
    kit.vault.gate.clear()
    async with asyncio.timeout(5.0):
        await kit.leases.close()
    assert kit.leases.counts() == (0, 0)
    kit.vault.leases.clear()


async def test_a_vault_that_hangs_is_asked_for_few_leases_at_a_time(kit: Kit) -> None:
    """Others want to read secrets meanwhile, and there are only so many threads. Whoever has left is not asked for."""
    kit.vault.gate.clear()
    waiting = [asyncio.create_task(kit.leases.borrow(ROLE, 5.0)) for _ in range(20)]
    await kit.settled()
    assert kit.vault.count("issue") == 3
    for task in waiting[10:]:
        task.cancel()
    await kit.settled()
    kit.vault.gate.set()
    assert len(await asyncio.gather(*waiting[:10])) == kit.vault.count("issue") == 10


async def test_whoever_breaks_is_trouble_and_its_words_go_nowhere(kit: Kit) -> None:
    """They may hold the secret."""

    async def broken(*_arguments: object) -> None:
        raise RuntimeError("hunter2")

    kit.vault.issue = broken  # type: ignore[assignment, method-assign]
    with pytest.raises(VaultFailed) as caught:
        await kit.leases.borrow(ROLE, 5.0)
    assert caught.value.trouble is Trouble.MALFORMED
    assert caught.value.__context__ is None


async def test_a_lease_without_an_end_is_not_shared_for_ever(kit: Kit) -> None:
    """Nor renewed."""
    kit.vault.lease_seconds = 0.0
    leases = kit.another(pool=True)
    old = await leases.borrow(ROLE, 1e6)
    leases.give_back(old)
    await kit.advance(3601.0)

    async def is_gone() -> bool:
        return kit.vault.leases == {}

    await until(is_gone)
    assert kit.vault.count("renew_lease") == 0
