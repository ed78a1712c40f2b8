"""A policy that can be changed while it decides. What does not load never replaces what does."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace

from adapters.base import Clock, Fault
from gateway.background import end
from gateway.call import Decision
from gateway.errors import Reason, Refusal
from gateway.policy.base import EngineStatus, PolicyProblem, PolicyUnusable
from gateway.policy.candidate import Documents, TryOut, broken, tried_pack
from gateway.policy.embedded import EmbeddedEngine
from gateway.policy.pack import Pack
from gateway.policy.source import UNREACHABLE, Candidate, Source

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 0.5
"""Between two looks while nothing is decided: whoever waits for a policy does not wait long."""
RETRIAL_SECONDS = 10.0
"""While nothing is decided, a policy that was refused is tried again this often: a machine may have been busy."""

ALLOWS_ANYBODY = "the policy allows a call of nobody, so it asks nothing of anybody; let it begin with a default deny"
"""OPA's engine refuses such a policy, this one takes it: a policy that is being written may begin so."""

OnEvent = Callable[[str, Mapping[str, str]], None]
"""`policy_activated`, `policy_rejected`, `policy_unreachable`, `policy_failed` and `policy_allows_anybody`, each with
what a log line needs.
"""


class ReloadingEngine:
    """The policy that a source holds, whatever it holds now. Use it on one loop, whose thread owns the engine."""

    name = "embedded"

    def __init__(
        self,
        source: Source,
        *,
        clock: Clock,
        try_out: TryOut,
        reload_seconds: float = 0.0,
        on_event: OnEvent = lambda _name, _fields: None,
    ) -> None:
        """Nothing is read yet: `start` does. `try_out` says what speaks against a policy before it may decide, and
        may not hold up the loop. `reload_seconds` of 0: once there is a policy, the source is not looked at again.
        """
        self._source = source
        self._clock = clock
        self._try_out = try_out
        self._reload_seconds = reload_seconds
        self._on_event = on_event
        self._engine: EmbeddedEngine | None = None
        self._active: Candidate | None = None
        self._digest = ""
        """What `read_pack` says of the active policy, whatever its revision is."""
        self._watcher: asyncio.Task[None] | None = None
        self._loading = asyncio.Lock()
        self._unread: tuple[PolicyProblem, ...] = ()
        """Why the last look found nothing to try; `_refused` is why what a look found last may not decide."""
        self._refused: tuple[PolicyProblem, ...] = ()
        self._mark: object = None
        self._told: object = None
        self._read_at = self._newest_at = self._tried_at = clock.monotonic()

    @property
    def revision(self) -> str:
        """The active revision; empty when no policy is loaded."""
        return self._engine.revision if self._engine is not None else ""

    @property
    def problems(self) -> tuple[PolicyProblem, ...]:
        """Why what the source holds now does not decide; empty when it does."""
        return self._unread or self._refused

    def status(self) -> EngineStatus:
        """How it stands. Ready also while what is newer is refused, as long as the source gives out something good."""
        return EngineStatus(
            is_ready=self._engine is not None and not self._is_stale(),
            revision=self.revision,
            age_seconds=self._clock.monotonic() - self._newest_at if self._engine is not None else 0.0,
            problem=self._problem(),
        )

    async def decide(self, input_json: bytes) -> Decision:
        """The active policy's decision; `Refusal(policy_not_loaded)` when there is none, or it is too old."""
        return self._deciding().decide_now(input_json)

    async def decide_admin(self, input_json: bytes) -> Decision:
        """The same for what an operator wants to do."""
        return await self._deciding().decide_admin(input_json)

    def _deciding(self) -> EmbeddedEngine:
        if self._engine is None:
            raise _not_loaded("No policy is loaded, so nothing is allowed. Try again later.")
        if self._is_stale():
            raise _not_loaded("The policy may be out of date, so nothing is allowed. Try again later.")
        return self._engine

    async def fits(self, documents: Documents) -> tuple[PolicyProblem, ...]:
        """What speaks against letting the active policy decide on such documents, and nothing is changed: to be
        asked before the tools change, which have documents of their own. Nothing when there is no policy yet.
        """
        async with self._loading:
            if self._active is None:
                return ()
            trial = await self._try_out(self._active.folders, documents)
        if not trial.problems and trial.revision != self._digest:
            message = "it is just being changed; load again"
            return (PolicyProblem(file="-", rule="changed", message=message),)
        return trial.problems

    async def start(self) -> None:
        """Load, and look for changes from now on. Raises `PolicyUnusable` when there is nothing to decide with and
        nothing to wait for; a bundle service is waited for, whatever it says.
        """
        await self.reload_now()
        if self._engine is None and not self._source.is_remote:
            raise PolicyUnusable(*self.problems)
        if self._watcher is None:
            self._watcher = asyncio.create_task(self._watch(), name="policy watcher")

    async def stop(self) -> None:
        """Look for changes no longer. The policy stays active."""
        watcher, self._watcher = self._watcher, None
        await end(watcher)
        await self._source.close()

    async def reload_now(self) -> bool:
        """Look at the source and swap the policy as a whole; False when what it holds is refused (see `problems`)
        and the former one goes on.
        """
        async with self._loading:
            try:
                candidate = await self._source.look()
            except PolicyUnusable as unusable:
                self._unread = unusable.problems
            except Exception as error:  # noqa: BLE001 - whoever watches must go on watching
                self._unread = (broken(type(error).__name__),)
            else:
                await self._consider(candidate)
            self._tell()
            return not self.problems

    async def _consider(self, candidate: Candidate | None) -> None:
        """The source gave out something good: another policy, or the same as before."""
        self._unread = ()
        self._read_at = self._clock.monotonic()
        if candidate is not None:
            self._mark = candidate.mark
            self._refused = await self._load(candidate) if candidate != self._active else ()
            self._tried_at = self._clock.monotonic()
        if not self._refused:
            self._newest_at = self._read_at

    async def _load(self, candidate: Candidate) -> tuple[PolicyProblem, ...]:
        """What is wrong with the policy; when it is nothing, it is active."""
        try:
            await self._activate(candidate, await tried_pack(candidate.folders, self._try_out))
        except PolicyUnusable as unusable:
            return unusable.problems
        except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of the engine as well; see above
            return (broken(type(error).__name__),)
        return ()

    async def _activate(self, candidate: Candidate, pack: Pack) -> None:
        """Built again, here: an engine belongs to the thread that built it."""
        revision = candidate.revision or pack.revision
        is_other = (revision, pack.revision) != (self.revision, self._digest)
        engine = EmbeddedEngine(replace(pack, revision=revision), self._failed) if is_other else self._engine
        await self._source.accept(candidate)
        before, self._engine = self.revision, engine
        self._active, self._digest = candidate, pack.revision
        if is_other:
            self._on_event("policy_activated", {"revision": revision, "before": before})
            if engine is not None and engine.allows_anybody:
                self._on_event("policy_allows_anybody", {"error": ALLOWS_ANYBODY, "revision": revision})

    def _tell(self) -> None:
        """An event for each thing that speaks against each policy, once."""
        problems, told = self.problems, (self.problems, self._mark)
        if problems and told != self._told:
            name = "policy_unreachable" if problems[0].rule == UNREACHABLE else "policy_rejected"
            self._on_event(name, {"error": "; ".join(map(str, problems)), "revision": self.revision})
        self._told = told

    def _failed(self, sentence: str) -> None:
        self._on_event("policy_failed", {"error": sentence, "revision": self.revision})

    def _is_stale(self) -> bool:
        return self._clock.monotonic() - self._read_at > self._source.max_age_seconds

    def _problem(self) -> str:
        if self.problems:
            more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
            return f"{self.problems[0]}{more}"
        if self._is_stale():
            return "the policy's source was read too long ago"
        return "" if self._engine is not None else "no policy is loaded yet"

    async def _watch(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while self._engine is None or self._reload_seconds > 0:
            if self.status().is_ready:
                pause = FIRST_PAUSE_SECONDS
                await self._clock.sleep(self._reload_seconds)
            else:
                await self._clock.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
                self._forget_refused()
            with contextlib.suppress(Exception):  # also a listener's: whoever watches must go on watching
                await self.reload_now()

    def _forget_refused(self) -> None:
        """The source need not change before what nobody can do without is tried again."""
        if self._refused and self._clock.monotonic() - self._tried_at >= RETRIAL_SECONDS:
            self._source.forget()


def _not_loaded(message: str) -> Refusal:
    return Refusal(Reason.POLICY_NOT_LOADED, message, fault=Fault.NOT_LOADED)
