"""The composition root: the only file that chooses implementations and wires them."""

import asyncio
import contextlib
import gc
import os
import secrets
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from adapters.base import Adapter, Clock
from adapters.installed import build_adapters
from gateway.admission import Admission
from gateway.approvals.parking import Parking
from gateway.arguments.schema import compile_schema
from gateway.audit.open import Audit, open_audit
from gateway.clock import SystemClock
from gateway.credentials.base import Source
from gateway.credentials.env import EnvSource
from gateway.credentials.file import FileSource
from gateway.credentials.resolver import Resolver
from gateway.errors import StartError
from gateway.idempotency.journal import JournalKeys
from gateway.identity.base import Authenticator
from gateway.identity.fixed import FixedAuthenticator
from gateway.identity.jwt import JwtAuthenticator
from gateway.identity.principal import build_principal
from gateway.pipeline import Parts, Pipeline
from gateway.policy.base import Engine
from gateway.policy.candidate import Trials
from gateway.policy.reload import ReloadingEngine
from gateway.policy.timing import timing_documents
from gateway.ratelimit.limits import Limits
from gateway.ratelimit.memory import MemoryLimiter
from gateway.registry.catalogue import Catalogue
from gateway.registry.loader import Loaded, load_registry
from gateway.rows import Agent, Connection, Rate, Tool
from gateway.server import Server, Serving
from gateway.settings.listeners import FixedIdentity, JwtIdentity, Listener, Service
from gateway.settings.load import Settings
from gateway.surfaces.grpc import ToolService
from gateway.telemetry import Log, configure

LAST_LINES_SECONDS = 1.0
"""After the drain: how long calls that were cut off may take to write their lines."""
POLL_SECONDS = 0.02

GC_THRESHOLDS = (10_000, 20, 50)
"""A call makes some hundred objects and nearly no cycles; the defaults would look for them every other call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """A listener, as a person is told of it."""

    name: str
    address: str
    services: tuple[str, ...]
    identity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a running gateway is, for the screen."""

    listeners: tuple[Listening, ...]
    policy_engine: str
    policy_revision: str
    policy_paths: tuple[Path, ...]
    tools: tuple[Tool, ...]
    agents: tuple[Agent, ...]
    connections: tuple[Connection, ...]
    state_dir: Path
    recovered_calls: int


