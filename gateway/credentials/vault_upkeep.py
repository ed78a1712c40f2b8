"""Leases are renewed while a call needs them, and revoked in the end, however long that takes."""

import asyncio

from adapters.base import Clock
from gateway.clients.vault import VaultClient
from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.credentials.vault_cache import Held
from gateway.credentials.vault_loan import Loan
from gateway.credentials.vault_session import VaultSession

RENEW_FROM = 0.6
"""Of a lease's time."""
RENEW_RETRY_SECONDS = 1.0
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.25, 15.0
_REVOKING = 2
"""How many at the same time: a server that hangs must leave threads to those who ask for secrets."""


class Upkeep:
    """Sees to leases beside the calls. Use it on one loop."""

    def __init__(self, session: VaultSession, client: VaultClient, clock: Clock) -> None:
        self._session = session
        self._client = client
        self._clock = clock
        self._revoking = asyncio.Semaphore(_REVOKING)
        self.revocations: dict[Loan, asyncio.Task[None]] = {}
        """Those under way. A lease leaves it when it is good for nothing any more."""

    def keep(self, loan: Loan) -> None:
        """See that it lasts as long as it is needed. What has as long as that already costs nothing."""
        is_short = loan.needed_until > loan.ends_at and loan.is_renewable
        if is_short and not loan.is_renewing and not loan.is_over:
            loan.is_renewing = True
            loan.begin(self._renewed_on(loan))

    async def _renewed_on(self, loan: Loan) -> None:
        """Until it lasts, is over, or nothing more is to be gained: a server caps what it gives."""
        try:
            await self._renewed(loan)
        finally:
            loan.is_renewing = False

    async def _renewed(self, loan: Loan) -> None:
        while loan.is_renewable and loan.needed_until > loan.ends_at > self._clock.monotonic():
            due = loan.counts_from + RENEW_FROM * loan.seconds
            await self._clock.sleep(max(0.0, due - self._clock.monotonic()))
            try:
                loan.is_renewable = await self._has_gained(loan)
            except VaultFailed as failed:
                loan.is_renewable = failed.trouble.may_be_stale
                await self._clock.sleep(RENEW_RETRY_SECONDS)

    async def _has_gained(self, loan: Loan) -> bool:
        began = self._clock.monotonic()
        wanted = max(loan.needed_until - began, loan.seconds)
        lease = await self._session.ask(
            lambda token: self._client.renew_lease(token, loan.role.namespace, loan.id, wanted)
        )
        before, loan.counts_from, loan.seconds = loan.ends_at, began, lease.seconds
        loan.ends_at = began + lease.seconds if lease.seconds else float("inf")
        return loan.ends_at > before + 1.0

    def revoke(self, loan: Loan) -> None:
        """Forget its values now, and have the server take it back, in the background. Harmless when it is done."""
        if loan.is_over:
            return
        loan.is_over, loan.held = True, Held({})
        for task in tuple(loan.tasks):
            task.cancel()
        self.revocations[loan] = asyncio.get_running_loop().create_task(self._revoked(loan))

    async def _revoked(self, loan: Loan) -> None:
        """Again and again, until the server has done it or the lease has ended by itself."""
        seconds = FIRST_RETRY_SECONDS
        try:
            while not await self._is_revoked(loan) and self._clock.monotonic() < loan.ends_at:
                await self._clock.sleep(seconds)
                seconds = min(seconds * 2, LAST_RETRY_SECONDS)
        finally:
            del self.revocations[loan]

    async def _is_revoked(self, loan: Loan) -> bool:
        try:
            async with self._revoking:
                await self._session.ask(lambda token: self._client.revoke_lease(token, loan.role.namespace, loan.id))
        except VaultFailed as failed:
            return failed.trouble is Trouble.ABSENT
        except Exception:  # noqa: BLE001 - whoever revokes must go on
            return False
        return True
