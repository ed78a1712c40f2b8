"""What is left over when nobody decides in time, or when a gateway goes away in the middle."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from gateway.approvals.means import Means
from gateway.approvals.told import CUT_OFF, EXPIRED, NOT_KEPT, UNKNOWN
from gateway.call import Failure, Result, Standing
from gateway.outcomes import OutcomeUnreadable, decode_result
from gateway.store import approval_rows, approvals
from gateway.store.approval_rows import Kept, Unfinished
from gateway.store.columns import moment_of
from gateway.store.sealing import SealBroken

AT_ONCE = 100
LAPSED = timedelta(seconds=30)
"""How long a writer's lease must be over before others take its calls for ended."""
UNUSED = timedelta(seconds=5)
"""How long whoever took the last decision has to begin."""
FORGET_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Found:
    over: list[Kept]
    unfinished: list[Unfinished]
    unused: tuple[str, ...]


class Leftovers:
    """Looks after them. Harmless to do on every replica at once: each change is made by one."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._forgot: dict[str, float] = {}

    async def tidy(self, tenant: str) -> tuple[str, ...]:
        """Approvals that were given and not used for a while, once all else is in order (see `Executions.tidy`).
        Raises `StoreDown`, `StoreRefused` and `SealBroken`.
        """
        found = await self._look(tenant)
        if found.over:
            await self._expire(tenant, found.over)
        for call in found.unfinished:
            await self._finish(tenant, call)
        await self._forget(tenant)
        if found.over or found.unfinished:
            self._means.bell.ring()
        return found.unused

    async def _look(self, tenant: str) -> _Found:
        now = self._now()
        async with self._means.database.tenant(tenant, is_read=True) as session:
            return _Found(
                over=await approval_rows.over(session, now, limit=AT_ONCE),
                unfinished=await approval_rows.unfinished(session, lapsed_before=now - LAPSED, limit=AT_ONCE),
                unused=await approval_rows.unused(session, now, decided_before=now - UNUSED, limit=AT_ONCE),
            )

    async def _expire(self, tenant: str, over: Iterable[Kept]) -> None:
        """They are expired and their calls have ended. A key goes on telling so while the outcome is kept."""
        sealed = [(kept, await self._means.sealed(tenant, kept.call_id, EXPIRED)) for kept in over]
        now, until = self._now(), self._until(self._means.settings.keep_seconds)
        async with self._means.database.tenant(tenant) as session:
            for kept, result in sealed:
                if await approvals.expire(session, kept.approval_id, now=now):
                    outcome = EXPIRED.code.value
                    await approvals.finish(session, kept.call_id, outcome=outcome, result=result, now=now, until=until)

    async def _finish(self, tenant: str, call: Unfinished) -> None:
        """The call has the outcome that its key tells of. One whose key is in progress still waits for whoever
        closes the claims of gateways that are gone.
        """
        if call.standing == Standing.IN_PROGRESS:
            return
        outcome = await self._outcome(tenant, call)
        sealed = await self._means.sealed(tenant, call.call_id, outcome)
        settings = self._means.settings
        until = self._until(settings.keep_seconds if call.key else settings.keep_read_seconds)
        async with self._means.database.tenant(tenant) as session:
            if call.standing == Standing.UNKNOWN:
                await approvals.leave_unknown(session, call.call_id, writer=call.writer, until=until)
                return
            word = outcome.code.value if isinstance(outcome, Failure) else "ok"
            await approvals.finish(
                session,
                call.call_id,
                outcome=word,
                result=sealed,
                now=self._now(),
                until=until,
                writer=call.writer,
            )

    async def _outcome(self, tenant: str, call: Unfinished) -> Result | Failure:
        if call.key is None:
            return CUT_OFF
        if call.standing != Standing.DONE:
            return UNKNOWN
        if call.result is None:
            return NOT_KEPT
        try:
            return decode_result(await self._means.seal.open(tenant, call.key, call.result))
        except (SealBroken, OutcomeUnreadable):
            return NOT_KEPT

    async def _forget(self, tenant: str) -> None:
        now = self._means.clock.now()
        if now < self._forgot.get(tenant, 0.0) + FORGET_SECONDS:
            return
        async with self._means.database.tenant(tenant) as session:
            await approvals.forget(session, moment_of(now))
        self._forgot[tenant] = now

    def _until(self, seconds: float) -> datetime:
        return moment_of(self._means.clock.now() + seconds)

    def _now(self) -> datetime:
        return moment_of(self._means.clock.now())