class Gateway:
    """Everything that one process runs. `start` it on the loop that it shall live on, then `stop` it."""

    def __init__(
        self,
        *,
        settings: Settings,
        adapters: Mapping[str, Adapter],
        catalogue: Catalogue,
        engine: Engine,
        clock: Clock,
        log: Log,
    ) -> None:
        self._settings = settings
        self._adapters = adapters
        self._catalogue = catalogue
        self._engine = engine
        self._clock = clock
        self._log = log
        self._audit: Audit | None = None
        self._server: Server | None = None
        self._admission: Admission | None = None

    async def start(self) -> None:
        """Policy, state, then listeners: nothing is answered before everything is there. Raises `StartError`."""
        try:
            await self._start_engine()
            await self._start_serving()
            _settle_memory()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Let calls in flight finish, then let go of everything. Calling it twice is harmless."""
        try:
            if self._server is not None:
                server, self._server = self._server, None
                until = self._clock.monotonic() + self._settings.server.drain_seconds + LAST_LINES_SECONDS
                await server.stop()
                await self._calls_over(until)
            if isinstance(self._engine, ReloadingEngine):
                await self._engine.stop()
            for adapter in self._adapters.values():
                await adapter.close()
        finally:
            if self._audit is not None:
                audit, self._audit = self._audit, None
                await audit.close()

    async def _calls_over(self, until: float) -> None:
        """Also those whose caller left: gRPC knows nothing of them any more, but a write runs on to its end
        and needs journal and sink.
        """
        while self._admission is not None and self._admission.in_flight and self._clock.monotonic() < until:
            await self._clock.sleep(POLL_SECONDS)

    def describe(self) -> Description:
        """What is running."""
        return Description(
            listeners=tuple(self._listening(listener) for listener in self._settings.listeners),
            policy_engine=self._engine.name,
            policy_revision=self._engine.revision,
            policy_paths=policy_paths(self._settings),
            tools=self._catalogue.tools,
            agents=tuple(agent for agent, _ in self._catalogue.agents.values()),
            connections=self._catalogue.connections,
            state_dir=self._settings.state_dir,
            recovered_calls=self._audit.recovered if self._audit else 0,
        )

    def _listening(self, listener: Listener) -> Listening:
        address = self._server.addresses.get(listener.name) if self._server else None
        return Listening(
            name=listener.name,
            address=address or listener.address,
            services=tuple(service.value for service in listener.services),
            identity=_identity_words(listener),
        )

    async def _start_engine(self) -> None:
        if not isinstance(self._engine, ReloadingEngine):
            return
        await self._engine.start()
        if not self._engine.is_loaded:
            problems = tuple(map(str, self._engine.problems))
            raise StartError("the policy does not load, so nothing may run; correct what is listed", problems)

    async def _start_serving(self) -> None:
        settings = self._settings
        limiter = MemoryLimiter(self._clock.monotonic)
        caller = settings.limits.caller
        self._admission = admission = Admission(
            take=limiter.take,
            rate=Rate(per_minute=caller.per_minute, burst=caller.burst),
            max_in_flight=settings.limits.max_in_flight,
        )
        self._audit = open_audit(settings.state_dir, settings.audit, self._clock, admission.active)
        pipeline = self._pipeline(admission, self._audit, limiter)
        servings = [self._serving(listener, pipeline, admission) for listener in settings.listeners]
        server = Server(servings, settings.server)
        await server.start()
        self._server = server

    def _pipeline(self, admission: Admission, audit: Audit, limiter: MemoryLimiter) -> Pipeline:
        settings, clock = self._settings, self._clock
        sources: dict[str, Source] = {"env": EnvSource(os.environ), "file": FileSource(clock.monotonic)}
        return Pipeline(
            Parts(
                admission=admission,
                journal=audit.journal,
                sink=audit.sink,
                catalogue=lambda: self._catalogue,
                keys=JournalKeys(audit.journal, clock=clock, remembered=audit.key_records),
                engine=self._engine,
                approvals=Parking(),
                limits=Limits(limiter, settings.limits),
                credentials=Resolver(sources, settings.credentials),
                clock=clock,
                new_id=CallIds(clock.now),
                max_argument_bytes=settings.arguments.max_bytes,
                max_call_seconds=settings.server.max_call_seconds,
            )
        )

    def _serving(self, listener: Listener, pipeline: Pipeline, admission: Admission) -> Serving:
        """What the listener names, and nothing else."""
        services = {
            Service.TOOL: ToolService(
                pipeline=pipeline,
                admission=admission,
                catalogue=lambda: self._catalogue,
                authenticator=_authenticator(listener, self._clock),
                log=self._log,
            )
        }
        return Serving(listener=listener, handlers=[services[service].handler() for service in listener.services])


def build_gateway(
    settings: Settings,
    *,
    clock: Clock | None = None,
    adapters: Mapping[str, Adapter] | None = None,
    engine: Engine | None = None,
) -> Gateway:
    """A gateway of the real parts. `adapters` are added to the installed ones, and `engine` takes the place
    of the embedded policy; both are for tests and benchmarks. Raises `StartError` with every problem.
    """
    clock = clock or SystemClock()
    log = configure(settings.log_level, sys.stderr)
    every_adapter = {**install_adapters(settings, clock), **(adapters or {})}
    loaded = load_rows(settings, every_adapter)
    if loaded.catalogue is None:
        problems = tuple(str(problem) for problem in loaded.problems if not problem.is_warning)
        raise StartError("the registry does not load, so no tool can be called; correct what is listed", problems)
    return Gateway(
        settings=settings,
        adapters=every_adapter,
        catalogue=loaded.catalogue,
        engine=engine or _embedded(settings, loaded.catalogue, every_adapter, clock, log),
        clock=clock,
        log=log,
    )


async def run(settings: Settings, on_ready: Callable[[Gateway], None]) -> None:
    """Serve until SIGTERM or SIGINT, then drain. Raises `StartError`."""
    gateway = build_gateway(settings)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await gateway.start()
    try:
        on_ready(gateway)
        await stopping.wait()
    finally:
        await gateway.stop()


def install_adapters(settings: Settings, clock: Clock) -> dict[str, Adapter]:
    """Every installed adapter, within the network that the settings allow."""
    return build_adapters(clock, private_targets=settings.network.private_targets)


def load_rows(settings: Settings, adapters: Mapping[str, Adapter]) -> Loaded:
    """The registry that the settings name, or what the adapters bring when they name none."""
    paths = settings.registry.paths
    return load_registry(
        paths,
        adapters=adapters,
        settings=settings,
        compile_schema=compile_schema,
        builtin={} if paths else built_in_rows(adapters),
    )


def built_in_rows(adapters: Mapping[str, Adapter]) -> dict[str, str]:
    """The rows that installed adapters bring, by the name that problems give them."""
    rows = {}
    for name in adapters:
        with contextlib.suppress(ModuleNotFoundError):  # an adapter of a test has no package
            file = resources.files(f"adapters.{name}") / "tools.yaml"
            rows[f"adapters/{name}/tools.yaml"] = file.read_text("utf-8")
    return rows


def policy_paths(settings: Settings) -> tuple[Path, ...]:
    """The folders that decide: those of the settings, or the built-in pack."""
    return settings.policy.paths or (default_pack(),)


def default_pack() -> Path:
    """The built-in pack: inside the package when installed from a wheel, `policies/base/` in a source tree."""
    package = Path(str(resources.files("gateway.policy")))
    in_wheel, in_tree = package / "default", package.parent.parent / "policies" / "base"
    return in_wheel if in_wheel.is_dir() else in_tree


def _settle_memory() -> None:
    """What was loaded stays: the collector need not walk ten thousand tools over and over under load."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


