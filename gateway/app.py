"""The composition root: it chooses every part and wires them, with `judging` for policy and `secrecy` for secrets."""

import asyncio
import contextlib
import secrets
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from adapters.base import Adapter, Clock, Pauses, TokenStore
from adapters.installed import StdioCommand, build_adapters
from adapters.transport.pauses import MemoryPauses
from adapters.webhooks import Delivers, Webhooks
from gateway.arguments.schema import compile_schema
from gateway.background import end as end_task
from gateway.clients.http import HttpClient
from gateway.clients.redis import RedisClient
from gateway.clock import SystemClock
from gateway.credentials.late_tokens import LateTokens
from gateway.credentials.tokens import StoreTokens
from gateway.deployment import Current, Deployment, Machinery
from gateway.errors import StartError
from gateway.identity.base import Authenticator
from gateway.identity.fixed import FixedAuthenticator
from gateway.identity.jwks import KeySource
from gateway.identity.jwt import JwtAuthenticator
from gateway.identity.keys_file import FileKeys
from gateway.identity.keys_url import FETCH_SECONDS, UrlKeys
from gateway.identity.mtls import MtlsAuthenticator
from gateway.identity.principal import build_principal
from gateway.ids import CallIds
from gateway.judging import engine_of, policy_against, policy_events
from gateway.lifecycle import Gateway
from gateway.metrics.counts import Metrics
from gateway.policy.base import Engine
from gateway.ratelimit.base import Limiter
from gateway.ratelimit.memory import MemoryLimiter
from gateway.ratelimit.pauses import RedisPauses
from gateway.ratelimit.redis import RedisLimiter
from gateway.registry.accounts import Accounts
from gateway.registry.follower import RegistryFollower
from gateway.registry.loader import Loaded, load_registry
from gateway.registry.stops import Stops
from gateway.registry.stored import StoredRegistry
from gateway.secrecy import secrecy_of
from gateway.services import resolver_of
from gateway.settings.listeners import FixedIdentity, JwtIdentity, Listener, MtlsIdentity
from gateway.settings.load import Settings
from gateway.settings.mcp import StdioSettings
from gateway.store.database import Database
from gateway.telemetry import Log, configure
from gateway.telling import telling


def build_gateway(
    settings: Settings,
    *,
    clock: Clock | None = None,
    adapters: Mapping[str, Adapter] | None = None,
    engine: Engine | None = None,
    reread: Callable[[], Settings] | None = None,
    config: Path | None = None,
) -> Gateway:
    """A gateway of the parts that the settings name. `adapters` are added to the installed ones, and `engine`
    takes the place of the policy; both are for tests and benchmarks. `reread` gives the settings as they are
    when they are to be taken over, and `config` is the file that they come from. Raises `StartError` with every
    problem.
    """
    clock = clock or SystemClock()
    log = configure(settings.log_level, sys.stderr)
    pauses, tokens = _pauses(settings, clock), LateTokens()
    every_adapter = {**install_adapters(settings, clock, pauses=pauses, tokens=tokens), **(adapters or {})}
    store = _store(settings, every_adapter, clock, log)

    def read() -> Deployment:
        return _deployment(reread() if reread is not None else settings, every_adapter, config, store)

    current = Current(_deployment(settings, every_adapter, config, store))
    machinery = _machinery(current, every_adapter, read, store, engine=engine, clock=clock, log=log)
    tokens.bind(_tokens(current, machinery))
    shared = (pauses, tokens) if isinstance(pauses, RedisPauses) else (tokens,)
    return Gateway(current, replace(machinery, startable=(*machinery.startable, *shared)))


