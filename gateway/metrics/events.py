"""Metrics of what vendors tell, and of who watches it."""

from enum import StrEnum

from gateway.metrics.family import Family, Type


class Received(StrEnum):
    """What became of a delivery."""

    KEPT = "kept"
    REPEATED = "repeated"
    GREETED = "greeted"
    IGNORED = "ignored"
    UNKNOWN = "unknown"
    UNSIGNED = "unsigned"
    FORGED = "forged"
    STALE = "stale"
    MALFORMED = "malformed"
    UNVERIFIABLE = "unverifiable"
    RATE = "rate"
    TOO_LARGE = "too_large"
    SLOW = "slow"
    WRONG = "wrong"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"


DELIVERIES = Family(
    "tollhouse_deliveries_total",
    Type.COUNTER,
    ("result",),
    "Deliveries of webhooks: kept, or why not.",
)
EVENTS_SENT = Family("tollhouse_events_sent_total", Type.COUNTER, (), "Events that went to those who watch.")
EVENT_WATCHERS = Family("tollhouse_event_watchers", Type.GAUGE, (), "Callers that watch events now.")

FAMILIES: tuple[Family, ...] = (DELIVERIES, EVENTS_SENT, EVENT_WATCHERS)
"""All of them, in the order of the page."""
