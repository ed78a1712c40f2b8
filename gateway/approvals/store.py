"""Approvals in the store: durable, and the same for every replica.

The key of a call that was denied, or that nobody approved in time, tells so for a day to whoever repeats it: asking
people the same again takes a new key. The key of one that was approved and could not run is free.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from gateway.approvals.base import Approved, Parked
from gateway.approvals.leftovers import Leftovers
from gateway.approvals.means import Means, opened, told_as_refusal
from gateway.approvals.told import EXPIRED, WITHDRAWN, decided, denial, running, waiting
from gateway.approvals.writing import Written, rows_of
from gateway.call import ApprovalUse, Failure, Outcome, Pending, Result
from gateway.errors import Code, PolicyReason, Reason, Refusal
from gateway.store import approval_rows, approvals
from gateway.store.approval_rows import Kept
from gateway.store.calls import resume
from gateway.store.columns import moment_of
from gateway.store.database import Session
from gateway.store.failures import StoreRefused
from gateway.store.writers import hold

LEASE = timedelta(seconds=30)
DOUBT_SECONDS = 30.0
"""How long a transaction of which nobody knows may still come to be done."""

_TRANSIENT = frozenset({Code.UNAVAILABLE, Code.RATE_LIMITED})
_NOT_OURS = frozenset(
    {Reason.APPROVAL_MISMATCH, Reason.APPROVAL_EXPIRED, Reason.APPROVAL_WITHDRAWN, Reason.KEY_IN_PROGRESS}
)
"""What stops a call before it has used its approval, whoever has."""


def _may_be_over_soon(failure: Failure) -> bool:
    """Whether it may be tried again; a call that somebody cancelled is not."""
    return failure.code in _TRANSIENT and failure.reason is not Reason.CANCELLED


@dataclass(frozen=True, slots=True)
class _Doubtful:
    """A call that was parked for all that we know, though its caller was told otherwise."""

    tenant: str
    approval_id: str
    until: float


class StoreApprovals:
    """`Approvals` and `Executions` over the store."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._leftovers = Leftovers(means)
        self._doubtful: set[_Doubtful] = set()

    async def park(self, parked: Parked) -> Pending:
        """The call waits (see `Approvals.park`)."""
        approval_id = f"apr_{self._means.new_id()}"
        with told_as_refusal():
            await self._keep(parked, await rows_of(self._means, parked, approval_id))
        self._means.bell.ring()
        return waiting(approval_id, parked.tool.name, parked.decision.reasons)

    async def state(self, tenant: str, approval_id: str) -> Pending | Failure:
        """How a call stands whose key is parked."""
        with told_as_refusal():
            async with self._means.database.tenant(tenant, is_read=True) as session:
                kept = await approval_rows.find(session, approval_id)
                said = (await approval_rows.decisions(session, (approval_id,))).get(approval_id, [])
        if kept is None or kept.state == "withdrawn":
            return WITHDRAWN
        if kept.state == "denied":
            words = next((one.reason for one in said if one.decision == "deny"), "")
            return denial(words, is_told=self._means.settings.tell_reasons)
        if kept.state == "used":
            return running(approval_id)
        if kept.state == "expired" or kept.expires_at <= self._now():
            return EXPIRED
        if kept.state == "approved":
            return running(approval_id)
        return waiting(approval_id, kept.tool, await self._reasons(tenant, kept))

    async def use(self, approved: Approved, use: ApprovalUse, now: float) -> None:
        """The approval is used by this read, once."""
        means = self._means
        with told_as_refusal():
            async with means.database.tenant(approved.principal.tenant) as session:
                await self._held(session)
                is_used = await approvals.use(
                    session,
                    use.approval_id,
                    call_id=approved.call_id,
                    arguments_digest=use.arguments_digest,
                    tool_version=use.tool_version,
                    connection=use.connection,
                    now=moment_of(now),
                )
                if not (is_used and await resume(session, approved.call_id, writer=means.writer)):
                    raise Refusal(
                        Reason.APPROVAL_MISMATCH,
                        "The approval of this call is over, was used, or is for something else. Ask for it again.",
                    )

    async def approved(self, tenant: str, approval_id: str) -> Approved | None:
        """What an approved call runs with; None when it may not run."""
        means = self._means
        with told_as_refusal():
            async with means.database.tenant(tenant, is_read=True) as session:
                kept = await approval_rows.find(session, approval_id)
                said = (await approval_rows.decisions(session, (approval_id,))).get(approval_id, [])
            if kept is None or kept.state != "approved" or kept.expires_at <= self._now():
                return None
            return await opened(means, tenant, kept, decided(said))

    async def ended(self, approved: Approved, outcome: Outcome) -> bool:
        """The outcome is kept, unless another gateway carried the call out. True when it may be tried again."""
        if isinstance(outcome, Pending) or approved.edited:
            return False  # it waits again, and that was written down when it was parked
        tenant = approved.principal.tenant
        with told_as_refusal():
            sealed = await self._means.sealed(tenant, approved.call_id, outcome)
            async with self._means.database.tenant(tenant) as session:
                is_again = await self._end(session, approved, outcome, sealed)
        self._means.bell.ring()
        return is_again

    async def withdraw(self, tenant: str, approval_id: str) -> bool:
        """The call is not to run: whoever made it does not want it any more. True when it waited, and then it is
        certain that nothing was or will be done. Raises `Refusal(approvals_unavailable)`.
        """
        with told_as_refusal():
            async with self._means.database.tenant(tenant, is_read=True) as session:
                kept = await approval_rows.find(session, approval_id)
            if kept is None:
                return False
            sealed = await self._means.sealed(tenant, kept.call_id, WITHDRAWN)
            async with self._means.database.tenant(tenant) as session:
                if not await approvals.close(session, approval_id, "withdrawn"):
                    return False
                await self._finish(session, kept.call_id, WITHDRAWN, sealed)
                await approvals.free_key(session, kept.call_id)
                # Whoever asks and cancels without end would fill the disk: open questions alone are counted.
                await approvals.forget_question(session, kept.call_id)
        self._means.bell.ring()
        return True

    async def tidy(self, tenant: str) -> tuple[str, ...]:
        """What is left over is in order; what comes back was approved and not used for a while."""
        with told_as_refusal():
            unused = await self._leftovers.tidy(tenant)
        await self._settle_doubts(tenant)
        return unused

    async def _settle_doubts(self, tenant: str) -> None:
        """What was parked though its caller was told otherwise is withdrawn."""
        for one in [each for each in self._doubtful if each.tenant == tenant]:
            if await self.withdraw(one.tenant, one.approval_id) or one.until < self._means.clock.now():
                self._doubtful.discard(one)

    async def _keep(self, parked: Parked, written: Written) -> None:
        try:
            async with self._means.database.tenant(parked.principal.tenant) as session:
                await self._park(session, parked, written)
        except (Refusal, StoreRefused):
            raise  # nothing was done
        except BaseException:  # a caller who left as well: nobody may be asked of a call that is told as stopped
            if not parked.instead_of:
                until = self._means.clock.now() + DOUBT_SECONDS
                self._doubtful.add(_Doubtful(parked.principal.tenant, written.approval["approval_id"], until))
            raise

    async def _park(self, session: Session, parked: Parked, written: Written) -> None:
        if parked.instead_of:
            if not await approvals.close(session, parked.instead_of, "withdrawn"):
                message = "What this was to take the place of is not waiting any more. Look again."
                raise Refusal(Reason.APPROVAL_WITHDRAWN, message)
            await approval_rows.park_again(
                session, call_id=parked.call_id, arguments=written.call.arguments, approval=written.approval
            )
        else:
            await self._demand_room(session, parked)
            await self._held(session)
            if not await approval_rows.park(
                session, call=written.call, approval=written.approval, intent=parked.intent
            ):
                message = "Another call has this key. Ask again with the same key."
                raise Refusal(Reason.KEY_IN_PROGRESS, message, retry_after_ms=1000)
        for one in written.decisions:
            await approvals.decide(session, written.approval["approval_id"], one, now=moment_of(parked.now))

    async def _demand_room(self, session: Session, parked: Parked) -> None:
        most = self._means.settings.most_open_per_agent
        if await approval_rows.count_open(session, parked.principal.agent, moment_of(parked.now)) >= most:
            raise Refusal(
                Reason.TOO_MANY_APPROVALS,
                f"{most} of your calls wait for a person already. Wait until some are decided.",
                retry_after_ms=60_000,
            )

    async def _end(self, session: Session, approved: Approved, outcome: Result | Failure, sealed: bytes | None) -> bool:
        failure = outcome if isinstance(outcome, Failure) else None
        may_be_ours = failure is None or failure.reason not in _NOT_OURS
        if may_be_ours and await self._finish_ours(session, approved, outcome, sealed):
            return False
        if failure is not None and _may_be_over_soon(failure):
            return await self._is_approved(session, approved.approval_id)
        if await approvals.expire(session, approved.approval_id, now=self._now()):
            await self._finish(session, approved.call_id, outcome, sealed)
        elif await approvals.close(session, approved.approval_id, "withdrawn", starting=("approved",)):
            await self._finish(session, approved.call_id, outcome, sealed)
            await approvals.free_key(session, approved.call_id)
        return False

    async def _finish_ours(
        self, session: Session, approved: Approved, outcome: Result | Failure, sealed: bytes | None
    ) -> bool:
        """Whether this gateway ran the call; then it has ended."""
        settings, writer = self._means.settings, self._means.writer
        if isinstance(outcome, Failure) and outcome.reason is Reason.OUTCOME_UNKNOWN:
            until = moment_of(self._means.clock.now() + settings.keep_seconds)
            return await approvals.leave_unknown(session, approved.call_id, writer=writer, until=until)
        seconds = settings.keep_seconds if approved.key else settings.keep_read_seconds
        return await self._finish(session, approved.call_id, outcome, sealed, seconds=seconds, writer=writer)

    async def _finish(
        self,
        session: Session,
        call_id: str,
        outcome: Result | Failure,
        sealed: bytes | None,
        *,
        seconds: float | None = None,
        writer: str = "",
    ) -> bool:
        now = self._means.clock.now()
        until = now + (self._means.settings.keep_seconds if seconds is None else seconds)
        word = outcome.code.value if isinstance(outcome, Failure) else "ok"
        return await approvals.finish(
            session,
            call_id,
            outcome=word,
            result=sealed,
            now=moment_of(now),
            until=moment_of(until),
            writer=writer,
        )

    async def _is_approved(self, session: Session, approval_id: str) -> bool:
        kept = await approval_rows.find(session, approval_id)
        return kept is not None and kept.state == "approved" and kept.expires_at > self._now()

    async def _reasons(self, tenant: str, kept: Kept) -> tuple[PolicyReason, ...]:
        with told_as_refusal():
            asked = await self._means.asked(tenant, kept)
        return asked.reasons if asked is not None else ()

    async def _held(self, session: Session) -> None:
        now = self._now()
        await hold(session, self._means.writer, now=now, until=now + LEASE)

    def _now(self) -> datetime:
        return moment_of(self._means.clock.now())
