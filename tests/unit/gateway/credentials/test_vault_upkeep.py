"""Leases are renewed while a call needs them, and revoked in the end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import pytest
from fakes.clock import FakeClock
from fakes.vault import FakeVault

from gateway.background import end
from gateway.clients.vault_answers import Lease, Trouble
from gateway.credentials.vault_loan import Loan, Role, loan_of
from gateway.credentials.vault_upkeep import Upkeep

ROLE = Role("acme", "team/a", "database", "reader")
T = TypeVar("T")


class Kit:
    """Upkeep over a fake vault, whose leases last a minute."""

    def __init__(self) -> None:
        self.vault, self.clock = FakeVault(), FakeClock()
        self.vault.tokens = {"t-1"}
        self.upkeep = Upkeep(self, self.vault, self.clock)  # type: ignore[arg-type]
        self.loans: list[Loan] = []

    def loan(self, seconds: float = 5.0) -> Loan:
        """A lease for a call that takes so long."""
        lease = Lease(f"database/creds/reader/{len(self.loans)}", {"password": "hunter2"}, 60.0, is_renewable=True)
        self.vault.leases[lease.id] = ("team/a", "database", "reader")
        loan = loan_of(ROLE, lease, token="t-1", began=self.clock.monotonic())
        loan.needed_until = self.clock.monotonic() + seconds
        self.upkeep.keep(loan)
        self.loans.append(loan)
        return loan

    async def ask(self, question: Callable[[str], Awaitable[T]]) -> T:
        """As a session does."""
        return await question("t-1")

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
    """A fresh one; what goes on in the end is ended."""
    made = Kit()
    yield made
    for task in (*made.upkeep.revocations.values(), *(task for loan in made.loans for task in loan.tasks)):
        await end(task)


async def test_revoking_forgets_the_values_at_once_and_is_done_once(kit: Kit) -> None:
    """Whoever has the lease loses it then."""
    loan = kit.loan()
    for _ in range(3):
        kit.upkeep.revoke(loan)
    assert loan.held.values == {}
    await kit.settled()
    assert kit.vault.count("revoke_lease") == 1
    assert kit.vault.leases == {}


async def test_revoking_goes_on_until_it_is_done(kit: Kit) -> None:
    """With longer and longer pauses."""
    loan = kit.loan()
    kit.vault.failures["revoke_lease"] = Trouble.UNREACHABLE
    kit.upkeep.revoke(loan)
    await kit.settled()
    for seconds in (0.25, 0.5, 1.0):
        await kit.advance(seconds)
    assert kit.vault.count("revoke_lease") == 4
    assert set(kit.upkeep.revocations) == {loan}
    kit.vault.failures.clear()
    await kit.advance(2.0)
    assert kit.vault.leases == {}
    assert kit.upkeep.revocations == {}


async def test_revoking_ends_when_the_lease_has_ended_by_itself(kit: Kit) -> None:
    """Then there is nothing left to revoke."""
    loan = kit.loan()
    kit.vault.failures["revoke_lease"] = Trouble.UNREACHABLE
    kit.upkeep.revoke(loan)
    await kit.settled()
    for _ in range(10):
        await kit.advance(15.0)
    assert kit.upkeep.revocations == {}


async def test_a_lease_that_is_not_there_any_more_counts_as_revoked(kit: Kit) -> None:
    """Somebody else has done it."""
    loan = kit.loan()
    kit.vault.failures["revoke_lease"] = Trouble.ABSENT
    kit.upkeep.revoke(loan)
    await kit.settled()
    assert kit.upkeep.revocations == {}


async def test_a_call_that_is_longer_than_its_lease_has_it_renewed(kit: Kit) -> None:
    """In time, and until it lasts as long as the call; a shorter call asks for nothing."""
    long, short = kit.loan(150.0), kit.loan(59.0)
    await kit.settled()
    for _ in range(4):
        await kit.advance(36.0)
    assert kit.vault.count("renew_lease") == 3
    assert long.ends_at >= kit.clock.monotonic() + 6.0
    assert short.ends_at < kit.clock.monotonic()
    kit.upkeep.revoke(long)
    await kit.advance(600.0)
    assert kit.vault.count("renew_lease") == 3


async def test_a_renewal_that_failed_is_tried_again(kit: Kit) -> None:
    """A second later, as long as the lease lasts."""
    kit.loan(150.0)
    await kit.settled()
    kit.vault.failures["renew_lease"] = Trouble.TIMEOUT
    await kit.advance(36.0)
    kit.vault.failures.clear()
    await kit.advance(1.0)
    assert kit.vault.count("renew_lease") == 2


@pytest.mark.parametrize("why", ["capped", "refused"])
async def test_what_cannot_be_renewed_is_not_asked_for_again(kit: Kit, why: str) -> None:
    """The server gives no more time, or does not let us."""
    if why == "capped":
        kit.vault.renewed_lease_seconds = 24.0
    else:
        kit.vault.failures["renew_lease"] = Trouble.DENIED
    kit.loan(150.0)
    await kit.settled()
    for _ in range(5):
        await kit.advance(10.0)
    assert kit.vault.count("renew_lease") == 1


async def test_a_call_that_joins_has_its_time_as_well(kit: Kit) -> None:
    """One renewal serves all who need it."""
    loan = kit.loan(70.0)
    await kit.settled()
    loan.needed_until += 60.0
    kit.upkeep.keep(loan)
    await kit.advance(36.0)
    await kit.advance(36.0)
    assert kit.vault.count("renew_lease") == 2
    assert loan.ends_at >= loan.needed_until


async def test_whoever_breaks_while_revoking_is_asked_again(kit: Kit) -> None:
    """Nothing ends it but the lease's own end."""
    loan, revoke = kit.loan(), kit.vault.revoke_lease

    async def broken(*_arguments: object) -> None:
        raise RuntimeError("hunter2")

    kit.vault.revoke_lease = broken  # type: ignore[method-assign]
    kit.upkeep.revoke(loan)
    await kit.settled()
    kit.vault.revoke_lease = revoke  # type: ignore[method-assign]
    await kit.advance(0.25)
    assert kit.vault.leases == {}
