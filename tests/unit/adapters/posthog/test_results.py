"""What PostHog's insights come to."""

from typing import Any

import pytest
from fakes.cases.posthog import FUNNEL, RETENTION, TREND

from adapters.posthog import results


@pytest.mark.parametrize(
    ("insight", "kind"),
    [
        ({"query": {"kind": "InsightVizNode", "source": {"kind": "TrendsQuery"}}}, "trend"),
        ({"query": {"kind": "FunnelsQuery"}}, "funnel"),
        ({"query": {"source": {"kind": "RetentionQuery"}}}, "retention"),
        ({"query": {"kind": "DataVisualizationNode", "source": {"kind": "HogQLQuery"}}}, "table"),
        ({"query": {"kind": "PathsQuery"}}, "other"),
        ({"query": None, "filters": {"insight": "FUNNELS"}}, "funnel"),
        ({"query": None, "filters": {"insight": []}}, "other"),
        ({"query": {"kind": None}}, "other"),
        ({"query": []}, "other"),
        ({}, "other"),
    ],
)
def test_an_insight_is_of_the_kind_of_its_query(insight: Any, kind: str) -> None:
    """However deep it is wrapped; older ones have filters."""
    assert results.kind_of(insight) == kind


def test_a_line_has_a_point_for_each_step() -> None:
    """And its total; a value that it is broken down by is a text."""
    (line,) = results.series([{**TREND, "breakdown_value": ["Firefox", 7]}])
    assert (line["event"], line["total"], line["breakdown"]) == ("$pageview", 30.0, '["Firefox",7]')
    assert line["points"] == [{"at": "2025-12-30", "value": 10.0}, {"at": "2025-12-31", "value": 20.0}]
    (total,) = results.series([{"aggregated_value": 7, "label": "All"}])
    assert (total["total"], total["points"]) == (7, [])


def test_a_funnel_says_what_part_went_on() -> None:
    """Of the first step, and of the one before."""
    (funnel,) = results.funnels(FUNNEL)
    assert [(step["count"], step["of_first"], step["of_previous"]) for step in funnel["steps"]] == [
        (200, 1.0, 1.0),
        (50, 0.25, 0.25),
    ]
    assert funnel["steps"][1]["average_seconds"] == 90.5
    both = results.funnels([[{**FUNNEL[0], "breakdown_value": ["a"]}], FUNNEL])
    assert [one["breakdown"] for one in both] == ['["a"]', None]


def test_a_part_of_nobody_is_none() -> None:
    """Not a division by zero."""
    (funnel,) = results.funnels([{"name": "a", "count": 0}, {"name": "b", "count": 0}, {"name": "c"}])
    assert [step["of_first"] for step in funnel["steps"]] == [None, None, None]
    assert results.funnels([]) == [{"breakdown": None, "steps": []}]


def test_a_cohort_says_how_many_came_back() -> None:
    """In each period after the first."""
    assert results.cohorts([RETENTION]) == [
        {"begins_at": "2025-12-01T00:00:00Z", "label": "Week 0", "size": 40, "returned": [12]}
    ]
    assert results.cohorts([{}]) == [{"begins_at": None, "label": None, "size": None, "returned": []}]


def test_a_table_has_texts_and_is_bounded() -> None:
    """What is left out is counted."""
    table = results.table([[1, None, {"a": 1}]] * 120, ["n", 7, "x"])
    assert table["rows"][0] == ["1", None, '{"a":1}']
    assert (table["columns"], len(table["rows"]), table["more_rows"]) == (["n", "x"], 100, 20)


@pytest.mark.parametrize("value", [None, 7, "x", {}, [None], [[]], [7, "x"]])
def test_what_is_no_result_comes_to_nothing(value: Any) -> None:
    """And never to an exception."""
    assert results.series(value) == []
    assert results.cohorts(value) == []
    assert all(one["steps"] == [] for one in results.funnels(value))
    assert results.table(value, value)["columns"] in ([], ["x"])


def test_a_part_of_next_to_nothing_is_not_told() -> None:
    """It is no number that JSON has."""
    (funnel,) = results.funnels([{"count": 5e-324}, {"count": 9e15}])
    assert [step["of_first"] for step in funnel["steps"]] == [1.0, None]
