"""What is read at each scrape, through callables that the composition root hands in.

A callable returns at once and asks nobody. One that raises costs its own metrics for this scrape, and is counted.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.metrics import families as f
from gateway.metrics import upkeep
from gateway.metrics.events import EVENT_WATCHERS
from gateway.metrics.family import Family, Reading, Value, one

_MAX_TEXT = 128
"""The longest revision or digest that is shown."""
_ENGINES = frozenset({"embedded", "opa"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyState:
    """How the policy engine stands."""

    engine: str
    is_ready: bool
    revision: str
    """Empty while no policy is active."""
    age_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LimiterState:
    """How the shared limiter stands."""

    is_up: bool
    decided_while_down: Mapping[Any, int]
    """By rule and mode (see `Rule` and `WhenDown`), since the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultState:
    """How the vault stands."""

    is_up: bool
    token_seconds: float | None
    """Until its token ends; None when it does not, or there is none."""
    leases_held: int = 0
    """Leases that calls hold, or may get."""
    leases_to_revoke: int = 0
    """Leases that are over and not revoked yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditState:
    """How the audit stands."""

    is_healthy: bool
    written: int
    """Lines that became durable since the start."""
    owed: int
    """Lines that are not durable yet."""
    oldest_owed_seconds: float
    """How long the oldest of these has waited; 0 when there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauges:
    """Who is asked at a scrape. What is None is not part of this deployment, and has no metrics."""

    is_ready: Callable[[], bool] | None = None
    calls_in_flight: Callable[[], int] | None = None
    policy: Callable[[], PolicyState] | None = None
    limiter: Callable[[], LimiterState] | None = None
    vault: Callable[[], VaultState] | None = None
    key_set_ages: Callable[[], Mapping[str, float]] | None = None
    """By listener, in seconds."""
    breakers: Callable[[], Mapping[str, int]] | None = None
    """How many circuits are open, by adapter or backing service."""
    audit: Callable[[], AuditState] | None = None
    is_journal_healthy: Callable[[], bool] | None = None
    registry_digest: Callable[[], str] | None = None
    version: Callable[[], str] | None = None
    follower: Callable[[], upkeep.FollowerState] | None = None
    store: Callable[[], upkeep.StoreState] | None = None
    deeds: Callable[[], Mapping[tuple[str, str], int]] | None = None
    """How many there were, by kind and outcome."""
    outcomes: Callable[[], upkeep.OutcomesState] | None = None
    handles: Callable[[], upkeep.HandlesState] | None = None
    artifacts: Callable[[], upkeep.ArtifactsState] | None = None
    event_watchers: Callable[[], int] | None = None
    sinks: Callable[[], Iterable[upkeep.SinkState]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names that labels may take, as the deployment's settings and list of adapters have them."""

    listeners: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    """Adapters and backing services."""


def read(gauges: Gauges, names: Names, failed: Callable[[str], None]) -> Iterator[Reading]:
    """What every callable says now; `failed` hears the name of each that raised."""
    for part, describe in _DESCRIBED.items():
        source = getattr(gauges, part)
        if source is None:
            continue
        try:
            readings = list(describe(source(), names))
        except Exception:  # noqa: BLE001 - whatever is wrong with a part, the others are still shown
            failed(part)
        else:
            yield from readings


def _single(family: Family) -> Callable[[Any, Names], Iterator[Reading]]:
    def describe(value: float, _names: Names) -> Iterator[Reading]:
        yield one(family, value)

    return describe


def _info(family: Family) -> Callable[[Any, Names], Iterator[Reading]]:
    def describe(text: str, _names: Names) -> Iterator[Reading]:
        yield family, [((_text(text),), 1.0)]

    return describe


def _alone(describe: Callable[[Any], Iterator[Reading]]) -> Callable[[Any, Names], Iterator[Reading]]:
    return lambda state, _names: describe(state)


def _policy(state: PolicyState, _names: Names) -> Iterator[Reading]:
    yield one(f.POLICY_READY, state.is_ready)
    if not state.revision:
        return
    yield one(f.POLICY_AGE, state.age_seconds)
    engine = state.engine if state.engine in _ENGINES else f.OTHER
    yield f.POLICY_INFO, [((engine, _text(state.revision)), 1.0)]


def _limiter(state: LimiterState, _names: Names) -> Iterator[Reading]:
    yield one(f.LIMITER_UP, state.is_up)
    counts = {(str(rule), str(mode)): 0 for rule in f.Rule for mode in f.WhenDown}
    for (rule, mode), count in state.decided_while_down.items():
        if (rule, mode) in counts:
            counts[rule, mode] = count
    yield f.LIMITER_DOWN, [(key, float(count)) for key, count in counts.items()]


def _vault(state: VaultState, _names: Names) -> Iterator[Reading]:
    yield one(f.VAULT_UP, state.is_up)
    if state.token_seconds is not None:
        yield one(f.VAULT_TOKEN, state.token_seconds)
    yield f.VAULT_LEASES, [(("held",), float(state.leases_held)), (("to_revoke",), float(state.leases_to_revoke))]


def _audit(state: AuditState, _names: Names) -> Iterator[Reading]:
    yield one(f.AUDIT_HEALTHY, state.is_healthy)
    yield one(f.AUDIT_LINES, state.written)
    yield one(f.AUDIT_OWED, state.owed)
    yield one(f.AUDIT_LAG, state.oldest_owed_seconds)


def _key_set_ages(ages: Mapping[str, float], names: Names) -> Iterator[Reading]:
    yield f.KEY_SET_AGE, _among(ages, names.listeners)


def _breakers(circuits: Mapping[str, int], names: Names) -> Iterator[Reading]:
    yield f.BREAKER_OPEN, _among(circuits, names.parts)


_DESCRIBED: Mapping[str, Callable[[Any, Names], Iterator[Reading]]] = {
    "is_ready": _single(f.READY),
    "calls_in_flight": _single(f.IN_FLIGHT),
    "policy": _policy,
    "limiter": _limiter,
    "vault": _vault,
    "key_set_ages": _key_set_ages,
    "breakers": _breakers,
    "audit": _audit,
    "is_journal_healthy": _single(f.JOURNAL_HEALTHY),
    "registry_digest": _info(f.REGISTRY_INFO),
    "version": _info(f.BUILD_INFO),
    "follower": _alone(upkeep.of_follower),
    "store": _alone(upkeep.of_store),
    "deeds": _alone(upkeep.of_deeds),
    "outcomes": _alone(upkeep.of_outcomes),
    "handles": _alone(upkeep.of_handles),
    "artifacts": _alone(upkeep.of_artifacts),
    "event_watchers": _single(EVENT_WATCHERS),
    "sinks": _alone(upkeep.of_sinks),
}
"""By field of `Gauges`; these names are also the values of the label `part` of scrape errors."""


def _among(values: Mapping[str, float], names: Collection[str]) -> list[tuple[tuple[str, ...], Value]]:
    """Those with a name that is known, in order; anything else would be a label that nobody agreed to."""
    return [((name,), float(value)) for name, value in sorted(values.items()) if name in names]


def _text(text: str) -> str:
    """Text that a label can hold whole: revisions and digests come from files and bundles."""
    return "".join(each if each.isprintable() else "\ufffd" for each in text[:_MAX_TEXT])
