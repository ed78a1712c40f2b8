"""The path of a call. `_path` is the whole of it; the steps it names live in the modules named after them."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from adapters.base import Clock, Happened, Invocation, Output
from gateway.admission import Admission
from gateway.approvals.base import Approvals
from gateway.arguments.read import read_arguments
from gateway.audit.base import Journal, LineKind, Sink
from gateway.audit.trail import Trail
from gateway.call import (
    Answer,
    Arguments,
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
)
from gateway.credentials.resolver import Resolver
from gateway.endings import (
    bare_output,
    denied,
    done_but,
    internal,
    left,
    refuse_missing_key,
    refuse_unrepeatable,
    scrubbed,
    withheld,
)
from gateway.errors import Reason, Refusal
from gateway.idempotency.base import Claim, Keys
from gateway.idempotency.keys import key_of_call
from gateway.invocation import invoke, is_cancelled
from gateway.metrics.counts import Metrics
from gateway.plans import Plans
from gateway.policy.base import Engine
from gateway.policy.document import CallFacts, input_document
from gateway.ratelimit.limits import Limits
from gateway.registry.catalogue import Catalogue, Entry
from gateway.result.shape import shape
from gateway.scopes import check_scopes


class Announcement(Protocol):
    """Tells the caller the call's id while it waits for the answer."""

    def begin(self, call_id: str) -> None:
        """The call is in the journal. Its id goes out as soon as the call has to wait for anything outside."""
        ...

    def end(self) -> None:
        """The answer is about to leave and carries the id itself."""
        ...


class Calls(Protocol):
    """What a surface hands calls to: a `Pipeline`, or something that holds the one of the moment."""

    def call(self, principal: Principal, request: Request, announcement: Announcement) -> Awaitable[Answer]:
        """Carry out one call (see `Pipeline.call`)."""
        ...

    def explain(self, principal: Principal, request: Request, announcement: Announcement) -> Awaitable[Explanation]:
        """Say what a call would get (see `Pipeline.explain`)."""
        ...


