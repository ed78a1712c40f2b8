"""The policy in an OPA beside the gateway.

Every reply says which revision of the bundle decided, so what is asked and what was examined cannot fall apart. A
revision decides once it is not older than any before it and has answered a call of nobody properly. How old it
is, OPA's status says. The embedded engine's rule holds here too: what cannot be told to be right refuses.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from adapters.base import Clock, Fault
from gateway.background import end
from gateway.call import Decision, DecisionEffect
from gateway.clients.opa import BundleState, OpaClient, OpaFailed, Reply
from gateway.errors import Reason, Refusal
from gateway.policy.base import EngineStatus, Floor, PolicyUnusable
from gateway.policy.decision import decision_of, undefined
from gateway.policy.embedded import ADMIN_PROBE, PROBE
from gateway.policy.opa_state import Breaker, Freshness
from gateway.policy.reload import OnEvent
from gateway.settings.policy import OpaSettings
from gateway.watched import WatchedFile

TICK_SECONDS = 0.1
"""How often OPA is looked at while it may not decide."""
LOOK_SECONDS = 1.0
"""How long a look may take: OPA's status is a large document."""

_Ask = Callable[[bytes], Awaitable[Reply]]
_PROBES = 3
_NOT_ANSWERED = frozenset({Fault.TIMEOUT, Fault.REFUSED, Fault.RESET})


class OpaEngine:
    """Decides by asking OPA. Use it on one loop."""

    name = "opa"

    def __init__(
        self,
        settings: OpaSettings,
        *,
        clock: Clock,
        floor: Floor,
        on_event: OnEvent = lambda _name, _fields: None,
    ) -> None:
        """Nobody is asked yet: `start` does."""
        self._settings = settings
        self._clock = clock
        self._on_event = on_event
        self._client = _client(settings, clock)
        self._examined = _Examined(floor)
        self._examining = asyncio.Lock()
        self._freshness = Freshness(clock, settings.max_age_seconds)
        self._breaker = Breaker()
        self._next_look = 0.0
        self._problem = "OPA was not asked yet"
        self._watcher: asyncio.Task[None] | None = None

    @property
    def revision(self) -> str:
        """The bundle's revision that decides; empty when none may."""
        return self._examined.revision

    async def start(self) -> None:
        """Look at OPA once, and again and again from now on. An OPA that is away is waited for."""
        if self._watcher is None:
            await self._look()
            self._watcher = asyncio.create_task(self._watch(), name="opa watcher")

    async def stop(self) -> None:
        """Look no longer, and close every connection."""
        watcher, self._watcher = self._watcher, None
        await end(watcher)
        await self._client.close()

    def status(self) -> EngineStatus:
        """How it stood at the last look, and how old that is."""
        age = self._freshness.age() if self.revision else 0.0
        problem = self._problem
        if self.revision and self._freshness.is_stale:
            problem = f"OPA has not heard from its bundle service for {age:.0f} s"
        if self._breaker.fault is not None:
            problem = f"OPA does not answer ({self._breaker.fault})"
        is_ready = self._refusal() is None
        return EngineStatus(
            is_ready=is_ready,
            revision=self.revision,
            age_seconds=age,
            is_open=self._breaker.fault is not None,
            problem=problem,
        )

    async def decide(self, input_json: bytes) -> Decision:
        """OPA's decision. The wait is bounded by one deadline, and by a second where the revision just changed."""
        return await self._decided(self._client.decide, input_json)

    async def decide_admin(self, input_json: bytes) -> Decision:
        """The same for what an operator wants to do."""
        return await self._decided(self._client.decide_admin, input_json)

    async def _decided(self, ask: _Ask, input_json: bytes) -> Decision:
        if (refusal := self._refusal()) is not None:
            raise refusal
        before = self.revision
        reply = await self._asked(ask, input_json)
        if reply.revision != before:
            await self._admit(reply)
        if not reply.is_defined:
            raise undefined()
        return decision_of(reply.value, reply.revision)

    def _refusal(self) -> Refusal | None:
        """Why nothing can be decided now. Nobody is asked: it costs a call no time."""
        if self._breaker.fault is not None:
            return _unavailable(self._breaker.fault)
        return _not_loaded() if not self.revision or self._freshness.is_stale else None

    async def _asked(self, ask: _Ask, input_json: bytes) -> Reply:
        try:
            reply = await ask(input_json)
        except OpaFailed as failed:
            self._log_failure(failed)
            self._count(failed)
            raise _unavailable(failed.fault) from failed
        self._breaker.close()
        return reply

    async def _admit(self, reply: Reply) -> None:
        """Return when the reply is by a revision that may decide, though not by the one that did so before."""
        if reply.revision:
            with contextlib.suppress(OpaFailed, TimeoutError):
                async with asyncio.timeout(self._settings.timeout_ms / 1000):
                    await self._examine(reply.revision)
        if not reply.revision or reply.revision != self.revision:
            self._look_soon()
            raise _not_loaded()

    async def _watch(self) -> None:
        """Looks when it is time, and at each tick while OPA may not decide."""
        while True:
            await self._clock.sleep(TICK_SECONDS)
            if self._refusal() is not None or self._clock.monotonic() >= self._next_look:
                with contextlib.suppress(Exception):  # also a listener's: whoever watches must go on watching
                    await self._look()

    async def _look(self) -> None:
        self._next_look = self._clock.monotonic() + self._settings.poll_seconds
        try:
            await self._look_at_bundle()
        except OpaFailed as failed:
            self._tell("policy_unreachable", str(failed))
            # However it failed: without an answer to this nobody knows which policy is there, nor how old it is.
            self._breaker.count(failed.fault)
            self._look_soon()
        except Exception as error:  # noqa: BLE001 - whoever watches must go on watching
            self._reject(_broken(error))

    async def _look_at_bundle(self) -> None:
        if self._breaker.fault is not None:
            await self._client.check_health(LOOK_SECONDS)
        state = await self._client.bundle(LOOK_SECONDS)
        self._breaker.close()
        self._freshness.heard(state)
        if not state.revision:
            self._reject(_not_active(self._settings.bundle, state))
        elif state.revision != self.revision:
            await self._examine(state.revision)
        if self.revision and state.error:
            self._tell("policy_rejected", f"OPA has no newer bundle: {state.error}")
        elif self.revision:
            self._problem = ""

    async def _examine(self, revision: str) -> None:
        """Let OPA decide on a call of nobody; the revision that does so properly is the one that decides. Raises
        `OpaFailed` when OPA does not answer. Callers wait for one another and share what came out.
        """
        async with self._examining:
            if revision == self.revision:
                return
            before = self.revision
            objection = await self._objection()
            if objection:
                self._reject(objection)
            elif self.revision != before:
                self._problem = ""
                self._on_event("policy_activated", {"revision": self.revision, "before": before})

    async def _objection(self) -> str:
        """What speaks against the revision that OPA decides by now. When nothing does, it is the one examined."""
        try:
            replies = await self._probed()
        except OpaFailed as failed:
            if failed.fault in _NOT_ANSWERED:
                raise
            return f"OPA fails on a call of nobody: {failed}"
        try:
            return self._examined.objection(*replies)
        except PolicyUnusable as unusable:
            return str(unusable)
        except Exception as error:  # noqa: BLE001 - whoever waits for a decision must hear a refusal
            return _broken(error)

    async def _probed(self) -> tuple[Reply, Reply]:
        """What both rules make of nobody. A bundle that changes between them is asked again."""
        for _ in range(_PROBES):
            admin = await self._client.decide_admin(ADMIN_PROBE.encode())
            reply = await self._client.decide(PROBE.encode())
            if admin.revision == reply.revision:
                break
        return admin, reply

    def _reject(self, problem: str) -> None:
        """Nothing decides, for this reason."""
        self._examined.revision = ""
        self._tell("policy_rejected", problem)

    def _tell(self, event: str, problem: str) -> None:
        """Say it in the status, and to the log when it is news."""
        is_news, self._problem = problem != self._problem, problem
        if is_news:
            self._on_event(event, {"error": problem, "revision": self.revision})

    def _log_failure(self, failed: OpaFailed) -> None:
        """Every failed evaluation, and the first of a row that OPA did not answer."""
        if failed.fault not in _NOT_ANSWERED or self._breaker.failures == 0:
            self._on_event("policy_failed", {"error": str(failed), "revision": self.revision})

    def _count(self, failed: OpaFailed) -> None:
        if failed.fault in _NOT_ANSWERED:
            self._breaker.count(failed.fault)
            self._look_soon()

    def _look_soon(self) -> None:
        self._next_look = self._clock.monotonic()


