"""PostHog as `fakes.posthog` imitates it: no server that somebody else wrote can be had, so this one is our own."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from fakes.cases.posthog import PROJECT, PROJECT_KEY
from fakes.posthog import PostHog
from fakes.vendor import Desk, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Finding, Happened

NOBODY = "0189d2f4-7c3b-7a51-9f0e-ffffffffffff"


@dataclass
class Project:
    """The adapter before a project, and the project itself."""

    at: Desk
    server: PostHog

    async def ask(self, operation: str, arguments: dict[str, Any], **more: Any) -> Any:
        """The structured output."""
        return (await self.at.ask("posthog", operation, arguments, **more)).structured

    async def refused(self, operation: str, arguments: dict[str, Any]) -> AdapterError:
        """The error that it ends with."""
        with pytest.raises(AdapterError) as caught:
            await self.ask(operation, arguments)
        return caught.value

    async def capture(self, event: str, distinct_id: str, **properties: Any) -> Any:
        """Something happened."""
        told = [{"name": name, "value": value} for name, value in properties.items()]
        arguments = {"event": event, "distinct_id": distinct_id, "properties": told}
        return await self.ask("capture_event", arguments, effect_id=f"{event} {distinct_id}")

    async def everything(self, operation: str, noun: str) -> list[Any]:
        """What is on all pages of two."""
        page = await self.ask(operation, {"limit": 2})
        found = list(page[noun])
        while page["next_cursor"] is not None:
            page = await self.ask(operation, {"limit": 2, "cursor": page["next_cursor"]})
            found += page[noun]
        return found


@pytest.fixture
async def project() -> AsyncIterator[Project]:
    """An empty project."""
    options = {"project_id": PROJECT, "project_api_key": PROJECT_KEY}
    server = PostHog()
    async with vendor_server(server) as listening, desk(listening, options=options) as at:
        yield Project(at, server)


@pytest.fixture
async def shop(project: Project) -> Project:
    """One in which three people visited, two of them put something into the cart and one bought."""
    for who in ("ann", "bob", "cid"):
        await project.capture("visited", who, plan="team" if who == "ann" else "free")
    await project.capture("added", "ann")
    await project.capture("added", "bob")
    await project.capture("bought", "ann", amount=12.5)
    return project


@pytest.mark.proves("posthog", "capture_event", "success")
async def test_an_event_that_was_captured_is_there(project: Project) -> None:
    """With its properties, and to be found by the effect."""
    arguments = {"event": "bought", "distinct_id": "ann", "properties": [{"name": "amount", "value": 12.5}]}
    arguments["timestamp"] = "2025-12-24T18:00:00+01:00"
    assert await project.at.reconcile("posthog", "capture_event", arguments) is Finding.STILL_UNKNOWN
    captured = await project.ask("capture_event", arguments)
    (event,) = project.server.events
    assert (event["uuid"], event["event"], event["distinct_id"]) == (captured["event_id"], "bought", "ann")
    assert (event["properties"], event["timestamp"]) == ({"amount": 12.5}, "2025-12-24T17:00:00.000+00:00")
    assert await project.at.reconcile("posthog", "capture_event", arguments) is Finding.DONE


@pytest.mark.proves("posthog", "capture_event", "failure")
async def test_an_event_for_a_project_that_nobody_knows_is_not_captured(project: Project) -> None:
    """Certain."""
    project.at.options = {**project.at.options, "project_api_key": "phc_someElsesProject"}
    error = await project.refused("capture_event", {"event": "bought", "distinct_id": "ann"})
    assert (error.kind, error.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)
    assert project.server.events == []


@pytest.mark.proves("posthog", "run_trend", "success")
async def test_a_trend_counts_events(shop: Project) -> None:
    """Those that fit."""
    trend = await shop.ask("run_trend", {"events": ["visited", "bought"]})
    assert [(line["event"], line["total"]) for line in trend["series"]] == [("visited", 3), ("bought", 1)]
    assert trend["series"][0]["points"] == [{"at": "2025-12-31", "value": 3}]
    condition = {"property": "plan", "operator": "exact", "value": "team"}
    trend = await shop.ask("run_trend", {"events": ["visited"], "filters": [condition]})
    assert trend["series"][0]["total"] == 1


async def test_a_query_that_takes_long_is_waited_for(shop: Project) -> None:
    """By asking how far it is."""
    shop.server.is_slow = True
    trend = await shop.ask("run_trend", {"events": ["visited"]}, seconds=10.0)
    assert trend["series"][0]["total"] == 3


@pytest.mark.proves("posthog", "run_funnel", "success")
async def test_a_funnel_counts_people(shop: Project) -> None:
    """Those who are left at each step, and what part of the first and of the step before."""
    steps = (await shop.ask("run_funnel", {"steps": ["visited", "added", "bought"]}))["steps"]
    told = [(step["event"], step["count"], step["of_first"], step["of_previous"]) for step in steps]
    assert told == [("visited", 3, 1.0, 1.0), ("added", 2, 0.6667, 0.6667), ("bought", 1, 0.3333, 0.5)]


@pytest.mark.proves("posthog", "run_retention", "success")
async def test_a_retention_counts_who_came_back(shop: Project) -> None:
    """Of those who began."""
    retention = await shop.ask("run_retention", {"target_event": "visited", "returning_event": "added"})
    (cohort,) = retention["cohorts"]
    assert (cohort["size"], cohort["returned"]) == (3, [2])


@pytest.mark.proves("posthog", "run_trend", "failure")
@pytest.mark.proves("posthog", "run_funnel", "failure")
@pytest.mark.proves("posthog", "run_retention", "failure")
@pytest.mark.proves("posthog", "list_events", "failure")
async def test_a_query_that_the_project_does_not_take_is_told_so(shop: Project) -> None:
    """Whichever it is."""
    asked = {
        "run_trend": {"events": ["no such event"]},
        "run_funnel": {"steps": ["visited", "no such event"]},
        "run_retention": {"target_event": "visited", "returning_event": "no such event"},
        "list_events": {"event": "no such event"},
    }
    for operation, arguments in asked.items():
        assert (await shop.refused(operation, arguments)).kind is ErrorKind.INVALID


@pytest.mark.proves("posthog", "run_saved_query", "success")
async def test_a_saved_insight_is_run(project: Project) -> None:
    """By its number."""
    saved = await project.ask("run_saved_query", {"insight_id": 99})
    assert (saved["name"], saved["kind"], saved["series"][0]["total"]) == ("Page views", "trend", 30.0)


@pytest.mark.proves("posthog", "run_saved_query", "failure")
@pytest.mark.proves("posthog", "get_person", "failure")
@pytest.mark.proves("posthog", "get_feature_flag", "failure")
async def test_what_is_not_there_is_not_found(project: Project) -> None:
    """Neither an insight, nor a person, nor a flag."""
    asked = {
        "run_saved_query": {"insight_id": 1},
        "get_person": {"person_id": NOBODY},
        "get_feature_flag": {"flag_id": 4},
    }
    for operation, arguments in asked.items():
        assert (await project.refused(operation, arguments)).kind is ErrorKind.NOT_FOUND


@pytest.mark.proves("posthog", "list_events", "success")
@pytest.mark.proves("posthog", "list_events", "paging")
async def test_events_are_listed_the_newest_first(shop: Project) -> None:
    """From page to page, each once."""
    events = await shop.everything("list_events", "events")
    assert [event["event"] for event in events] == ["bought", "added", "added", "visited", "visited", "visited"]
    assert len({event["id"] for event in events}) == 6
    (one,) = (await shop.ask("list_events", {"event": "added", "distinct_id": "bob"}))["events"]
    assert one["distinct_id"] == "bob"


@pytest.mark.proves("posthog", "list_persons", "success")
@pytest.mark.proves("posthog", "list_persons", "paging")
@pytest.mark.proves("posthog", "get_person", "success")
async def test_persons_are_listed_and_read(project: Project) -> None:
    """From page to page, although the next one is said to be elsewhere."""
    persons = await project.everything("list_persons", "persons")
    assert [person["name"] for person in persons] == ["p1", "p2", "p3", "p4", "p5"]
    assert await project.ask("get_person", {"person_id": persons[3]["id"]}) == persons[3]
    (found,) = (await project.ask("list_persons", {"search": "p4"}))["persons"]
    assert found == persons[3]


@pytest.mark.proves("posthog", "list_feature_flags", "success")
@pytest.mark.proves("posthog", "list_feature_flags", "paging")
@pytest.mark.proves("posthog", "get_feature_flag", "success")
async def test_flags_are_listed_and_read(project: Project) -> None:
    """From page to page; whom one is for is told of it alone."""
    flags = await project.everything("list_feature_flags", "flags")
    assert [flag["key"] for flag in flags] == ["flag-1", "flag-2", "flag-3"]
    read = await project.ask("get_feature_flag", {"flag_id": 2})
    assert {name: read[name] for name in flags[1]} == flags[1]
    assert read["conditions"][0]["rollout_percentage"] == 50


@pytest.mark.proves("posthog", "list_persons", "failure")
@pytest.mark.proves("posthog", "list_feature_flags", "failure")
async def test_a_key_that_is_not_good_any_more_needs_a_person(project: Project) -> None:
    """Whatever is asked."""
    project.at.credential = "phx-taken-back"
    for operation in ("list_persons", "list_feature_flags"):
        assert (await project.refused(operation, {})).kind is ErrorKind.NEEDS_AUTHORISATION
