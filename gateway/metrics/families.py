"""Every metric that there is: its name, its labels and what it tells. `docs/metrics.md` holds the same table.

Labels are closed sets, written down here or handed in by the deployment's settings. What a caller chooses, or what
belongs to a tenant, is never one: it would grow without end, and tell of tools that its reader may not see.
"""

from enum import StrEnum

from gateway.call import Step
from gateway.errors import Code, Reason
from gateway.metrics import events, upkeep
from gateway.metrics.family import Family, Type

OTHER = upkeep.OTHER
"""What a value becomes that is not in its set: a fault of ours, and no reason to grow."""
DONE = "done"
"""The step of a call that no step ended."""

STEPS = frozenset(Step)
OUTCOMES = frozenset({"ok", "pending", "cancelled", "unknown"}) | frozenset(map(str, Code))
REASONS = frozenset({""}) | frozenset(map(str, Reason))


class Kind(StrEnum):
    """What a line tells of: the same words as `gateway.audit.base.LineKind`."""

    CALL = "call"
    EXPLAIN = "explain"
    EXECUTION = "execution"
    DECISION = "decision"
    RESOLUTION = "resolution"
    ADMIN = "admin"


class TurnedAway(StrEnum):
    """Why a request never became a call."""

    OVERLOADED = "overloaded"
    DRAINING = "draining"
    UNREADABLE = "unreadable"
    CALLER_RATE = "caller_rate"
    LIMITER_UNAVAILABLE = "limiter_unavailable"
    JOURNAL_UNAVAILABLE = "journal_unavailable"
    AUDIT_UNAVAILABLE = "audit_unavailable"
    OTHER = "other"


class Reloaded(StrEnum):
    """What can change while the gateway runs."""

    SETTINGS = "settings"
    REGISTRY = "registry"
    POLICY = "policy"
    CERTIFICATES = "certificates"
    OTHER = "other"


class Scrape(StrEnum):
    """How a request to the metrics listener ended."""

    OK = "ok"
    UNAUTHENTICATED = "unauthenticated"
    WRONG = "wrong"
    FAILED = "failed"


class Rule(StrEnum):
    """The rates that a shared limiter counts: the words of the setting `limits.when_down`."""

    TENANT = "tenant"
    AGENT = "agent"
    TOOL = "tool"
    CONNECTION = "connection"
    POLICY = "policy"


class WhenDown(StrEnum):
    """What became of a decision while the limiter was down."""

    CLOSED = "closed"
    OPEN = "open"
    LOCAL = "local"


