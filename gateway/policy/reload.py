"""A policy that can be changed while it decides. What does not load never replaces what does."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from adapters.base import Clock, Fault
from gateway.call import Decision
from gateway.errors import Reason, Refusal
from gateway.policy.base import PolicyProblem, PolicyUnusable
from gateway.policy.candidate import TryOut, broken, tried_pack
from gateway.policy.embedded import EmbeddedEngine
from gateway.policy.pack import Pack, stamp

OnEvent = Callable[[str, Mapping[str, str]], None]
"""`policy_activated`, `policy_rejected` and `policy_failed`, each with what a log line needs."""


class ReloadingEngine:
    """The policy in some folders, whatever they hold now. Use it on one loop, whose thread owns the engine."""

    name = "embedded"

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        clock: Clock,
        try_out: TryOut,
        reload_seconds: float = 0.0,
        on_event: OnEvent = lambda _name, _fields: None,
    ) -> None:
        """Nothing is read yet: `start` does. `try_out` says what speaks against a policy before it may decide, and
        may not hold up the loop. `reload_seconds` of 0 turns watching off.
        """
        self._folders = tuple(folders)
        self._clock = clock
        self._reload_seconds = reload_seconds
        self._try_out = try_out
        self._on_event = on_event
        self._engine: EmbeddedEngine | None = None
        self._seen: object = None
        self._watcher: asyncio.Task[None] | None = None
        self._loading = asyncio.Lock()
        self.problems: tuple[PolicyProblem, ...] = ()
        """Why the last load was refused; empty when it was not."""

    @property
    def revision(self) -> str:
        """The active revision; empty when no policy is loaded."""
        return self._engine.revision if self._engine is not None else ""

    @property
    def is_loaded(self) -> bool:
        """Whether there is a policy to decide with."""
        return self._engine is not None

    @property
    def last_error(self) -> str:
        """`problems` in one text."""
        return "; ".join(map(str, self.problems))

    async def decide(self, input_json: bytes) -> Decision:
        """The active policy's decision; `Refusal(policy_not_loaded)` when there is none."""
        if self._engine is None:
            message = "No policy is loaded, so nothing is allowed. Try again later."
            raise Refusal(Reason.POLICY_NOT_LOADED, message, fault=Fault.NOT_LOADED)
        return self._engine.decide_now(input_json)

    async def start(self) -> None:
        """Load, and watch the folders from now on."""
        await self.reload_now()
        if self._reload_seconds > 0 and self._watcher is None:
            self._watcher = asyncio.create_task(self._watch(), name="policy watcher")

    async def stop(self) -> None:
        """Watch no longer. The policy stays active."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watcher

    async def reload_now(self) -> bool:
        """Read the folders and swap the policy as a whole; False when what they hold is refused (see
        `problems`) and the former one goes on.
        """
        async with self._loading:
            self._seen = await asyncio.to_thread(stamp, self._folders)
            self.problems = await self._load()
            if self.problems:
                self._on_event("policy_rejected", {"error": self.last_error, "revision": self.revision})
            return not self.problems

    async def _load(self) -> tuple[PolicyProblem, ...]:
        """What is wrong with the policy in the folders; when it is nothing, the policy is active."""
        try:
            self._activate(await tried_pack(self._folders, self._try_out))
        except PolicyUnusable as unusable:
            return unusable.problems
        except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of the engine as well; whoever watches must go on watching
            return (broken(type(error).__name__),)
        return ()

    def _activate(self, pack: Pack) -> None:
        """Built again, here: an engine belongs to the thread that built it."""
        if pack.revision == self.revision:
            return
        engine = EmbeddedEngine(pack, self._failed)
        before, self._engine = self.revision, engine
        self._on_event("policy_activated", {"revision": engine.revision, "before": before})

    def _failed(self, sentence: str) -> None:
        self._on_event("policy_failed", {"error": sentence, "revision": self.revision})

    async def _watch(self) -> None:
        while True:
            await self._clock.sleep(self._reload_seconds)
            if await asyncio.to_thread(stamp, self._folders) != self._seen:
                await self.reload_now()
