"""What PostHog's insights come to, by kind."""

from collections.abc import Mapping
from typing import Any

from adapters.posthog.answers import Json, number, shown, text
from adapters.transport.values import mappings

MOST_SERIES = 50
MOST_POINTS = 1000
MOST_ROWS = 100
_KINDS: Mapping[str, str] = {
    "TrendsQuery": "trend",
    "StickinessQuery": "trend",
    "LifecycleQuery": "trend",
    "FunnelsQuery": "funnel",
    "RetentionQuery": "retention",
    "HogQLQuery": "table",
    "EventsQuery": "table",
    "TRENDS": "trend",
    "STICKINESS": "trend",
    "LIFECYCLE": "trend",
    "FUNNELS": "funnel",
    "RETENTION": "retention",
}


def kind_of(insight: Mapping[str, Any]) -> str:
    """`trend`, `funnel`, `retention`, `table`, or `other`: what is not read here."""
    query, filters = insight.get("query"), insight.get("filters")
    while isinstance(query, Mapping) and isinstance(query.get("source"), Mapping):
        query = query["source"]
    named = query.get("kind") if isinstance(query, Mapping) else None
    if named is None and isinstance(filters, Mapping):
        named = filters.get("insight")
    return _KINDS.get(named, "other") if isinstance(named, str) else "other"


def series(results: Any) -> list[Json]:
    """The lines of a trend."""
    return [_series(one) for one in mappings(results)[:MOST_SERIES]]


def funnels(results: Any) -> list[Json]:
    """A funnel's steps, or those of each value that it is broken down by."""
    if isinstance(results, list) and results and all(isinstance(one, list) for one in results):
        return [_funnel(one) for one in results[:MOST_SERIES]]
    return [_funnel(results)]


def cohorts(results: Any) -> list[Json]:
    """Who began in each period, and how many of them came back."""
    return [_cohort(one) for one in mappings(results)[:MOST_POINTS]]


def table(results: Any, columns: Any) -> Json:
    """Columns and rows, each cell a text."""
    rows = [row for row in results if isinstance(row, list)] if isinstance(results, list) else []
    names = [name for name in columns if isinstance(name, str)] if isinstance(columns, list) else []
    return {
        "columns": names,
        "rows": [[shown(cell) for cell in row] for row in rows[:MOST_ROWS]],
        "more_rows": max(0, len(rows) - MOST_ROWS),
    }


def _series(one: Mapping[str, Any]) -> Json:
    action, days, data = one.get("action"), one.get("days"), one.get("data")
    points = zip(days, data, strict=False) if isinstance(days, list) and isinstance(data, list) else ()
    total = number(one.get("count"))
    return {
        "event": text(action.get("id")) if isinstance(action, Mapping) else None,
        "label": text(one.get("label")),
        "breakdown": shown(one.get("breakdown_value")),
        "total": number(one.get("aggregated_value")) if total is None else total,
        "points": [{"at": text(at), "value": number(value)} for at, value in points][:MOST_POINTS],
    }


def _funnel(results: Any) -> Json:
    steps = mappings(results)
    counts = [number(step.get("count")) for step in steps]
    return {
        "breakdown": shown(steps[0].get("breakdown_value")) if steps else None,
        "steps": [
            {
                "event": text(step.get("name")),
                "count": counts[index],
                "of_first": _part(counts[index], counts[0]),
                "of_previous": _part(counts[index], counts[max(0, index - 1)]),
                "average_seconds": number(step.get("average_conversion_time")),
                "median_seconds": number(step.get("median_conversion_time")),
            }
            for index, step in enumerate(steps)
        ],
    }


def _cohort(one: Mapping[str, Any]) -> Json:
    counts = [number(value.get("count")) for value in mappings(one.get("values"))]
    return {
        "begins_at": text(one.get("date")),
        "label": text(one.get("label")),
        "size": counts[0] if counts else None,
        "returned": counts[1:],
    }


def _part(count: float | None, whole: float | None) -> float | None:
    part = number(count / whole) if count is not None and whole else None
    return None if part is None else round(part, 4)
