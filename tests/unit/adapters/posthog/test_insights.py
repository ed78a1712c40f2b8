"""Insights: typed queries, and those that somebody saved."""

from typing import Any

import pytest
from fakes.cases.posthog import FUNNEL, PROJECT, RETENTION, TREND, insight, results
from fakes.vendor import Said, desk, saying, vendor_server

from adapters.base import AdapterError, ErrorKind

OPTIONS = {"project_id": PROJECT}
SAVED = {"insight_id": 99}


async def _told(operation: str, arguments: dict[str, Any], *said: Said) -> Any:
    async with vendor_server(saying(*said)) as server, desk(server, options=OPTIONS) as at:
        return (await at.ask("posthog", operation, arguments)).structured


async def test_a_trend_is_bounded_in_its_lines() -> None:
    """What is left out is counted."""
    told = await _told("run_trend", {"events": ["$pageview"]}, results([TREND] * 60))
    assert (len(told["series"]), told["more_series"], told["computed_at"]) == (50, 10, "2026-01-01T00:00:00Z")


async def test_a_funnel_and_a_retention_are_told() -> None:
    """Each in its own form."""
    steps = (await _told("run_funnel", {"steps": ["visited", "bought"]}, results(FUNNEL)))["steps"]
    assert [step["event"] for step in steps] == ["visited", "bought"]
    given = {"target_event": "a", "returning_event": "b"}
    assert (await _told("run_retention", given, results([RETENTION])))["cohorts"][0]["size"] == 40


@pytest.mark.parametrize(
    ("query", "result", "field"),
    [
        ({"kind": "TrendsQuery"}, [TREND], "series"),
        ({"kind": "FunnelsQuery"}, FUNNEL, "funnels"),
        ({"kind": "RetentionQuery"}, [RETENTION], "cohorts"),
        ({"kind": "HogQLQuery"}, [["a", 1]], "table"),
        ({"kind": "PathsQuery"}, [{"source": "1_/"}], None),
    ],
)
async def test_a_saved_insight_is_told_by_its_kind(query: Any, result: Any, field: str | None) -> None:
    """In one of four forms, or in none."""
    told = await _told("run_saved_query", SAVED, Said(insight(query=query, result=result, columns=["x", "y"])))
    filled = [name for name in ("series", "funnels", "cohorts", "table") if told[name] is not None]
    assert filled == ([field] if field else [])
    assert told["table"] is None or told["table"]["columns"] == ["x", "y"]


async def test_a_saved_insight_that_takes_long_is_waited_for() -> None:
    """Its name is of the insight, its result of the query."""
    running = Said(insight(result=None, query_status={"id": "q7", "complete": False}))
    done = Said({"query_status": {"id": "q7", "complete": True, "error": False, "results": {"results": [TREND]}}})
    told = await _told("run_saved_query", SAVED, running, done)
    assert (told["name"], told["series"][0]["total"]) == ("Page views", 30.0)


async def test_a_saved_insight_without_a_result_is_to_be_asked_for_again() -> None:
    """It is not an empty one."""
    with pytest.raises(AdapterError) as caught:
        await _told("run_saved_query", SAVED, Said(insight(result=None)))
    assert caught.value.kind is ErrorKind.UNAVAILABLE


@pytest.mark.parametrize("value", [{}, {"id": "x"}, [], {"results": None}])
async def test_what_is_no_insight_is_malformed(value: Any) -> None:
    """Neither saved nor asked."""
    for operation, arguments in (("run_saved_query", SAVED), ("run_trend", {"events": ["a"]})):
        with pytest.raises(AdapterError) as caught:
            await _told(operation, arguments, Said(value))
        assert caught.value.kind is ErrorKind.MALFORMED
