"""How a call stands, for whoever may know: the same agent of the same tenant.

It is looked for in this order: at work here, its row, what is remembered of its key. A call of somebody else and one
that there never was are told in the same words.
"""

from gateway.call import Answer, Failure, Known, Outcome, Pending, PendingState, Principal, Standing
from gateway.errors import Reason, Refusal
from gateway.handles.base import Parked, Seen
from gateway.handles.kept import KeptCalls
from gateway.handles.running import Here, pending
from gateway.idempotency.base import Tenants
from gateway.idempotency.keys import check_key, scoped_key
from gateway.store import calls as rows

NOT_FOUND = Answer(
    call_id="",
    effect_id="",
    outcome=Failure(
        reason=Reason.CALL_NOT_FOUND,
        message="There is no such call, or it is not yours, or it was too long ago. Check the id.",
    ),
)
_UNKNOWN = (
    "It is not known how this call ended. Do not repeat it under another key; asking again with the same key is safe."
)


class Asking:
    """Answers what is asked of calls. Every method may raise `Refusal(store_unavailable)`."""

    def __init__(self, here: Here, kept: KeptCalls, keys: Tenants, parked: Parked) -> None:
        self._here = here
        self._kept = kept
        self._keys = keys
        self._parked = parked

    async def of_id(self, principal: Principal, call_id: str) -> Seen:
        """The call of this id."""
        running = self._here.of(principal, call_id)
        if running is not None:
            return running.seen()
        kept = await self.row(principal, call_id)
        return Seen(answer=NOT_FOUND if kept is None else await self.of_row(principal, kept))

    async def of_key(self, principal: Principal, tool: str, key: str) -> Seen:
        """The call that was made with this key. A key that none can be is a failure of its own."""
        try:
            scoped = scoped_key(principal.tenant, principal.agent, tool, check_key(key))
        except Refusal as refusal:
            return Seen(answer=Answer(call_id="", effect_id="", outcome=Failure.of(refusal)))
        known = await self._keys.of(principal.tenant).look(scoped)
        if known is not None:
            seen = await self.of_id(principal, known.call_id)
            return seen if seen.answer is not NOT_FOUND else Seen(answer=await self._of_known(principal, known))
        kept = await self._kept.find_by_key(principal.tenant, scoped)
        if kept is None or kept.agent != principal.agent:
            return Seen(answer=NOT_FOUND)
        return await self.of_id(principal, kept.call_id)

    async def row(self, principal: Principal, call_id: str) -> rows.Kept | None:
        """The row of a call of this agent."""
        kept = await self._kept.find(principal.tenant, call_id)
        return kept if kept is not None and kept.agent == principal.agent else None

    async def of_row(self, principal: Principal, kept: rows.Kept) -> Answer:
        """What the row of a call comes to."""
        if kept.state == rows.RUNNING:
            return pending(kept.call_id, kept.effect_id)
        outcome = await self._outcome(principal, kept)
        return Answer(call_id=kept.call_id, effect_id=kept.effect_id, outcome=outcome)

    async def _outcome(self, principal: Principal, kept: rows.Kept) -> Outcome:
        if kept.state == rows.PARKED:
            return await self._waiting(principal, kept.approval_id or "")
        outcome = await self._kept.outcome(principal.tenant, kept) if kept.state == rows.FINISHED else None
        is_unknown = isinstance(outcome, Failure) and outcome.reason is Reason.OUTCOME_UNKNOWN
        if outcome is not None and not is_unknown:
            return outcome
        if kept.outcome == "ok":
            return Failure(reason=Reason.KEY_DONE, message="This was done; its result is not kept any more.")
        return await self._settled(principal, kept) or outcome or Failure(reason=_reason(kept), message=_UNKNOWN)

    async def _settled(self, principal: Principal, kept: rows.Kept) -> Outcome | None:
        """What somebody found out since, when the call had a key; None when nobody has."""
        if not kept.key:
            return None
        known = await self._keys.of(principal.tenant).look(kept.key)
        if known is None or known.call_id != kept.call_id or known.standing is not Standing.DONE:
            return None
        return (await self._of_known(principal, known)).outcome

    async def _of_known(self, principal: Principal, known: Known) -> Answer:
        """What is remembered of a key comes to."""
        outcome: Outcome
        if known.standing is Standing.IN_PROGRESS:
            return pending(known.call_id, known.effect_id)
        if known.standing is Standing.PARKED:
            outcome = await self._waiting(principal, known.approval_id)
        elif known.standing is Standing.UNKNOWN:
            outcome = Failure(reason=Reason.OUTCOME_UNKNOWN, message=_UNKNOWN)
        else:
            done = Failure(reason=Reason.KEY_DONE, message="This was done; its result is not kept any more.")
            outcome = known.result or done
        return Answer(call_id=known.call_id, effect_id=known.effect_id, outcome=outcome)

    async def _waiting(self, principal: Principal, approval_id: str) -> Outcome:
        if not approval_id:
            return Pending(approval_id="", message="The call waits for a person.", state=PendingState.APPROVAL)
        return await self._parked.state(principal.tenant, approval_id)


def _reason(kept: rows.Kept) -> Reason:
    """Of an end that is not kept: certain only where the row is."""
    return Reason.CANCELLED if kept.outcome == "cancelled" else Reason.OUTCOME_UNKNOWN
