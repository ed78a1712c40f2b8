"""PostHog's typed queries, made of prepared arguments. Whatever an agent named stands in them as a JSON string.

What an event list selects and how it is ordered is HogQL, and constant.
"""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
Arguments = Mapping[str, Any]

EVENT_COLUMNS = ("uuid", "event", "distinct_id", "timestamp", "properties")
_MOST_BREAKDOWNS = 25


def trend(arguments: Arguments) -> Json:
    """How often events happened over time."""
    measured = {} if arguments["measured_property"] is None else {"math_property": arguments["measured_property"]}
    query: Json = {
        "kind": "TrendsQuery",
        "series": [{**_event(name), "math": arguments["measure"], **measured} for name in arguments["events"]],
        "interval": arguments["interval"],
        "dateRange": _dates(arguments),
        "properties": conditions(arguments["filters"]),
    }
    if arguments["breakdown"] is not None:
        breakdown = {"property": arguments["breakdown"], "type": arguments["breakdown_of"]}
        query["breakdownFilter"] = {"breakdowns": [breakdown], "breakdown_limit": _MOST_BREAKDOWNS}
    return query


def funnel(arguments: Arguments) -> Json:
    """How many went from each step to the next."""
    return {
        "kind": "FunnelsQuery",
        "series": [_event(name) for name in arguments["steps"]],
        "dateRange": _dates(arguments),
        "properties": conditions(arguments["filters"]),
        "funnelsFilter": {
            "funnelVizType": "steps",
            "funnelOrderType": "ordered",
            "funnelWindowInterval": arguments["window_days"],
            "funnelWindowIntervalUnit": "day",
        },
    }


def retention(arguments: Arguments) -> Json:
    """How many came back in each period."""
    return {
        "kind": "RetentionQuery",
        "dateRange": {} if arguments["date_from"] is None else {"date_from": arguments["date_from"]},
        "properties": conditions(arguments["filters"]),
        "retentionFilter": {
            "targetEntity": _entity(arguments["target_event"]),
            "returningEntity": _entity(arguments["returning_event"]),
            "period": arguments["period"].capitalize(),
            "totalIntervals": arguments["periods"],
            "retentionType": "retention_first_time" if arguments["is_first_time"] else "retention_recurring",
        },
    }


def events(arguments: Arguments, *, before: str, offset: int) -> Json:
    """Events, the newest first, from `offset` on of those before a moment that stays the same from page to page."""
    properties = conditions(arguments["filters"])
    if arguments["distinct_id"] is not None:
        one = {"type": "event_metadata", "key": "distinct_id", "operator": "exact", "value": [arguments["distinct_id"]]}
        properties.append(one)
    query: Json = {
        "kind": "EventsQuery",
        "select": list(EVENT_COLUMNS),
        "orderBy": ["timestamp DESC"],
        "properties": properties,
        "after": arguments["after"] or "-24h",
        "before": before,
        "limit": arguments["limit"],
        "offset": offset,
    }
    if arguments["event"] is not None:
        query["event"] = arguments["event"]
    if arguments["person_id"] is not None:
        query["personId"] = arguments["person_id"]
    return query


def conditions(filters: list[Json]) -> list[Json]:
    """Conditions on properties, as PostHog has them."""
    return [_condition(one) for one in filters]


def _condition(one: Arguments) -> Json:
    is_listed = one["operator"] in ("exact", "is_not")
    value = {} if one["value"] is None else {"value": [one["value"]] if is_listed else one["value"]}
    return {"type": one["of"], "key": one["property"], "operator": one["operator"], **value}


def _event(name: str) -> Json:
    return {"kind": "EventsNode", "event": name, "name": name}


def _entity(name: str) -> Json:
    return {"id": name, "name": name, "type": "events"}


def _dates(arguments: Arguments) -> Json:
    return {name: arguments[name] for name in ("date_from", "date_to") if arguments[name] is not None}