async def run(
    settings: Settings,
    on_ready: Callable[[Gateway], None],
    *,
    reread: Callable[[], Settings] | None = None,
    config: Path | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then drain; SIGHUP has settings and registry read again. Raises `StartError`."""
    ending, hurry = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        """The first signal begins the end, the second one hurries it."""
        (hurry if ending.is_set() else ending).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    loop.add_signal_handler(signal.SIGHUP, _not_yet)
    gateway = build_gateway(settings, reread=reread, config=config)
    loop.add_signal_handler(signal.SIGHUP, gateway.reload_soon)
    try:
        if await _is_started(gateway, ending):
            on_ready(gateway)
            await ending.wait()
            with contextlib.suppress(TimeoutError):  # a second signal ends the delay, as its end does
                await asyncio.wait_for(hurry.wait(), gateway.drain())
    finally:
        await gateway.stop()


def _not_yet() -> None:
    """SIGHUP while settings and registry are read anyway. Without a handler it would end the process."""


async def _is_started(gateway: Gateway, ending: asyncio.Event) -> bool:
    """Start it. False when it is to end before that is done: a start waits for others, and an end must not wait for
    it. Raises `StartError`.
    """
    starting, told = asyncio.create_task(gateway.start()), asyncio.create_task(ending.wait())
    try:
        await asyncio.wait((starting, told), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            await starting
    finally:
        await end_task(told)
        await end_task(starting)
    return not starting.cancelled() and starting.exception() is None


def install_adapters(
    settings: Settings, clock: Clock, *, pauses: Pauses | None = None, tokens: TokenStore | None = None
) -> dict[str, Adapter]:
    """Every installed adapter, within the network that the settings allow. What they share with other replicas is in
    memory when it is left out. Raises `StartError` for certificates that cannot be used.
    """
    try:
        return build_adapters(
            clock,
            private_targets=settings.network.private_targets,
            pauses=pauses,
            tokens=tokens,
            commands={name: _command(one) for name, one in settings.mcp.stdio.items()},
            authorities=settings.network.ca_file.read_bytes() if settings.network.ca_file is not None else b"",
        )
    except OSError as error:
        message = f"the certificates in {settings.network.ca_file} cannot be read: {error.strerror}"
        raise StartError(f"{message}; correct network.ca_file") from error
    except ValueError as error:
        raise StartError(f"network.ca_file cannot be used: {error}") from error


def _command(one: StdioSettings) -> StdioCommand:
    return StdioCommand(argv=one.command, uid=one.uid, gid=one.gid, folder=str(one.folder), tenants=one.tenants)


def webhooks_of(adapters: Mapping[str, Adapter]) -> dict[str, Webhooks]:
    """Those of the vendors that have some."""
    return {name: adapter.webhooks for name, adapter in adapters.items() if isinstance(adapter, Delivers)}


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
        # 1. An adapter of a test has no package.  2. What makes its operations of people's rows brings none of its own.
        with contextlib.suppress(ModuleNotFoundError, FileNotFoundError):
            file = resources.files(f"adapters.{name}") / "tools.yaml"
            rows[f"adapters/{name}/tools.yaml"] = file.read_text("utf-8")
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Store:
    """The database, and the registry that may be in it."""

    database: Database
    follower: RegistryFollower
    registry: StoredRegistry


def _store(settings: Settings, adapters: Mapping[str, Adapter], clock: Clock, log: Log) -> _Store:
    database = Database(settings.database, clock)
    follower = RegistryFollower(
        database,
        clock=clock,
        stops=Stops(),
        max_stale_seconds=settings.registry.max_stale_seconds,
        on_event=telling(log),
    )
    registry = StoredRegistry(adapters=adapters, compile_schema=compile_schema, builtin=built_in_rows(adapters))
    return _Store(database=database, follower=follower, registry=registry)


def _deployment(settings: Settings, adapters: Mapping[str, Adapter], config: Path | None, store: _Store) -> Deployment:
    """The settings with the registry that they name. Raises `StartError` with every problem of manifests; rows of
    the store always give a registry, in which a tenant whose rows have a problem is as it was.
    """
    is_stored = settings.registry.source == "store"
    loaded = store.registry.load(store.follower.rows, settings) if is_stored else load_rows(settings, adapters)
    problems = tuple(str(problem) for problem in loaded.problems if not problem.is_warning)
    if loaded.catalogue is None:
        raise StartError("the registry does not load, so no tool can be called; correct what is listed", problems)
    files = (*settings.registry.paths, *((config,) if config is not None else ()))
    return Deployment(
        settings=settings, catalogue=loaded.catalogue, files=files, problems=problems if is_stored else ()
    )


def _machinery(  # noqa: PLR0913 - what the root has made so far
    current: Current,
    adapters: Mapping[str, Adapter],
    read: Callable[[], Deployment],
    store: _Store,
    *,
    engine: Engine | None,
    clock: Clock,
    log: Log,
) -> Machinery:
    """Every part that lives as long as the process."""
    settings = current.settings
    metrics = Metrics(listeners=[listener.name for listener in settings.listeners if listener.identity is not None])
    policy = engine or engine_of(current, adapters, clock, policy_events(log, metrics))
    limiter = _limiter(settings, clock)
    secrecy = secrecy_of(settings, clock, log)
    authenticators = {
        listener.name: _authenticator(listener, clock, log)
        for listener in settings.listeners
        if listener.identity is not None
    }
    return Machinery(
        adapters=adapters,
        engine=policy,
        limiter=limiter,
        caller_limiter=MemoryLimiter(clock.monotonic),
        database=store.database,
        follower=store.follower,
        registry=store.registry,
        webhooks=webhooks_of(adapters),
        seal=secrecy.seal,
        signer=secrecy.signer,
        assertions=secrecy.assertions,
        sources=secrecy.sources,
        lenders=secrecy.lenders,
        vault=secrecy.vault,
        authenticators=authenticators,
        startable=(policy, limiter, *secrecy.startable, *authenticators.values()),
        metrics=metrics,
        clock=clock,
        log=log,
        new_id=CallIds(clock.now),
        new_secret_id=lambda: secrets.token_urlsafe(18),
        read=read,
        policy_against=lambda before, after: policy_against(before, after, policy, adapters),
        vault_against=secrecy.against,
    )


def _limiter(settings: Settings, clock: Clock) -> Limiter:
    if settings.limits.redis is not None:
        redis = settings.limits.redis
        return RedisLimiter(RedisClient(redis, clock.monotonic), clock, prefix=redis.prefix)
    return MemoryLimiter(clock.monotonic)


def _pauses(settings: Settings, clock: Clock) -> RedisPauses | MemoryPauses:
    """Until when vendors are left alone: by every replica, where there is a Redis."""
    local, redis = MemoryPauses(clock), settings.limits.redis
    if redis is None:
        return local
    return RedisPauses(RedisClient(redis, clock.monotonic), local, clock, prefix=redis.prefix)


def _tokens(current: Current, machinery: Machinery) -> StoreTokens:
    """Access tokens, which all replicas of a store share."""
    return StoreTokens(
        machinery.database,
        machinery.seal,
        lambda: resolver_of(current.settings, machinery),
        Accounts(lambda: current.catalogue).find,
        clock=machinery.clock,
        on_event=telling(machinery.log),
    )


def _authenticator(listener: Listener, clock: Clock, log: Log) -> Authenticator:
    identity = listener.identity
    assert identity is not None
    if isinstance(identity, JwtIdentity):
        return JwtAuthenticator(identity, _keys(identity, clock, log), clock)
    if isinstance(identity, MtlsIdentity):
        return MtlsAuthenticator(identity, clock)
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


def _keys(identity: JwtIdentity, clock: Clock, log: Log) -> KeySource:
    if identity.jwks_file is not None:
        return FileKeys(identity.jwks_file, clock.monotonic)
    http = HttpClient(ca_file=identity.jwks_ca_file, timeout_seconds=FETCH_SECONDS)
    return UrlKeys(identity, http, clock, telling(log))