CALLS = Family(
    "tollhouse_calls_total",
    Type.COUNTER,
    ("kind", "outcome", "reason", "step"),
    "Calls that ended, as their audit lines tell; step is the one that ended the call, or done.",
)
CALL_SECONDS = Family(
    "tollhouse_call_duration_seconds",
    Type.HISTOGRAM,
    ("kind", "outcome"),
    "From the begin of a call to its line, without the time to make the line durable.",
)
STEP_SECONDS = Family(
    "tollhouse_step_duration_seconds",
    Type.HISTOGRAM,
    ("step",),
    "What each step took; audit is the time to make the line durable.",
)
REPLAYS = Family("tollhouse_replays_total", Type.COUNTER, (), "Calls that were answered with a first result again.")
WITHHELD = Family(
    "tollhouse_answers_withheld_total",
    Type.COUNTER,
    (),
    "Answers that did not leave, since their line could not be made durable in time.",
)
UNAUTHENTICATED = Family(
    "tollhouse_unauthenticated_total", Type.COUNTER, ("listener",), "Requests without a valid proof of identity."
)
TURNED_AWAY = Family("tollhouse_turned_away_total", Type.COUNTER, ("why",), "Requests that never became a call.")
RELOADS = Family(
    "tollhouse_reloads_total",
    Type.COUNTER,
    ("what", "result"),
    "Changes that were noticed: taken over (ok), or refused (failed) so that the former stays in use.",
)
SCRAPES = Family("tollhouse_scrapes_total", Type.COUNTER, ("result",), "Requests to the metrics listener.")
SCRAPE_ERRORS = Family(
    "tollhouse_scrape_errors_total",
    Type.COUNTER,
    ("part",),
    "Parts that could not be read for a scrape; their metrics are missing from it.",
)
LOOP_LAG = Family(
    "tollhouse_event_loop_lag_seconds",
    Type.HISTOGRAM,
    (),
    "How late the event loop was for what was due, looked at four times a second.",
)
READY = Family("tollhouse_ready", Type.GAUGE, (), "1 while calls are answered.")
IN_FLIGHT = Family("tollhouse_calls_in_flight", Type.GAUGE, (), "Requests that are being worked on.")
POLICY_READY = Family("tollhouse_policy_ready", Type.GAUGE, (), "1 while the policy engine would decide the next call.")
POLICY_AGE = Family(
    "tollhouse_policy_age_seconds",
    Type.GAUGE,
    (),
    "Since the active policy was last known to be the newest; missing while none is active.",
)
POLICY_INFO = Family(
    "tollhouse_policy_info", Type.INFO, ("engine", "revision"), "The engine and the revision that is active now."
)
LIMITER_UP = Family("tollhouse_limiter_up", Type.GAUGE, (), "1 while the shared limiter answers.")
LIMITER_DOWN = Family(
    "tollhouse_limiter_decisions_while_down_total",
    Type.COUNTER,
    ("rule", "mode"),
    "Rates that were decided without the shared limiter: refused (closed), let pass (open), counted here (local).",
)
VAULT_UP = Family("tollhouse_vault_up", Type.GAUGE, (), "1 while the vault answers.")
VAULT_TOKEN = Family(
    "tollhouse_vault_token_seconds", Type.GAUGE, (), "Until the vault's token ends; missing when it does not."
)
VAULT_LEASES = Family(
    "tollhouse_vault_leases",
    Type.GAUGE,
    ("state",),
    "Leases of credentials: held by calls or for them, and over but not revoked yet.",
)
KEY_SET_AGE = Family(
    "tollhouse_key_set_age_seconds",
    Type.GAUGE,
    ("listener",),
    "Since the issuer's key set was last read, for listeners that take tokens.",
)
BREAKER_OPEN = Family(
    "tollhouse_breaker_open",
    Type.GAUGE,
    ("part",),
    "Circuits that are open: of an adapter one for each host that fails, of a backing service at most one.",
)
AUDIT_HEALTHY = Family("tollhouse_audit_healthy", Type.GAUGE, (), "1 while audit lines can be written.")
AUDIT_LINES = Family("tollhouse_audit_lines_total", Type.COUNTER, (), "Audit lines that are durable.")
AUDIT_OWED = Family("tollhouse_audit_owed_lines", Type.GAUGE, (), "Audit lines that wait to be durable.")
AUDIT_LAG = Family(
    "tollhouse_audit_lag_seconds", Type.GAUGE, (), "How long the oldest owed line has waited; 0 when none is owed."
)
JOURNAL_HEALTHY = Family("tollhouse_journal_healthy", Type.GAUGE, (), "1 while the journal can be written.")
REGISTRY_INFO = Family("tollhouse_registry_info", Type.INFO, ("digest",), "The registry that holds now.")
BUILD_INFO = Family("tollhouse_build_info", Type.INFO, ("version",), "The version that runs.")

FAMILIES: tuple[Family, ...] = (
    CALLS,
    CALL_SECONDS,
    STEP_SECONDS,
    IN_FLIGHT,
    REPLAYS,
    WITHHELD,
    UNAUTHENTICATED,
    TURNED_AWAY,
    READY,
    POLICY_READY,
    POLICY_AGE,
    POLICY_INFO,
    LIMITER_UP,
    LIMITER_DOWN,
    VAULT_UP,
    VAULT_TOKEN,
    VAULT_LEASES,
    KEY_SET_AGE,
    BREAKER_OPEN,
    AUDIT_HEALTHY,
    AUDIT_LINES,
    AUDIT_OWED,
    AUDIT_LAG,
    JOURNAL_HEALTHY,
    *upkeep.FAMILIES,
    *events.FAMILIES,
    REGISTRY_INFO,
    BUILD_INFO,
    RELOADS,
    SCRAPES,
    SCRAPE_ERRORS,
    LOOP_LAG,
)
"""All of them, in the order of the page."""