class CallIds:
    """Ids that sort by time: 48 bits of milliseconds and 80 of chance, in hex (as in RFC 9562, 5.7)."""

    _TAKEN, _STORED = 10, 4096

    def __init__(self, now: Callable[[], float], chance: Callable[[int], bytes] = secrets.token_bytes) -> None:
        self._now = now
        self._chance = chance
        self._store = b""
        self._at = 0

    def __call__(self) -> str:
        """A new id. Chance is drawn in bulk: a system call for each would cost more than the rest."""
        if self._at + self._TAKEN > len(self._store):
            self._store, self._at = self._chance(self._STORED), 0
        start, self._at = self._at, self._at + self._TAKEN
        return f"{int(self._now() * 1000):012x}{self._store[start : self._at].hex()}"


def _embedded(
    settings: Settings, catalogue: Catalogue, adapters: Mapping[str, Adapter], clock: Clock, log: Log
) -> ReloadingEngine:
    agents = tuple(agent for agent, _ in catalogue.agents.values())

    def prepare(tool: Tool, arguments: dict[str, Any]) -> Mapping[str, Any]:
        return adapters[tool.binding.adapter].operations[tool.binding.operation].prepare(arguments)

    trials = Trials(
        max_ms=settings.policy.max_decision_ms,
        documents=lambda: timing_documents(catalogue.tools, agents, prepare),
    )
    return ReloadingEngine(
        policy_paths(settings),
        clock=clock,
        try_out=trials,
        reload_seconds=settings.policy.reload_seconds,
        on_event=lambda name, fields: _log_policy(log, name, fields),
    )


def _log_policy(log: Log, name: str, fields: Mapping[str, str]) -> None:
    """What became of the policy; its problems name files and rules and hold nothing of a call."""
    words = {"problem" if key == "error" else key: value for key, value in fields.items()}
    log.event(name, "info" if name == "policy_activated" else "error", **words)


def _authenticator(listener: Listener, clock: Clock) -> Authenticator:
    identity = listener.identity
    if isinstance(identity, JwtIdentity):
        return JwtAuthenticator(identity, clock)
    principal = build_principal(
        tenant=identity.tenant,
        id=identity.principal or identity.agent,
        kind=identity.principal_kind,
        agent=identity.agent,
        scopes=frozenset(identity.scopes),
        roles=frozenset(identity.roles),
        claims={},
        proof="socket" if isinstance(identity, FixedIdentity) else "none",
    )
    return FixedAuthenticator(principal)


def _identity_words(listener: Listener) -> str:
    identity = listener.identity
    if isinstance(identity, JwtIdentity):
        return f"tokens of {identity.issuer}"
    if isinstance(identity, FixedIdentity):
        return f"agent {identity.agent} of {identity.tenant} (whoever can open the socket)"
    return f"agent {identity.agent} of {identity.tenant} (anybody on this machine)"
