"""The path of a call. `_path` is the whole of it; the steps it names live in the modules named after them."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from functools import partial

from adapters.base import Fault, Happened, Invocation, Output
from gateway.approvals.base import Approved, Parked
from gateway.arguments.read import read_arguments
from gateway.audit.base import Line, LineKind
from gateway.budget.costs import costs_of
from gateway.call import (
    Answer,
    Arguments,
    Charge,
    Decision,
    DecisionEffect,
    Explanation,
    Failure,
    Known,
    Outcome,
    Pending,
    Principal,
    Request,
    Result,
    Standing,
    Step,
    Whose,
)
from gateway.claims import Passage, claim_of, must_wait
from gateway.endings import (
    bare_output,
    denied,
    done_but,
    internal,
    left,
    refuse_missing_key,
    refuse_unrepeatable,
    scrubbed,
    untold,
    withheld,
)
from gateway.errors import Reason, Refusal
from gateway.idempotency.base import Claim
from gateway.idempotency.keys import key_of_call
from gateway.invocation import invoke, is_cancelled, outlive
from gateway.parts import Announcement, Parts
from gateway.plans import Plans
from gateway.policy.document import NO_APPROVAL, CallFacts, input_document
from gateway.previewing import PREVIEW_SECONDS, preview
from gateway.registry.catalogue import Entry
from gateway.result.shape import shape
from gateway.scopes import check_scopes

_EXPLAINED = Result(content=(), structured_json=b"", receipt="Nothing was done.")


class Pipeline:
    """Carries calls along the path and closes each with exactly one line."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._plans = Plans()

    async def call(self, principal: Principal, request: Request, announcement: Announcement) -> Answer:
        """Carry out one call. Step 1, identity, has been taken by the surface.

        Raises `Refusal` when there was no call (`caller_rate`, `journal_unavailable`), otherwise
        answers. A cancelled caller gets `CancelledError`, after the call's line is written.
        """
        await self._parts.admission.admit(principal)  # 2
        trail = self._begin(LineKind.CALL, principal, request, announcement)
        return await self._close(trail, await self._outcome(trail), announcement)  # 3 to 13, then 14

    async def explain(self, principal: Principal, request: Request, announcement: Announcement) -> Explanation:
        """Say what `call` would answer, and why. Nothing is done; a line of kind `explain` is left."""
        await self._parts.admission.admit(principal)
        trail = self._begin(LineKind.EXPLAIN, principal, request, announcement)
        answer = await self._close(trail, await self._outcome(trail), announcement)
        failure = answer.outcome if isinstance(answer.outcome, Failure) else None
        return Explanation(call_id=trail.call_id, decision=trail.decision, failure=failure)

    async def execute(self, approved: Approved, announcement: Announcement) -> Answer:
        """Carry out a call that people have approved, under its own id and the principal that asked for it.

        Raises `Refusal` when it could not begin. Its outcome is `Pending` when policy has stricter terms by now.
        """
        trail = self._begin(LineKind.EXECUTION, approved.principal, approved.request, announcement, approved)
        return await self._close(trail, await self._outcome(trail), announcement)

    async def _path(self, trail: Passage) -> Outcome:
        """Steps 3 to 13. Each may raise `Refusal`, and then no later step has run."""
        entry = self._find(trail)  # 3
        self._check_scopes(trail, entry)  # 4
        arguments = self._read_arguments(trail, entry)  # 5
        known = await self._look(trail, entry, arguments)  # 6
        decision = await self._decide(trail, entry, arguments, known)  # 7
        if known is not None:
            return await self._replay(trail, known)  # 8
        if trail.kind is LineKind.EXPLAIN:
            return _EXPLAINED
        if must_wait(decision, trail.approved):
            return await self._park(trail, entry, arguments, decision)  # 8
        charges = await self._take_limits(trail, entry, decision)  # 9
        claim = await self._claim(trail, entry, arguments, charges)  # 10
        try:
            await self._resolve_credential(trail, entry, self._seconds(trail, entry))  # 11
            output = await self._invoke(trail, entry, arguments)  # 12
            return self._shape(trail, entry, decision, output)  # 13
        finally:
            await self._settle(trail, claim)

    # The steps, in order. Each enters itself into the trail, does one thing, and writes down what it found.

    def _begin(
        self,
        kind: LineKind,
        principal: Principal,
        request: Request,
        announcement: Announcement,
        approved: Approved | None = None,
    ) -> Passage:
        parts = self._parts
        call_id = parts.new_id() if approved is None else approved.call_id
        now = parts.clock.now()
        trail = Passage(kind=kind, call_id=call_id, principal=principal, request=request, now=now, approved=approved)
        trail.engine, trail.revision = parts.engine.name, parts.engine.revision
        trail.enter(Step.BEGIN)
        parts.journal.begin(trail.begin_record())
        announcement.begin(trail.call_id)
        trail.interrupt = announcement.follow(trail)
        return trail

    def _find(self, trail: Passage) -> Entry:
        trail.enter(Step.REGISTRY)
        entry = self._parts.catalogue().find(trail.principal, trail.request.tool, trail.request.surface)
        trail.tool, trail.connection, trail.upstream = entry.tool, entry.connection, entry.operation.upstream
        self._plans.of(entry)
        return entry

    def _check_scopes(self, trail: Passage, entry: Entry) -> None:
        trail.enter(Step.SCOPES)
        check_scopes(trail.principal, entry.agent, entry.tool, trail.request.mode)
        self._parts.halts.check(trail.principal, entry)

    def _read_arguments(self, trail: Passage, entry: Entry) -> Arguments:
        trail.enter(Step.ARGUMENTS)
        raw, max_bytes = trail.request.arguments_json, self._parts.max_argument_bytes
        trail.arguments = read_arguments(raw, entry, max_bytes=max_bytes)
        trail.costs = costs_of(entry.tool.prices, trail.arguments.value)
        return trail.arguments

    async def _look(self, trail: Passage, entry: Entry, arguments: Arguments) -> Known | None:
        trail.enter(Step.IDEMPOTENCY)
        if not entry.tool.has_effect or trail.approved is not None:
            return None
        trail.key = key_of_call(trail.principal, entry.tool, trail.request, arguments, call_id=trail.call_id)
        known = await self._parts.keys.of(trail.principal.tenant).look(trail.key)
        if known is not None:
            refuse_unrepeatable(known, arguments)
            trail.effect_id = known.effect_id
        return known

    async def _decide(self, trail: Passage, entry: Entry, arguments: Arguments, known: Known | None) -> Decision:
        trail.enter(Step.POLICY)
        parts, request = self._parts, trail.request
        facts = CallFacts(
            call_id=trail.call_id,
            request=request,
            now=trail.now,
            is_key_given=bool(request.idempotency_key),
            is_replay=known is not None,
            cost=trail.costs,
            approval_json=trail.approved.approval_json(parts.engine.revision) if trail.approved else NO_APPROVAL,
        )
        document = input_document(trail.principal, entry.agent, entry.tool, entry.connection, arguments, facts)
        trail.decision = decision = await parts.engine.decide(document)
        if decision.effect is DecisionEffect.DENY:
            raise denied(decision)
        if entry.tool.has_effect and not request.idempotency_key and not request.run_id:
            refuse_missing_key(decision)
        return decision

    async def _replay(self, trail: Passage, known: Known) -> Outcome:
        """The first result again, or how it stands; nothing is done, and nothing is asked of anybody."""
        trail.enter(Step.APPROVALS)
        trail.replay = True
        if known.standing is Standing.PARKED:
            return await self._parts.approvals.state(trail.principal.tenant, known.approval_id)
        if known.standing is Standing.UNKNOWN:
            raise Refusal(Reason.OUTCOME_UNKNOWN, f"Call {known.call_id} used this key, and its outcome is not known.")
        if known.result is None:
            raise Refusal(Reason.KEY_DONE, f"Call {known.call_id} did this; its result is not kept any more.")
        return known.result

    async def _park(self, trail: Passage, entry: Entry, arguments: Arguments, decision: Decision) -> Pending:
        trail.enter(Step.APPROVALS)
        parked = Parked(
            call_id=trail.call_id,
            effect_id=trail.effect_id,
            key=trail.key,
            principal=trail.principal,
            request=trail.request,
            tool=entry.tool,
            connection=entry.connection,
            arguments=arguments,
            decision=decision,
            intent=trail.intent_record(),
            now=trail.now,
            preview_json=await self._preview(trail, entry, arguments, decision),
            instead_of=trail.approval_id,
            decided_by=trail.approved.decisions if trail.approved else (),
        )
        return await self._parts.approvals.park(parked)

    async def _preview(self, trail: Passage, entry: Entry, arguments: Arguments, decision: Decision) -> bytes:
        """What is and what would be, for whoever approves; empty when the tool cannot tell."""
        ask = entry.operation.preview
        if not entry.tool.preview or ask is None:
            return b""
        # It is a read at the vendor, and counts like one: a call that waits for a person must not be a way around.
        await self._parts.limits.take(trail.principal, entry.agent, entry.tool, entry.connection, decision)
        await self._lend(trail, entry, PREVIEW_SECONDS)
        invocation = self._invocation(trail, entry, arguments, PREVIEW_SECONDS)
        with self._parts.admission.outside:
            return await preview(ask, invocation, secrets=lambda: trail.secrets)

    async def _take_limits(self, trail: Passage, entry: Entry, decision: Decision) -> tuple[Charge, ...]:
        """Rates are counted here; of which counters it takes what is worked out, and reserved with the claim."""
        trail.enter(Step.LIMITS)
        parts, run_id = self._parts, trail.request.run_id
        await parts.limits.take(trail.principal, entry.agent, entry.tool, entry.connection, decision)
        return await parts.charging.of(entry.agent, entry.tool, trail.costs, run_id=run_id, now=trail.now)

    async def _claim(
        self, trail: Passage, entry: Entry, arguments: Arguments, charges: tuple[Charge, ...]
    ) -> Claim | None:
        """The key is ours, what it costs reserved, its approval used, and the intent on stable storage, all or
        nothing. Before this, nothing was sent.
        """
        trail.enter(Step.CLAIM)
        if not entry.tool.has_effect:
            return await self._reserve(trail, entry, arguments, charges)
        trail.claim = claim = claim_of(trail, entry, arguments, charges)
        await self._parts.journal.sync()
        known = await self._take(trail, claim)
        if known is not None:
            refuse_unrepeatable(known, arguments)
            raise Refusal(Reason.KEY_IN_PROGRESS, "Another call with this key was faster.", retry_after_ms=1000)
        trail.happened = Happened.NO
        return claim

    async def _take(self, trail: Passage, claim: Claim) -> Known | None:
        """Take the key. When nobody knows whether the store gave it to us another gateway may close it in the end."""
        keys = self._parts.keys.of(trail.principal.tenant)
        try:
            return await keys.claim(claim, trail.intent_record())
        except BaseException:
            if keys.is_owed(claim):
                trail.whose = Whose.UNTOLD
            raise

    async def _reserve(
        self, trail: Passage, entry: Entry, arguments: Arguments, charges: tuple[Charge, ...]
    ) -> Claim | None:
        """A read takes no key. Most cost nothing and wait for nobody; one that does not fit uses no approval."""
        if not charges and trail.approved is None:
            return None
        budget, tenant = self._parts.budget, trail.principal.tenant
        claim = claim_of(trail, entry, arguments, charges)
        if charges:
            await budget.reserve(tenant, claim.effect_id, charges)
        if trail.approved is not None:
            use = trail.approved.binding(arguments, entry.tool, entry.connection)
            try:
                await self._parts.approvals.use(trail.approved, use, self._parts.clock.now())
            except BaseException:
                await budget.release(tenant, claim.effect_id)
                raise
        return claim if charges else None

    async def _resolve_credential(self, trail: Passage, entry: Entry, seconds: float) -> None:
        trail.enter(Step.CREDENTIALS)
        await self._lend(trail, entry, seconds)

    async def _lend(self, trail: Passage, entry: Entry, seconds: float) -> None:
        connection = entry.connection
        if not connection.credential:
            return
        trail.credential = connection.credential
        lent = await self._parts.credentials.lend(
            connection.tenant, connection.credential, connection.target.hosts, seconds=seconds
        )
        trail.lend(lent)

    async def _invoke(self, trail: Passage, entry: Entry, arguments: Arguments) -> Output:
        trail.enter(Step.ADAPTER)
        parts, tool, seconds = self._parts, entry.tool, self._seconds(trail, entry)
        invocation = self._invocation(trail, entry, arguments, seconds)
        self._check_may_send(trail, entry)
        trail.is_asked = True
        if tool.has_effect:
            trail.happened = Happened.UNKNOWN
        with parts.admission.outside:
            attempt = await invoke(
                entry.operation,
                invocation,
                seconds=seconds,
                has_effect=tool.has_effect,
                interrupt=trail.interrupt,
            )
        trail.attempts = attempt.attempts
        parts.seen(entry.connection.tenant, entry.connection.name, attempt.refusal.reason if attempt.refusal else None)
        if tool.has_effect:
            trail.happened = attempt.happened
        return attempt.output or bare_output(attempt)

    def _invocation(self, trail: Passage, entry: Entry, arguments: Arguments, seconds: float) -> Invocation:
        invocation = Invocation(
            arguments=arguments.value,
            target=entry.connection.target,
            credential=trail.lent,
            deadline=self._parts.clock.monotonic() + seconds,
            effect_id=trail.effect_id,
            learn=trail.learn,
            progress=trail.advance,
        )
        if not entry.connection.target.audience:
            return invocation
        return replace(invocation, assertion=self._parts.asserting(trail, invocation))

    def _seconds(self, trail: Passage, entry: Entry) -> float:
        """How long the adapter may take. A write runs to its end, whatever its caller is willing to wait."""
        seconds = min(entry.tool.timeout_ms / 1000, self._parts.max_call_seconds)
        asked = trail.request.timeout_seconds
        return seconds if entry.tool.has_effect or asked is None else min(seconds, asked)

    def _check_may_send(self, trail: Passage, entry: Entry) -> None:
        """Nobody stopped it meanwhile, and nobody takes us for gone: others would call the claim unknown."""
        self._parts.halts.check(trail.principal, entry)
        claim = trail.claim
        if entry.tool.has_effect and (claim is None or not self._parts.keys.of(trail.principal.tenant).holds(claim)):
            message = "The gateway was out of reach of its store for too long, so nothing was sent. Try again later."
            raise Refusal(Reason.STORE_UNAVAILABLE, message, fault=Fault.TIMEOUT)

    def _shape(self, trail: Passage, entry: Entry, decision: Decision, output: Output) -> Result:
        trail.enter(Step.RESULT)
        try:
            keep = partial(self._parts.keep, trail.principal)
            trail.result = shape(output, self._plans.shaping(entry, decision), trail.secrets, keep)
        except Refusal as refusal:
            if trail.happened is Happened.YES:
                raise done_but(refusal) from refusal
            raise
        return trail.result

    async def _settle(self, trail: Passage, claim: Claim | None) -> None:
        """The key remembers what became of its effect, whatever step ended the call."""
        if claim is None:
            return
        if not claim.key:
            budget, tenant = self._parts.budget, trail.principal.tenant
            told = budget.settle if trail.is_asked else budget.release
            await outlive(lambda: told(tenant, claim.effect_id))
            return
        trail.whose = Whose.UNTOLD  # until the store has said
        trail.whose = await outlive(lambda: self._tell(trail, claim))  # a caller that leaves changes nothing any more

    def _tell(self, trail: Passage, claim: Claim) -> Awaitable[Whose]:
        keys = self._parts.keys.of(trail.principal.tenant)
        if trail.happened is Happened.YES:
            return keys.settle(claim, trail.result)
        return keys.release(claim) if trail.happened is Happened.NO else keys.leave_unknown(claim)

    async def _outcome(self, trail: Passage) -> Outcome:
        """What `_path` comes to: whatever it raises is an outcome too."""
        try:
            return await self._path(trail)
        except Refusal as refusal:
            return Failure.of(refusal)
        except asyncio.CancelledError:
            if not is_cancelled():
                return internal(trail)
            await self._close(trail, left(trail))
            raise
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - a call that began ends with a line, whatever went wrong
            return internal(trail)

    async def _close(self, trail: Passage, outcome: Outcome, announcement: Announcement | None = None) -> Answer:
        """Step 14: the line is on stable storage before the answer leaves."""
        if announcement is not None:
            announcement.end()
        if trail.secrets and isinstance(outcome, Failure):
            outcome = replace(outcome, message=scrubbed(outcome.message, trail.secrets))
        line = trail.line(outcome, self._plans.shown_arguments(trail))
        try:
            if trail.whose is Whose.OURS:
                await self._parts.sink.append(line)
            else:
                outcome = await self._told_late(trail, line)
        except Refusal as refusal:
            outcome = withheld(trail, refusal)
            self._parts.metrics.withheld()
        finally:
            self._parts.metrics.called(line, trail.audit_us())
            trail.give_back()
        return Answer(call_id=trail.call_id, effect_id=trail.effect_id, outcome=outcome, is_replay=trail.replay)

    async def _told_late(self, trail: Passage, line: Line) -> Outcome:
        """Another gateway took this one for gone, or may do so yet: it tells of the call as one of which nobody knows,
        and so is the caller told. Raises `Refusal(audit_unavailable)`.
        """
        keys, claim = self._parts.keys.of(trail.principal.tenant), trail.claim
        assert claim is not None
        line = line._replace(delivered=False)
        if trail.whose is Whose.UNTOLD:
            self._parts.late.wait(line, lambda: keys.whose(claim))
        else:
            await self._parts.late.put(line, trail.whose)
        return untold()
