"""What metrics show of a running gateway beside what they count."""

import importlib.metadata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from adapters.base import Adapter
from gateway.admission import Admission
from gateway.audit.open import Audit
from gateway.auditing import Auditing
from gateway.identity.base import Authenticator
from gateway.metrics.counts import Metrics
from gateway.metrics.exposition import Exposition
from gateway.metrics.gauges import AuditState, Gauges, LimiterState, Names, PolicyState, VaultState
from gateway.metrics.upkeep import ArtifactsState, FollowerState, HandlesState, OutcomesState, StoreState
from gateway.policy.base import Engine
from gateway.ratelimit.base import Limiter
from gateway.ratelimit.limits import Limits
from gateway.readiness import Readiness
from gateway.services import Services
from gateway.state import State

BACKINGS = frozenset({"opa", "redis", "vault"})
"""The backing services that a circuit can be open to, beside the adapters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The parts of one gateway that are looked at."""

    metrics: Metrics
    readiness: Readiness
    admission: Admission
    state: State
    services: Services
    auditing: Auditing
    engine: Engine
    limiter: Limiter
    limits: Limits
    vault: Callable[[], VaultState] | None
    authenticators: Mapping[str, Authenticator]
    """By listener."""
    key_sets: frozenset[str]
    """The listeners that take tokens, whose keys can age."""
    adapters: Mapping[str, Adapter]
    registry_digest: Callable[[], str]
    tenants: Callable[[], Collection[str]]
    """Those that are known by name."""


def exposition_of(watched: Watched) -> Exposition:
    """All of it, as Prometheus reads it."""
    services, audit, events = watched.services, watched.state.audit, watched.services.events
    gauges = Gauges(
        is_ready=lambda: watched.readiness.is_ready,
        calls_in_flight=lambda: watched.admission.in_flight,
        policy=lambda: _policy(watched.engine),
        limiter=lambda: LimiterState(is_up=watched.limiter.status().is_up, decided_while_down=watched.limits.counts),
        vault=watched.vault,
        key_set_ages=lambda: {
            name: one.status().age_seconds for name, one in watched.authenticators.items() if name in watched.key_sets
        },
        breakers=lambda: _breakers(watched),
        audit=lambda: _audit(audit),
        is_journal_healthy=lambda: audit.journal.is_healthy,
        registry_digest=watched.registry_digest,
        version=lambda: importlib.metadata.version("tollhouse"),
        follower=lambda: _follower(watched),
        store=lambda: _store(watched.state, services),
        deeds=lambda: services.deeds.counts,
        outcomes=lambda: _outcomes(services),
        handles=lambda: HandlesState(running=services.handles.running, watchers=services.handles.watchers),
        artifacts=lambda: ArtifactsState(used_bytes=services.artifacts.used_bytes, dropped=services.artifacts.dropped),
        sinks=watched.auditing.sinks,
        event_watchers=(lambda: events.watching.open) if events is not None else None,
    )
    names = Names(listeners=frozenset(watched.authenticators), parts=BACKINGS | frozenset(watched.adapters))
    return Exposition(watched.metrics, gauges, names)


def _policy(engine: Engine) -> PolicyState:
    status = engine.status()
    return PolicyState(
        engine=engine.name, is_ready=status.is_ready, revision=status.revision, age_seconds=status.age_seconds
    )


def _audit(audit: Audit) -> AuditState:
    owed, oldest_seconds = audit.sink.owed()
    return AuditState(
        is_healthy=audit.sink.is_healthy, written=audit.sink.written, owed=owed, oldest_owed_seconds=oldest_seconds
    )


def _follower(watched: Watched) -> FollowerState:
    follower = watched.services.follower
    tenants = {*watched.tenants(), *follower.rows}
    stale = sum(not follower.is_fresh(tenant) for tenant in tenants)
    return FollowerState(is_reached=follower.is_reached, stale_tenants=stale)


def _store(state: State, services: Services) -> StoreState:
    return StoreState(
        keys_owed=state.keys.owed,
        budgets_owed=services.budget.owed,
        handles_owed=services.handles.owed,
        own_closed=state.recovered,
        others_closed=state.aftermath.closed,
        late_lines=state.late.waiting,
    )


def _outcomes(services: Services) -> OutcomesState:
    unresolved = services.reconciler.status()
    return OutcomesState(count=unresolved.count, oldest_seconds=unresolved.oldest_seconds)


def _breakers(watched: Watched) -> dict[str, int]:
    """Circuits that are open, by who is left alone."""
    adapters = {name: adapter.open_circuits for name, adapter in watched.adapters.items()}
    vault = watched.vault() if watched.vault is not None else None
    return {
        **adapters,
        "redis": int(not watched.limiter.status().is_up),
        "opa": int(watched.engine.status().is_open),
        "vault": int(vault is not None and not vault.is_up),
    }