class _Examined:
    """The revision that was examined and may decide."""

    def __init__(self, floor: Floor) -> None:
        self.revision = ""
        self._floor = floor

    def objection(self, admin: Reply, reply: Reply) -> str:
        """What speaks against the revision that gave these answers to nobody, by both of its rules; empty when it is
        accepted.
        """
        if not reply.revision:
            return "the bundle has no revision; build it with one"
        if admin.revision != reply.revision:
            return "the bundle changes all the time while it is examined"
        if wrong := self._floor.why_not(reply.revision) or _wrong_answer(reply) or _wrong_answer(admin):
            return f"revision {reply.revision}: {wrong}"
        self._floor.raise_to(reply.revision)
        self.revision = reply.revision
        return ""


def _client(settings: OpaSettings, clock: Clock) -> OpaClient:
    token = WatchedFile(settings.token_file, clock.monotonic).text if settings.token_file is not None else str
    return OpaClient(
        settings.url,
        settings.bundle,
        timeout_seconds=settings.timeout_ms / 1000,
        ca_file=settings.ca_file,
        token=token,
    )


def _broken(error: Exception) -> str:
    return f"the bundle cannot be examined ({type(error).__name__})"


def _wrong_answer(reply: Reply) -> str:
    """What is wrong with an answer to a call of nobody: it must not be let in, and a rule must say so properly."""
    if not reply.is_defined:
        return ""
    try:
        decision = decision_of(reply.value, reply.revision)
    except Refusal:
        return "its answer to a call of nobody is not a decision (see decision.schema.json)"
    return "it allows a call of nobody" if decision.effect is DecisionEffect.ALLOW else ""


def _not_active(bundle: str, state: BundleState) -> str:
    why = state.error or "it was not fetched yet, or has no revision"
    return f"the bundle {bundle} is not active in OPA: {why}"


def _not_loaded() -> Refusal:
    message = "No policy is loaded, so nothing is allowed. Try again later."
    return Refusal(Reason.POLICY_NOT_LOADED, message, fault=Fault.NOT_LOADED)


def _unavailable(fault: Fault) -> Refusal:
    message = "The policy could not be evaluated, so nothing was done. Try again later."
    return Refusal(Reason.POLICY_UNAVAILABLE, message, fault=fault)
