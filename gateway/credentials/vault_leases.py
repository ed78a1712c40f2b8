"""Credentials that a vault makes: issued for a call, renewed while it needs them, and revoked when it is over.

A lease is known from the moment that the server has made it: whoever waits for it may leave, and then it is revoked.
One whose answer was lost on the way ends by itself, at the time that the server set for it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from adapters.base import Clock
from gateway.background import end
from gateway.clients.vault import VaultClient
from gateway.clients.vault_answers import Lease, Trouble, VaultFailed
from gateway.credentials.vault_loan import Loan, Role, loan_of
from gateway.credentials.vault_session import VaultSession
from gateway.credentials.vault_upkeep import Upkeep
from gateway.settings.vault import DynamicSettings

STOP_SECONDS = 5.0
"""How long everything that is lent may take to be revoked when the gateway stops."""
_ISSUING = 3
"""How many at the same time: a server that hangs must leave threads to those who ask for other secrets."""


@dataclass(slots=True, eq=False)
class _Flight:
    """A lease that is being made, and how many wait for it."""

    waiters: int = 0
    loan: Loan | None = None
    failure: Trouble = Trouble.TIMEOUT
    task: "asyncio.Task[None] | None" = None


class LeaseCounts(NamedTuple):
    """For metrics: leases that calls hold or may get, and those that are over and not revoked yet."""

    held: int
    to_revoke: int


class Leases:
    """All leases of this gateway. Use it on one loop."""

    def __init__(
        self,
        settings: DynamicSettings,
        session: VaultSession,
        client: VaultClient,
        *,
        clock: Clock,
        wait_seconds: float,
        is_current: Callable[[str], bool],
    ) -> None:
        """`wait_seconds` is how long a caller waits. `is_current` says whether a token is the one in use."""
        self._settings = settings
        self._session = session
        self._client = client
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._is_current = is_current
        self._issuing = asyncio.Semaphore(_ISSUING)
        self._flights: set[_Flight] = set()
        self._shared_flights: dict[Role, _Flight] = {}
        self._shared: dict[Role, Loan] = {}
        self._loans: set[Loan] = set()
        self._upkeep = Upkeep(session, client, clock)
        self._is_closed = False

    def counts(self) -> LeaseCounts:
        """How many there are."""
        return LeaseCounts(len(self._loans), len(self._upkeep.revocations))

    async def borrow(self, role: Role, seconds: float) -> Loan:
        """A lease that is kept alive for so many seconds, or as long as the server lets it live. To be given back.

        Raises `VaultFailed`. Cancelled, it leaves nothing behind.
        """
        loan = self._reusable(role, seconds)
        if loan is None:
            loan = await self._arrival(self._departed(role))
        else:
            loan.borrowers += 1
        loan.needed_until = max(loan.needed_until, self._clock.monotonic() + seconds)
        self._upkeep.keep(loan)
        return loan

    def give_back(self, loan: Loan) -> None:
        """One borrower less. What nobody may borrow any more is revoked in the background."""
        loan.borrowers -= 1
        if loan.borrowers <= 0 and not self._is_reusable(loan):
            self._retire(loan)

    async def close(self) -> None:
        """Have everything revoked, whoever holds it, for as long as `STOP_SECONDS` allow."""
        self._is_closed = True
        deadline = self._clock.monotonic() + STOP_SECONDS
        for loan in tuple(self._loans):
            self._retire(loan)
        while self._flights or self._upkeep.revocations:  # a flight that lands is revoked in turn
            left = deadline - self._clock.monotonic()
            if left <= 0 or not (await asyncio.wait(self._tasks(), timeout=left))[0]:
                break
        for task in self._tasks():
            await end(task)

    def _tasks(self) -> list["asyncio.Task[None]"]:
        return [*(flight.task for flight in self._flights if flight.task), *self._upkeep.revocations.values()]

    def _reusable(self, role: Role, seconds: float) -> Loan | None:
        """The lease that calls share, if it lasts or can be made to last so long."""
        loan = self._shared.get(role)
        if loan is None:
            return None
        is_enough = loan.is_renewable or self._clock.monotonic() + seconds <= loan.ends_at
        if is_enough and self._is_reusable(loan):
            return loan
        del self._shared[role]
        if not loan.borrowers:
            self._retire(loan)
        return None

    def _is_reusable(self, loan: Loan) -> bool:
        """Whether another call may have it: not when it ends soon, nor when its token may end before."""
        is_shared = self._shared.get(loan.role) is loan and not self._is_closed
        return is_shared and self._clock.monotonic() < loan.reuse_until and self._is_current(loan.token)

    def _departed(self, role: Role) -> _Flight:
        """What makes the lease; one for all who ask at the same time when it is shared."""
        shared = self._shared_flights.get(role)
        if shared is not None:
            return shared
        if self._is_closed or len(self._flights) + sum(self.counts()) >= self._settings.max_leases:
            raise VaultFailed(Trouble.BUSY)
        flight = _Flight()
        self._flights.add(flight)
        if self._settings.pool:
            self._shared_flights[role] = flight
        flight.task = asyncio.get_running_loop().create_task(self._fly(role, flight))
        return flight

    async def _arrival(self, flight: _Flight) -> Loan:
        """What was made, this caller counted as a borrower of it."""
        assert flight.task is not None
        flight.waiters += 1
        try:
            await asyncio.wait((flight.task,), timeout=self._wait_seconds)
        except asyncio.CancelledError:
            self._leave(flight)
            raise
        if flight.loan is None:
            self._leave(flight)
            raise VaultFailed(flight.failure)
        return flight.loan

    def _leave(self, flight: _Flight) -> None:
        if flight.loan is None:
            flight.waiters -= 1
        else:
            self.give_back(flight.loan)

    async def _fly(self, role: Role, flight: _Flight) -> None:
        """It never raises, and neither a caller's cancellation nor its patience ends it."""
        try:
            async with self._issuing:
                if flight.waiters:
                    self._land(flight, await self._issued(role))
        except VaultFailed as failed:
            flight.failure = failed.trouble
        except Exception:  # noqa: BLE001 - whatever broke may hold the secret; callers are told that it broke
            flight.failure = Trouble.MALFORMED
        finally:
            self._flights.discard(flight)
            if self._shared_flights.get(role) is flight:
                del self._shared_flights[role]

    def _land(self, flight: _Flight, loan: Loan) -> None:
        self._loans.add(loan)
        flight.loan, loan.borrowers = loan, flight.waiters
        if self._settings.pool and not self._is_closed:
            self._shared[loan.role] = loan
            loan.begin(self._shared_no_longer(loan))
        if self._is_closed or not (loan.borrowers or self._is_reusable(loan)):
            self._retire(loan)

    async def _shared_no_longer(self, loan: Loan) -> None:
        """When its time to be shared is over and nobody has it, it is not kept for whoever comes next."""
        await self._clock.sleep(loan.reuse_until - self._clock.monotonic())
        if not loan.borrowers:
            self._retire(loan)

    async def _issued(self, role: Role) -> Loan:
        async def issue(token: str) -> tuple[str, float, Lease]:
            began = self._clock.monotonic()
            return token, began, await self._client.issue(token, role.namespace, role.engine, role.name)

        token, began, lease = await self._session.ask(issue)
        return loan_of(role, lease, token=token, began=began)

    def _retire(self, loan: Loan) -> None:
        """Nobody gets it any more, and whoever has it loses it."""
        self._loans.discard(loan)
        if self._shared.get(loan.role) is loan:
            del self._shared[loan.role]
        self._upkeep.revoke(loan)
