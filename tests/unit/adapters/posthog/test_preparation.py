"""The form in which what an agent sends goes on."""

from typing import Any

import pytest
from fakes.cases.posthog import PERSON

from adapters.base import ArgumentProblem
from adapters.posthog import preparation
from adapters.transport.cursors import cursor_to


def _rules(prepare: Any, given: dict[str, Any]) -> set[tuple[str, str]]:
    with pytest.raises(ArgumentProblem) as caught:
        prepare(given)
    return {(issue.path, issue.rule) for issue in caught.value.issues}


def test_a_trend_has_everything_that_policy_may_judge() -> None:
    """What was not given has its default."""
    assert preparation.prepare_run_trend({"events": ["$pageview"]}) == {
        "events": ["$pageview"],
        "measure": "total",
        "measured_property": None,
        "interval": "day",
        "date_from": "-7d",
        "date_to": None,
        "breakdown": None,
        "breakdown_of": "event",
        "filters": [],
    }


@pytest.mark.parametrize(
    "given", [{"measure": "sum"}, {"measure": "dau", "measured_property": "price"}, {"measured_property": "price"}]
)
def test_a_property_is_measured_by_what_measures_properties(given: dict[str, Any]) -> None:
    """And by nothing else."""
    rules = _rules(preparation.prepare_run_trend, {"events": ["bought"], **given})
    assert rules == {("/measured_property", "measured_property")}


def test_every_name_is_one_line() -> None:
    """Told by its place."""
    assert _rules(preparation.prepare_run_funnel, {"steps": ["a", " ", "b\n"]}) == {
        ("/steps/1", "blank"),
        ("/steps/2", "characters"),
    }
    given = {"target_event": "", "returning_event": "b"}
    assert _rules(preparation.prepare_run_retention, given) == {("/target_event", "blank")}


def test_questions_have_their_defaults() -> None:
    """Whatever was not given."""
    funnel = preparation.prepare_run_funnel({"steps": ["a", "b"]})
    assert (funnel["window_days"], funnel["date_from"], funnel["filters"]) == (14, "-7d", [])
    retention = preparation.prepare_run_retention({"target_event": "a", "returning_event": "b", "is_first_time": False})
    assert (retention["period"], retention["periods"], retention["date_from"]) == ("week", 8, None)
    assert retention["is_first_time"] is False
    assert preparation.prepare_run_saved_query({"insight_id": 7}) == {"insight_id": 7}
    assert preparation.prepare_get_feature_flag({"flag_id": 7}) == {"flag_id": 7}
    assert preparation.prepare_get_person({"person_id": PERSON.upper()}) == {"person_id": PERSON}


def test_a_list_goes_on_by_its_cursor() -> None:
    """The same one; another is refused."""
    first = preparation.prepare_list_persons({"search": "ann"})
    assert (first["limit"], first["page"], first["email"]) == (20, None, None)
    cursor = cursor_to(20, "list_persons", first)
    assert preparation.prepare_list_persons({"search": "ann", "cursor": cursor})["page"] == 20
    assert _rules(preparation.prepare_list_persons, {"search": "bob", "cursor": cursor}) == {("/cursor", "other_list")}
    assert _rules(preparation.prepare_list_feature_flags, {"search": "ann", "cursor": cursor}) == {
        ("/cursor", "other_list")
    }
    assert preparation.prepare_list_feature_flags({"is_active": False})["is_active"] is False
    events = preparation.prepare_list_events({"after": "2026-01-01T00:00:00Z", "person_id": PERSON})
    assert (events["after"], events["person_id"]) == ("2026-01-01T00:00:00.000+00:00", PERSON)


def test_an_event_has_its_properties_by_name() -> None:
    """Each value as it is."""
    properties = [{"name": "amount", "value": 12.5}, {"name": "is_new", "value": True}, {"name": "plan", "value": "x"}]
    prepared = preparation.prepare_capture_event({"event": "bought", "distinct_id": "u-1", "properties": properties})
    assert prepared["properties"] == {"amount": 12.5, "is_new": True, "plan": "x"}
    assert prepared["timestamp"] is None


@pytest.mark.parametrize(
    ("given", "issue"),
    [
        ({"event": "$identify"}, ("/event", "reserved")),
        ({"event": "$merge_dangerously"}, ("/event", "reserved")),
        ({"properties": [{"name": "$set", "value": "x"}]}, ("/properties/0/name", "reserved")),
        ({"properties": [{"name": "distinct_id", "value": "somebody"}]}, ("/properties/0/name", "reserved")),
        ({"properties": [{"name": "token", "value": "phc_other"}]}, ("/properties/0/name", "reserved")),
        ({"properties": [{"name": "api_key", "value": "phc_other"}]}, ("/properties/0/name", "reserved")),
        (
            {"properties": [{"name": "a", "value": 1}, {"name": "a", "value": 2}]},
            ("/properties/1/name", "unique"),
        ),
        ({"properties": ["a"]}, ("/properties/0", "type")),
        ({"distinct_id": "Anonymous"}, ("/distinct_id", "distinct_id")),
        ({"distinct_id": "null"}, ("/distinct_id", "distinct_id")),
        ({"timestamp": "soon"}, ("/timestamp", "date_time")),
    ],
)
def test_an_event_that_would_do_more_than_tell_is_refused(given: dict[str, Any], issue: tuple[str, str]) -> None:
    """PostHog's own names change persons, or whose event it is, and an id of nobody joins strangers."""
    assert issue in _rules(preparation.prepare_capture_event, {"event": "bought", "distinct_id": "u-1", **given})
