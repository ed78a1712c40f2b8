"""An unknown outcome becomes a known one: once, and with one line."""

import contextlib

from adapters.base import Clock, Happened
from gateway.audit.base import LineKind
from gateway.audit.deeds import Deed, Deeds
from gateway.call import Principal
from gateway.errors import Refused, RefusedKind
from gateway.invocation import outlive
from gateway.resolution.intent import read_intent
from gateway.store import unknowns
from gateway.store.columns import moment_of
from gateway.store.database import Database, Session
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.keys import KEEP_SECONDS
from gateway.store.unknowns import Unknown


class Settling:
    """Settles unknown outcomes, for the gateway and for people. What was done keeps its key so many seconds."""

    def __init__(self, database: Database, deeds: Deeds, clock: Clock, *, keep_seconds: float = KEEP_SECONDS) -> None:
        self._database = database
        self._deeds = deeds
        self._clock = clock
        self._keep_seconds = keep_seconds

    async def settle(self, unknown: Unknown, happened: Happened, *, by: Principal, note: str) -> bool:
        """Whether it was this that settled it; False when somebody else was faster, and then it leaves no line.

        Its line is on stable storage when this returns True. Goes on to its end though the caller be cancelled. Raises
        `Refused` of the kind `unavailable`: it may have been settled then, or not.
        """
        if happened is Happened.UNKNOWN:
            raise ValueError("an outcome is not settled by not knowing it")
        try:
            return await outlive(lambda: self._settle(unknown, happened, by, note))
        except (StoreDown, StoreRefused) as failure:
            message = "The store does not answer, so this may be settled or not. Look before you do it again."
            raise Refused(RefusedKind.UNAVAILABLE, message) from failure

    async def _settle(self, unknown: Unknown, happened: Happened, by: Principal, note: str) -> bool:
        """The deed begins once the row is ours and before that is done for good: a loser leaves no line, and whoever
        crashes in between leaves one that says `unknown`.
        """
        async with contextlib.AsyncExitStack() as ending, self._database.tenant(by.tenant) as session:
            if not await self._is_ours(session, unknown, happened):
                return False
            tool = read_intent(unknown.intent).tool
            deed = await ending.enter_async_context(self._deeds.of(LineKind.RESOLUTION, by, what=tool, note=note))
            tell_of(deed, unknown)
            deed.tell(happened=happened.value)
        return True

    async def _is_ours(self, session: Session, unknown: Unknown, happened: Happened) -> bool:
        now = self._clock.now()
        at, until = moment_of(now), moment_of(now + self._keep_seconds)
        resolve = unknowns.resolve_done if happened is Happened.YES else unknowns.resolve_not_done
        return await resolve(session, unknown.key, unknown.call_id, at, until)


def tell_of(deed: Deed, unknown: Unknown) -> None:
    """The line says which effect it is about: whose, by which tool, and with what."""
    told = read_intent(unknown.intent)
    deed.tell(
        effect_id=unknown.effect_id,
        agent=told.agent,
        run_id=told.run_id,
        tool_version=told.tool_version,
        side_effect=told.side_effect,
        connection=told.connection,
        upstream=told.upstream,
        arguments_digest=unknown.arguments_digest,
        approval_id=unknown.approval_id or told.approval_id,
        key_digest=told.key_digest,
    )
