"""Metrics of what a gateway keeps beside the calls: its store and what is owed to it, outcomes that nobody knows,
handles, artifacts, and where audit lines are handed on to.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from gateway.errors import Code, RefusedKind
from gateway.metrics.family import Family, Reading, Type, one

OTHER = "other"


class Sink(StrEnum):
    """Where lines are handed on to: the kinds of `audit.sinks`, but for the files that are always there."""

    STDOUT = "stdout"
    POSTGRESQL = "postgresql"
    OTLP = "otlp"


class CheckpointPlace(StrEnum):
    """Where checkpoints are kept."""

    FILES = "files"
    STORE = "store"
    OTHER = "other"


class DeedKind(StrEnum):
    """What people and trusted runtimes do: kinds of audit lines that tell of no call."""

    DECISION = "decision"
    RESOLUTION = "resolution"
    ADMIN = "admin"


_SINKS, _DEEDS = frozenset(map(str, Sink)), frozenset(map(str, DeedKind))
DEED_OUTCOMES = frozenset({"ok", "unknown"}) | frozenset(map(str, Code)) | frozenset(map(str, RefusedKind))

REGISTRY_REACHED = Family(
    "tollhouse_registry_reached", Type.GAUGE, (), "1 while the store was heard lately of what is changed and stopped."
)
REGISTRY_STALE = Family(
    "tollhouse_registry_stale_tenants",
    Type.GAUGE,
    (),
    "Tenants for whom nothing is written or sent, since what is stopped is not known for sure.",
)
STORE_OWED = Family(
    "tollhouse_store_owed",
    Type.GAUGE,
    ("part",),
    "Ends of effects and calls that the store has not heard of yet, by who has to tell it.",
)
CALLS_CLOSED = Family(
    "tollhouse_calls_closed_total",
    Type.COUNTER,
    ("whose",),
    "Calls that were cut off and had their line written here: own after a crash, or of others that are gone.",
)
LATE_LINES = Family(
    "tollhouse_audit_late_lines",
    Type.GAUGE,
    (),
    "Audit lines that wait until the store can tell whether another gateway has closed their call.",
)
DEEDS = Family(
    "tollhouse_deeds_total",
    Type.COUNTER,
    ("kind", "outcome"),
    "What people and trusted runtimes did, and the gateway for them, as its audit lines tell.",
)
UNKNOWN = Family(
    "tollhouse_outcomes_unknown",
    Type.GAUGE,
    (),
    "Effects of which nobody knows whether they happened, of all replicas, at the last look into the store.",
)
UNKNOWN_AGE = Family(
    "tollhouse_outcomes_unknown_seconds", Type.GAUGE, (), "Since the oldest of these was begun; 0 when there is none."
)
HANDLES_RUNNING = Family("tollhouse_handles_running", Type.GAUGE, (), "Calls that go on without their caller.")
WATCHERS = Family("tollhouse_watchers", Type.GAUGE, (), "Callers that follow a call now.")
ARTIFACT_BYTES = Family("tollhouse_artifact_bytes", Type.GAUGE, (), "What kept artifacts take on the disk.")
ARTIFACTS_DROPPED = Family(
    "tollhouse_artifacts_dropped_total",
    Type.COUNTER,
    (),
    "Artifacts that were not kept: over a quota, below the waterline, or since writing failed.",
)
SINK_UP = Family("tollhouse_audit_sink_up", Type.GAUGE, ("sink",), "1 while the sink takes audit lines.")
SINK_BEHIND = Family(
    "tollhouse_audit_sink_behind_lines", Type.GAUGE, ("sink",), "Durable audit lines that the sink does not have yet."
)
SINK_MISSED = Family(
    "tollhouse_audit_sink_missed_lines_total",
    Type.COUNTER,
    ("sink",),
    "Audit lines that did not fit in memory for the sink, and are read from the files for it.",
)
SINK_REJECTED = Family(
    "tollhouse_audit_sink_rejected_lines_total",
    Type.COUNTER,
    ("sink",),
    "Audit lines that the sink refused for good.",
)
CHECKPOINTS_FAILED = Family(
    "tollhouse_checkpoints_failed_total",
    Type.COUNTER,
    ("where",),
    "Checkpoints of the audit that could not be signed or kept.",
)

FAMILIES: tuple[Family, ...] = (
    REGISTRY_REACHED,
    REGISTRY_STALE,
    STORE_OWED,
    CALLS_CLOSED,
    LATE_LINES,
    DEEDS,
    UNKNOWN,
    UNKNOWN_AGE,
    HANDLES_RUNNING,
    WATCHERS,
    ARTIFACT_BYTES,
    ARTIFACTS_DROPPED,
    SINK_UP,
    SINK_BEHIND,
    SINK_MISSED,
    SINK_REJECTED,
    CHECKPOINTS_FAILED,
)
"""In the order of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerState:
    """What is known of registries and stops."""

    is_reached: bool
    stale_tenants: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """What the store has not heard yet, and what was written for those who could not."""

    keys_owed: int
    budgets_owed: int
    handles_owed: int
    own_closed: int
    """Calls of this gateway that a crash had cut off, before its start."""
    others_closed: int
    """Calls of gateways that are gone, since the start."""
    late_lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomesState:
    """Outcomes that nobody knows, over all tenants and replicas."""

    count: int
    oldest_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlesState:
    """Calls that can be asked for and followed."""

    running: int
    watchers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactsState:
    """What is kept of large results."""

    used_bytes: int
    dropped: int
    """Since the start."""