_EXPLAINED = Result(content=(), structured_json=b"", receipt="Nothing was done.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the path is made of. `app.py` chooses each."""

    admission: Admission
    journal: Journal
    sink: Sink
    catalogue: Callable[[], Catalogue]
    keys: Keys
    engine: Engine
    approvals: Approvals
    limits: Limits
    credentials: Resolver
    metrics: Metrics
    clock: Clock
    new_id: Callable[[], str]
    max_argument_bytes: int
    max_call_seconds: float


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

    async def _path(self, trail: Trail) -> Outcome:
        """Steps 3 to 13. Each may raise `Refusal`, and then no later step has run."""
        entry = self._find(trail)  # 3
        self._check_scopes(trail, entry)  # 4
        arguments = self._read_arguments(trail, entry)  # 5
        known = await self._look(trail, entry, arguments)  # 6
        decision = await self._decide(trail, entry, arguments, known)  # 7
        if known is not None:
            return self._replay(trail, known)  # 8
        if trail.kind is LineKind.EXPLAIN:
            return _EXPLAINED
        if decision.effect is DecisionEffect.REQUIRE_APPROVAL:
            return await self._park(trail, entry, arguments, decision)  # 8
        await self._take_limits(trail, entry, decision)  # 9
        claim = await self._claim(trail, entry, arguments)  # 10
        try:
            await self._resolve_credential(trail, entry)  # 11
            output = await self._invoke(trail, entry, arguments)  # 12
            return self._shape(trail, entry, decision, output)  # 13
        finally:
            await self._settle(trail, claim)

    # The steps, in order. Each enters itself into the trail, does one thing, and writes down what it found.

    def _begin(self, kind: LineKind, principal: Principal, request: Request, announcement: Announcement) -> Trail:
        parts = self._parts
        trail = Trail(kind=kind, call_id=parts.new_id(), principal=principal, request=request, now=parts.clock.now())
        trail.engine, trail.revision = parts.engine.name, parts.engine.revision
        trail.enter(Step.BEGIN)
        parts.journal.begin(trail.begin_record())
        announcement.begin(trail.call_id)
        return trail

    def _find(self, trail: Trail) -> Entry:
        trail.enter(Step.REGISTRY)
        entry = self._parts.catalogue().find(trail.principal, trail.request.tool, trail.request.surface)
        trail.tool, trail.connection = entry.tool, entry.connection
        self._plans.of(entry)
        return entry

    @staticmethod
    def _check_scopes(trail: Trail, entry: Entry) -> None:
        trail.enter(Step.SCOPES)
        check_scopes(trail.principal, entry.agent, entry.tool, trail.request.mode)

    def _read_arguments(self, trail: Trail, entry: Entry) -> Arguments:
        trail.enter(Step.ARGUMENTS)
        raw, max_bytes = trail.request.arguments_json, self._parts.max_argument_bytes
        trail.arguments = read_arguments(raw, entry, max_bytes=max_bytes)
        return trail.arguments

    async def _look(self, trail: Trail, entry: Entry, arguments: Arguments) -> Known | None:
        trail.enter(Step.IDEMPOTENCY)
        if not entry.tool.has_effect:
            return None
        trail.key = key_of_call(trail.principal, entry.tool, trail.request, arguments, call_id=trail.call_id)
        known = await self._parts.keys.look(trail.key)
        if known is not None:
            refuse_unrepeatable(known, arguments)
            trail.effect_id = known.effect_id
        return known

    async def _decide(self, trail: Trail, entry: Entry, arguments: Arguments, known: Known | None) -> Decision:
        trail.enter(Step.POLICY)
        parts, request = self._parts, trail.request
        facts = CallFacts(
            call_id=trail.call_id,
            request=request,
            now=trail.now,
            is_key_given=bool(request.idempotency_key),
            is_replay=known is not None,
            cost=entry.tool.cost,
        )
        document = input_document(trail.principal, entry.agent, entry.tool, entry.connection, arguments, facts)
        trail.decision = decision = await parts.engine.decide(document)
        if decision.effect is DecisionEffect.DENY:
            raise denied(decision)
        if entry.tool.has_effect and not request.idempotency_key and not request.run_id:
            refuse_missing_key(decision)
        return decision

    @staticmethod
    def _replay(trail: Trail, known: Known) -> Outcome:
        """The first result again; nothing is done, and nothing is asked of anybody."""
        trail.enter(Step.APPROVALS)
        trail.replay = True
        if known.standing is Standing.UNKNOWN:
            raise Refusal(Reason.OUTCOME_UNKNOWN, f"Call {known.call_id} used this key, and its outcome is not known.")
        if known.result is None:
            raise Refusal(Reason.KEY_DONE, f"Call {known.call_id} did this; its result is not kept any more.")
        return known.result

    async def _park(self, trail: Trail, entry: Entry, arguments: Arguments, decision: Decision) -> Pending:
        trail.enter(Step.APPROVALS)
        return await self._parts.approvals.park(
            call_id=trail.call_id, principal=trail.principal, tool=entry.tool, arguments=arguments, decision=decision
        )

    async def _take_limits(self, trail: Trail, entry: Entry, decision: Decision) -> None:
        trail.enter(Step.LIMITS)
        await self._parts.limits.take(trail.principal, entry.agent, entry.tool, entry.connection, decision)

    async def _claim(self, trail: Trail, entry: Entry, arguments: Arguments) -> Claim | None:
        """For a write or send: the key is ours and the intent is on stable storage. Before this, nothing was sent."""
        trail.enter(Step.CLAIM)
        if not entry.tool.has_effect:
            return None
        claim = Claim(
            key=trail.key, call_id=trail.call_id, effect_id=trail.effect_id, arguments_digest=arguments.digest
        )
        known = await self._parts.keys.claim(claim, trail.intent_record())
        if known is not None:
            refuse_unrepeatable(known, arguments)
            raise Refusal(Reason.KEY_IN_PROGRESS, "Another call with this key was faster.", retry_after_ms=1000)
        trail.happened = Happened.NO
        return claim

    async def _resolve_credential(self, trail: Trail, entry: Entry) -> None:
        trail.enter(Step.CREDENTIALS)
        connection = entry.connection
        if not connection.credential:
            return
        trail.credential = connection.credential
        secret = await self._parts.credentials.resolve(
            connection.tenant, connection.credential, connection.target.hosts
        )
        trail.secrets = (secret,)

    async def _invoke(self, trail: Trail, entry: Entry, arguments: Arguments) -> Output:
        trail.enter(Step.ADAPTER)
        parts, tool = self._parts, entry.tool
        seconds = min(tool.timeout_ms / 1000, parts.max_call_seconds)
        if not tool.has_effect and trail.request.timeout_seconds is not None:
            seconds = min(seconds, trail.request.timeout_seconds)
        invocation = Invocation(
            arguments=arguments.value,
            target=entry.connection.target,
            credential=trail.secrets[0] if trail.secrets else None,
            deadline=parts.clock.monotonic() + seconds,
            effect_id=trail.effect_id,
        )
        if tool.has_effect:
            trail.happened = Happened.UNKNOWN
        with parts.admission.outside:
            attempt = await invoke(entry.operation, invocation, seconds=seconds, has_effect=tool.has_effect)
        trail.attempts = attempt.attempts
        if tool.has_effect:
            trail.happened = attempt.happened
        return attempt.output or bare_output(attempt)

    def _shape(self, trail: Trail, entry: Entry, decision: Decision, output: Output) -> Result:
        trail.enter(Step.RESULT)
        try:
            trail.result = shape(output, self._plans.shaping(entry, decision), trail.secrets)
        except Refusal as refusal:
            if trail.happened is Happened.YES:
                raise done_but(refusal) from refusal
            raise
        return trail.result

    async def _settle(self, trail: Trail, claim: Claim | None) -> None:
        """The key remembers what became of its effect, whatever step ended the call."""
        if claim is None:
            return
        keys = self._parts.keys
        if trail.happened is Happened.YES:
            await keys.settle(claim, trail.result)
        elif trail.happened is Happened.NO:
            await keys.release(claim)
        else:
            await keys.leave_unknown(claim)

    async def _outcome(self, trail: Trail) -> Outcome:
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

    async def _close(self, trail: Trail, outcome: Outcome, announcement: Announcement | None = None) -> Answer:
        """Step 14: the line is on stable storage before the answer leaves."""
        if announcement is not None:
            announcement.end()
        if trail.secrets and isinstance(outcome, Failure):
            outcome = replace(outcome, message=scrubbed(outcome.message, trail.secrets))
        line = trail.line(outcome, self._plans.shown_arguments(trail))
        try:
            await self._parts.sink.append(line)
        except Refusal as refusal:
            outcome = withheld(trail, refusal)
            self._parts.metrics.withheld()
        finally:
            self._parts.metrics.called(line, trail.audit_us())
            for secret in trail.secrets:
                secret.drop()
        return Answer(call_id=trail.call_id, effect_id=trail.effect_id, outcome=outcome, is_replay=trail.replay)
