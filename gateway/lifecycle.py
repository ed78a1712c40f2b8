"""The life of a gateway: parts started in order, settings and registry swapped whole, a drain, everything let go of."""

import asyncio
import contextlib
import gc
from collections.abc import Mapping

from gateway.admission import Admission
from gateway.auditing import Auditing, start_auditing
from gateway.deployment import Current, Deployment, Machinery
from gateway.description import Description, Listening, listening_of, policy_words, store_words
from gateway.errors import StartError
from gateway.http_listeners import HttpListeners
from gateway.keeping import Keeper
from gateway.metrics.families import Reloaded, TurnedAway
from gateway.observing import Watched, exposition_of
from gateway.policy.base import PolicyUnusable
from gateway.ratelimit.base import Limiter
from gateway.ratelimit.limits import Limits
from gateway.readiness import Readiness
from gateway.reloading import Watcher, need_restart
from gateway.rows import Rate
from gateway.server.listening import Server, Serving
from gateway.services import Services
from gateway.serving import Handlers
from gateway.settings.listeners import JwtIdentity, Listener
from gateway.settings.load import Settings
from gateway.state import State, open_state
from gateway.surfaces.edge import Edge

LAST_LINES_SECONDS = 1.0
"""After the drain: how long calls that were cut off may take to write their lines."""
POLL_SECONDS = 0.02

GC_THRESHOLDS = (10_000, 20, 50)
"""A call makes some hundred objects and nearly no cycles; the defaults would look for them every other call."""


