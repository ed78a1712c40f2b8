"""A lease, as this gateway holds it."""

import asyncio

from gateway.clients.vault_answers import Lease
from gateway.credentials.vault_loan import Role, loan_of

ROLE = Role("acme", "", "database", "reader")


def lease(seconds: float) -> Lease:
    """One that lasts so long."""
    return Lease("database/creds/reader/1", {"password": "hunter2"}, seconds, is_renewable=True)


def test_its_time_counts_from_when_it_was_asked_for() -> None:
    """The server may have made it right away. For two thirds of it the lease may be shared."""
    loan = loan_of(ROLE, lease(60.0), token="t-1", began=100.0)
    assert (loan.ends_at, loan.reuse_until, loan.seconds) == (160.0, 140.0, 60.0)


def test_one_that_does_not_end_is_shared_for_an_hour() -> None:
    """Not for ever."""
    loan = loan_of(ROLE, lease(0.0), token="t-1", began=100.0)
    assert (loan.ends_at, loan.reuse_until) == (float("inf"), 3700.0)


def test_it_prints_neither_values_nor_token() -> None:
    """Not by accident."""
    loan = loan_of(ROLE, lease(60.0), token="t-1", began=100.0)
    assert not any(secret in repr(loan) for secret in ("hunter2", "t-1"))


async def test_what_goes_on_for_it_is_known_until_it_is_done() -> None:
    """So that it can be ended with the lease."""
    loan, gate = loan_of(ROLE, lease(60.0), token="t-1", began=100.0), asyncio.Event()

    async def work() -> None:
        await gate.wait()

    loan.begin(work())
    (task,) = loan.tasks
    gate.set()
    await task
    await asyncio.sleep(0)
    assert loan.tasks == set()
