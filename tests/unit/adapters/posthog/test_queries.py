"""PostHog's typed queries."""

import json
from typing import Any, get_args

import pytest

from adapters.posthog import arguments, preparation, queries

EVIL = "' OR 1=1) UNION ALL SELECT * FROM persons --"
FILTER = {"property": "plan", "operator": "exact", "value": "team"}


def test_a_trend_is_a_trends_query() -> None:
    """One series for each event, all measured alike."""
    given = {
        "events": ["a", "b"],
        "measure": "sum",
        "measured_property": "price",
        "interval": "week",
        "date_from": "2026-01-01",
        "date_to": "2026-01-31",
        "breakdown": "$browser",
        "filters": [FILTER],
    }
    query = queries.trend(preparation.prepare_run_trend(given))
    assert query == {
        "kind": "TrendsQuery",
        "series": [
            {"kind": "EventsNode", "event": name, "name": name, "math": "sum", "math_property": "price"}
            for name in ("a", "b")
        ],
        "interval": "week",
        "dateRange": {"date_from": "2026-01-01", "date_to": "2026-01-31"},
        "properties": [{"type": "event", "key": "plan", "operator": "exact", "value": ["team"]}],
        "breakdownFilter": {"breakdowns": [{"property": "$browser", "type": "event"}], "breakdown_limit": 25},
    }


def test_a_funnel_and_a_retention_are_queries_of_their_own() -> None:
    """With the window, and the period."""
    funnel = queries.funnel(preparation.prepare_run_funnel({"steps": ["a", "b"], "window_days": 3}))
    assert (funnel["kind"], funnel["funnelsFilter"]["funnelWindowInterval"]) == ("FunnelsQuery", 3)
    given = {"target_event": "a", "returning_event": "b", "period": "month", "periods": 4, "is_first_time": False}
    retention = queries.retention(preparation.prepare_run_retention(given))
    assert retention["retentionFilter"] == {
        "targetEntity": {"id": "a", "name": "a", "type": "events"},
        "returningEntity": {"id": "b", "name": "b", "type": "events"},
        "period": "Month",
        "totalIntervals": 4,
        "retentionType": "retention_recurring",
    }


def test_events_are_of_the_last_day_when_no_time_is_given() -> None:
    """Before a moment that is."""
    query = queries.events(preparation.prepare_list_events({}), before="2026-01-01T00:00:00Z", offset=40)
    assert (query["after"], query["before"]) == ("-24h", "2026-01-01T00:00:00Z")
    assert (query["limit"], query["offset"], query["properties"]) == (20, 40, [])
    assert not {"event", "personId", "where"} & query.keys()


def test_somebodys_events_are_found_by_a_typed_condition() -> None:
    """And not by a piece of query text."""
    prepared = preparation.prepare_list_events({"distinct_id": EVIL, "event": "a"})
    query = queries.events(prepared, before="x", offset=0)
    condition = {"type": "event_metadata", "key": "distinct_id", "operator": "exact", "value": [EVIL]}
    assert (query["event"], query["properties"]) == ("a", [condition])


@pytest.mark.parametrize("operator", [one for one in get_args(arguments.Operator) if not one.endswith("_set")])
def test_a_condition_keeps_its_operator(operator: str) -> None:
    """Equality is of a list at PostHog."""
    (made,) = queries.conditions([{"property": "p", "of": "person", "operator": operator, "value": "7"}])
    assert made == {"type": "person", "key": "p", "operator": operator, "value": made["value"]}
    assert made["value"] == (["7"] if operator in ("exact", "is_not") else "7")


def test_a_condition_without_a_value_has_none() -> None:
    """That something is there at all."""
    (made,) = queries.conditions([{"property": "p", "of": "event", "operator": "is_set", "value": None}])
    assert "value" not in made


def _strings(value: Any, key: str = "") -> set[str]:
    if isinstance(value, dict):
        return {one for name, part in value.items() for one in _strings(part, name)}
    if isinstance(value, list):
        return {one for part in value for one in _strings(part, key)}
    return {key} if isinstance(value, str) and value == EVIL else set()


def test_whatever_an_agent_names_is_a_whole_string_where_posthog_expects_a_name_or_a_value() -> None:
    """Never a part of a text that PostHog reads as a query: no HogQL is made of an argument."""
    evil_filter = {"property": EVIL, "operator": "exact", "value": EVIL}
    made = [
        queries.trend(
            preparation.prepare_run_trend(
                {
                    "events": [EVIL],
                    "measure": "max",
                    "measured_property": EVIL,
                    "breakdown": EVIL,
                    "filters": [evil_filter],
                }
            )
        ),
        queries.funnel(preparation.prepare_run_funnel({"steps": [EVIL, EVIL], "filters": [evil_filter]})),
        queries.retention(preparation.prepare_run_retention({"target_event": EVIL, "returning_event": EVIL})),
        queries.events(
            preparation.prepare_list_events({"event": EVIL, "distinct_id": EVIL, "filters": [evil_filter]}),
            before="x",
            offset=0,
        ),
    ]
    for query in made:
        assert _strings(query) <= {"event", "name", "math_property", "property", "key", "value", "id"}
        whole = json.dumps(query).count(json.dumps(EVIL))
        assert json.dumps(query).count("UNION ALL") == whole
        assert "hogql" not in json.dumps(query).lower()
        assert "where" not in query