class Gateway:
    """Everything that one process runs. `start` it on the loop that it shall live on, then `stop` it."""

    def __init__(self, current: Current, machinery: Machinery) -> None:
        self._current = current
        self._machinery = machinery
        self._stack = contextlib.AsyncExitStack()
        self._reloading = asyncio.Lock()
        self._state: State | None = None
        self._services: Services | None = None
        self._auditing: Auditing | None = None
        self._server: Server | None = None
        self._readiness: Readiness | None = None
        self._watcher = Watcher(
            lambda: self._current.deployment.files,
            self.reload,
            clock=machinery.clock,
            seconds=lambda: self._current.settings.registry.reload_seconds,
        )
        self._drained_by = 0.0
        self._http = HttpListeners(machinery, self._certificates_changed)
        self._admission = _admission(current.settings, machinery.caller_limiter)
        self._limits = Limits(machinery.limiter, current.settings.limits, machinery.clock.monotonic)

    async def start(self) -> None:
        """State, backing services, then listeners: nothing is answered before everything is there.

        Raises `StartError`, and then nothing is left running.
        """
        async with contextlib.AsyncExitStack() as stack:
            await self._start_state(stack)
            await self._start_registry(stack)
            await self._start_machinery(stack)
            await self._start_services(stack)
            await self._start_serving(stack)
            self._stack = stack.pop_all()
        _settle_memory()

    async def stop(self) -> None:
        """Let calls in flight finish, then let go of everything. Calling it twice is harmless."""
        self._drained_by = (
            self._machinery.clock.monotonic() + self._current.settings.server.drain_seconds + LAST_LINES_SECONDS
        )
        stack, self._stack = self._stack, contextlib.AsyncExitStack()
        await stack.aclose()

    def drain(self) -> float:
        """Say NOT_SERVING from here on. Returns for how many seconds calls should still be taken."""
        if self._readiness is not None:
            self._readiness.drain()
        return self._current.settings.server.drain_delay_seconds

    async def reload(self) -> tuple[str, ...]:
        """Read settings and registry again and swap them whole, or not at all: then what speaks against it."""
        async with self._reloading:
            try:
                problems = await self._take_over(await asyncio.to_thread(self._machinery.read))
            except StartError as error:
                problems = error.problems or (error.message,)
            except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # noqa: BLE001 - also a panic: whoever watches must go on watching
                self._machinery.log.failure("reload_failed", error)
                problems = ("it could not be examined; all goes on as before",)
        self._machinery.metrics.reloaded(Reloaded.REGISTRY, is_ok=not problems)
        for problem in problems:
            self._machinery.log.event("reload_refused", "error", problem=problem)
        return problems

    def reload_soon(self) -> None:
        """The same, in the background; as soon as it runs, when it is only starting."""
        self._watcher.poke()

    def describe(self) -> Description:
        """What is running."""
        current, engine = self._current, self._machinery.engine
        return Description(
            listeners=tuple(self._listening(listener) for listener in current.settings.listeners),
            http_addresses=dict(self._http.addresses),
            policy_engine=engine.name,
            policy_revision=engine.revision,
            policy_problem=engine.status().problem,
            policy_from=policy_words(current.settings),
            tools=current.catalogue.tools,
            agents=tuple(agent for agent, _ in current.catalogue.agents.values()),
            connections=current.catalogue.connections,
            store=store_words(current.settings.database),
            state_dir=current.settings.state_dir,
            recovered_calls=self._state.recovered if self._state else 0,
        )

    def _listening(self, listener: Listener) -> Listening:
        addresses = self._server.addresses if self._server else {}
        return listening_of(listener, addresses.get(listener.name, listener.address))

    async def _start_state(self, stack: contextlib.AsyncExitStack) -> None:
        machinery = self._machinery
        self._state = await open_state(
            stack,
            self._current.settings,
            database=machinery.database,
            seal=machinery.seal,
            clock=machinery.clock,
            active=self._admission.active,
        )

    async def _start_registry(self, stack: contextlib.AsyncExitStack) -> None:
        """What is in the store is known: what is stopped, and the rows when the registry is there."""
        follower, registry = self._machinery.follower, self._machinery.registry
        is_stored = self._current.settings.registry.source == "store"
        if is_stored:
            follower.hand_over(self._take_rows, lambda: registry.unusable)
        stack.push_async_callback(follower.stop)
        await follower.start()
        if is_stored:
            await follower.take_over()

    async def _take_rows(self) -> tuple[str, ...]:
        """Rows of the store are checked before they are written, by whoever writes them: they are taken as they are."""
        async with self._reloading:
            try:
                deployment = await asyncio.to_thread(self._machinery.read)
            except StartError as error:
                return error.problems or (error.message,)
            if self._current.pipeline is None:
                self._current.deployment = deployment
            else:
                self._swap(deployment)
                self._machinery.metrics.reloaded(Reloaded.REGISTRY, is_ok=not deployment.problems)
        for problem in deployment.problems:
            self._machinery.log.limited("registry_problem", "error", problem=problem)
        return ()

    async def _start_machinery(self, stack: contextlib.AsyncExitStack) -> None:
        machinery = self._machinery
        for adapter in machinery.adapters.values():
            stack.push_async_callback(adapter.close)
        for part in machinery.startable:
            stack.push_async_callback(part.stop)
            try:
                await part.start()
            except PolicyUnusable as unusable:
                problems = tuple(map(str, unusable.problems))
                raise StartError(
                    "the policy does not load, so nothing may run; correct what is listed", problems
                ) from unusable
        # Not `policy_against`: the policy was tried on this very registry when it was started.
        if problems := await machinery.vault_against(self._current.catalogue):
            raise StartError("credentials are not where the registry says; correct what is listed", problems)

    async def _start_services(self, stack: contextlib.AsyncExitStack) -> None:
        """What works over the state, behind the sink and the store that it needs to its end."""
        assert self._state is not None
        machinery, settings = self._machinery, self._current.settings
        self._auditing = await start_auditing(
            stack,
            settings,
            sink=self._state.audit.sink,
            database=machinery.database,
            signer=machinery.signer,
            clock=machinery.clock,
            on_event=self._audit_changed,
        )
        self._services = services = Services(self._state, machinery, self._current, self._admission)
        # What is at work to the end needs its lease renewed and its debts paid until then.
        keeper = Keeper(services.chores(), clock=machinery.clock, log=machinery.log)
        stack.push_async_callback(keeper.stop)
        await services.start(stack)
        self._current.pipeline = services.pipeline(self._current.deployment, self._limits)
        keeper.start()

    def _audit_changed(self, name: str, fields: Mapping[str, str]) -> None:
        """Of a sink, or of who signs."""
        if name == "checkpoint_failed":
            self._machinery.metrics.checkpoint_failed(fields["where"])
        words = {"problem" if key == "error" else key: value for key, value in fields.items()}
        self._machinery.log.event(name, "info" if name.endswith(("_up", "_mended")) else "error", **words)

    async def _start_serving(self, stack: contextlib.AsyncExitStack) -> None:
        stack.push_async_callback(self._calls_over)
        self._server = server = self._server_of(self._current.settings)
        stack.push_async_callback(self._drain, server)
        await server.start()
        self._readiness = self._started_readiness(stack, server)
        stack.push_async_callback(self._watcher.stop)
        self._watcher.start()
        await self._http.start(
            stack,
            self._current.settings,
            events=self._services.events if self._services is not None else None,
            exposition=lambda: exposition_of(self._watched()),
        )

    def _server_of(self, settings: Settings) -> Server:
        metrics = self._machinery.metrics
        assert self._services is not None
        handlers = Handlers(self._services, self._machinery, self._current)
        return Server(
            [self._serving(listener, handlers) for listener in settings.listeners],
            settings.server,
            monotonic=self._machinery.clock.monotonic,
            max_in_flight=settings.limits.max_in_flight,
            on_event=self._certificates_changed,
            on_late=lambda: metrics.turned_away(TurnedAway.DRAINING),
        )

    def _certificates_changed(self, name: str, fields: Mapping[str, str]) -> None:
        """Of any listener."""
        is_ok = name == "certificate_rotated"
        self._machinery.metrics.reloaded(Reloaded.CERTIFICATES, is_ok=is_ok)
        self._machinery.log.event(name, "info" if is_ok else "error", **fields)

    async def _drain(self, server: Server) -> None:
        assert self._services is not None
        self._services.drain()
        await server.drain(self._current.settings.server.drain_seconds)

    def _watched(self) -> Watched:
        assert self._state is not None
        assert self._services is not None
        assert self._auditing is not None
        assert self._readiness is not None
        listeners, machinery = self._current.settings.listeners, self._machinery
        return Watched(
            metrics=machinery.metrics,
            readiness=self._readiness,
            admission=self._admission,
            state=self._state,
            services=self._services,
            auditing=self._auditing,
            engine=machinery.engine,
            limiter=machinery.limiter,
            limits=self._limits,
            vault=machinery.vault,
            authenticators=machinery.authenticators,
            key_sets=frozenset(one.name for one in listeners if isinstance(one.identity, JwtIdentity)),
            adapters=machinery.adapters,
            registry_digest=lambda: self._current.catalogue.digest,
            tenants=lambda: self._current.settings.named_tenants,
        )

    def _started_readiness(self, stack: contextlib.AsyncExitStack, server: Server) -> Readiness:
        assert self._state is not None
        audit, engine = self._state.audit, self._machinery.engine
        sink, journal = audit.sink, audit.journal

        def tell(is_ready: bool, missing: tuple[str, ...]) -> None:
            server.health.set_serving(is_ready)
            self._machinery.log.event(
                "readiness",
                "info" if is_ready else "warning",
                state="serving" if is_ready else "not_serving",
                why=", ".join(missing),
            )

        checks = {
            "policy": lambda: engine.status().is_ready,
            "journal": lambda: journal.is_healthy,
            "audit": lambda: sink.is_healthy,
        }
        readiness = Readiness(checks, clock=self._machinery.clock, on_change=tell)
        stack.push_async_callback(readiness.stop)
        readiness.start()
        return readiness

    def _serving(self, listener: Listener, handlers: Handlers) -> Serving:
        if listener.identity is None:
            return Serving(listener=listener, handlers=[])
        return Serving(listener=listener, handlers=handlers.of(listener, self._edge(listener)))

    def _edge(self, listener: Listener) -> Edge:
        return Edge(
            listener=listener.name,
            authenticator=self._machinery.authenticators[listener.name],
            admission=self._admission,
            metrics=self._machinery.metrics,
            log=self._machinery.log,
        )

    async def _take_over(self, deployment: Deployment) -> tuple[str, ...]:
        """Swap to what was read, or say why not."""
        fixed = need_restart(self._current.settings, deployment.settings)
        if fixed:
            return tuple(f"{name} changed, which needs a restart; nothing was taken over" for name in fixed)
        machinery = self._machinery
        catalogue = deployment.catalogue
        against_policy = await machinery.policy_against(self._current.catalogue, catalogue)
        if problems := (*against_policy, *await machinery.vault_against(catalogue)):
            return problems
        self._swap(deployment)
        return ()

    def _swap(self, deployment: Deployment) -> None:
        assert self._services is not None
        before, pipeline = self._current.catalogue.digest, self._services.pipeline(deployment, self._limits)
        self._current.deployment, self._current.pipeline = deployment, pipeline
        self._admission.hold(_caller_rate(deployment.settings), deployment.settings.limits.max_in_flight)
        gc.freeze()
        self._machinery.log.event("reloaded", revision=deployment.catalogue.digest, before=before)

    async def _calls_over(self) -> None:
        """Also those whose caller left: gRPC knows nothing of them any more, but a write runs on to its end
        and needs journal and sink.
        """
        clock = self._machinery.clock
        while self._admission.in_flight and clock.monotonic() < self._drained_by:
            await clock.sleep(POLL_SECONDS)


def _admission(settings: Settings, limiter: Limiter) -> Admission:
    return Admission(take=limiter.take, rate=_caller_rate(settings), max_in_flight=settings.limits.max_in_flight)


def _caller_rate(settings: Settings) -> Rate:
    caller = settings.limits.caller
    return Rate(per_minute=caller.per_minute, burst=caller.burst)


def _settle_memory() -> None:
    """What was loaded stays: the collector need not walk ten thousand tools over and over under load."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