class SinkState(Protocol):
    """How a place stands that lines are handed on to: `gateway.audit.outlets.following.SinkStatus` is one."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def is_up(self) -> bool: ...  # noqa: D102
    @property
    def behind(self) -> int: ...  # noqa: D102
    @property
    def missed(self) -> int: ...  # noqa: D102
    @property
    def rejected(self) -> int: ...  # noqa: D102


def of_follower(state: FollowerState) -> Iterator[Reading]:
    """Registries and stops."""
    yield one(REGISTRY_REACHED, state.is_reached)
    yield one(REGISTRY_STALE, state.stale_tenants)


def of_store(state: StoreState) -> Iterator[Reading]:
    """What is owed, and what was closed."""
    owed = {"keys": state.keys_owed, "budgets": state.budgets_owed, "handles": state.handles_owed}
    yield STORE_OWED, [((part,), float(count)) for part, count in owed.items()]
    yield CALLS_CLOSED, [(("own",), float(state.own_closed)), (("others",), float(state.others_closed))]
    yield one(LATE_LINES, state.late_lines)


def of_deeds(counts: Mapping[tuple[str, str], int]) -> Iterator[Reading]:
    """Deeds by kind and outcome. Each kind is there from zero on, so that the first one is an increase."""
    shown = {(kind, "ok"): 0 for kind in sorted(_DEEDS)}
    for (kind, outcome), count in counts.items():
        known = (kind if kind in _DEEDS else OTHER, outcome if outcome in DEED_OUTCOMES else OTHER)
        shown[known] = shown.get(known, 0) + count
    yield DEEDS, [(labels, float(count)) for labels, count in shown.items()]


def of_outcomes(state: OutcomesState) -> Iterator[Reading]:
    """Outcomes that nobody knows."""
    yield one(UNKNOWN, state.count)
    yield one(UNKNOWN_AGE, state.oldest_seconds)


def of_handles(state: HandlesState) -> Iterator[Reading]:
    """Handles."""
    yield one(HANDLES_RUNNING, state.running)
    yield one(WATCHERS, state.watchers)


def of_artifacts(state: ArtifactsState) -> Iterator[Reading]:
    """Artifacts."""
    yield one(ARTIFACT_BYTES, state.used_bytes)
    yield one(ARTIFACTS_DROPPED, state.dropped)


def of_sinks(states: Iterable[SinkState]) -> Iterator[Reading]:
    """Those that the settings name; without any there is nothing to see."""
    known = [state for state in states if state.name in _SINKS]
    yield SINK_UP, [((state.name,), float(state.is_up)) for state in known]
    yield SINK_BEHIND, [((state.name,), float(state.behind)) for state in known]
    yield SINK_MISSED, [((state.name,), float(state.missed)) for state in known]
    yield SINK_REJECTED, [((state.name,), float(state.rejected)) for state in known]
