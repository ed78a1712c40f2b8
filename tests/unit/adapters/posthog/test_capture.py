"""Telling PostHog that something happened."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from fakes.cases.posthog import PROJECT, PROJECT_KEY
from fakes.vendor import Said, desk, saying, vendor_server

from adapters.base import AdapterError, ErrorKind, Finding, Happened
from adapters.posthog.capture import event_id

OPTIONS = {"project_id": PROJECT, "project_api_key": PROJECT_KEY}
EVENT = {"event": "refund promised", "distinct_id": "u-1", "properties": [{"name": "amount", "value": 12.5}]}
TAKEN = Said({"status": "Ok"})


def test_an_effect_is_one_event() -> None:
    """With an id of the form that PostHog takes."""
    assert event_id("e1") == event_id("e1") != event_id("e2")
    assert uuid.UUID(event_id("e1")).version == 4


async def test_an_event_is_told_with_the_projects_key_alone() -> None:
    """The personal key does not go where events are taken."""
    async with vendor_server(TAKEN) as server, desk(server, options=OPTIONS) as at:
        output = await at.ask("posthog", "capture_event", EVENT, effect_id="e1")
        (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/i/v0/e/")
    assert asked.json == {
        "api_key": PROJECT_KEY,
        "uuid": event_id("e1"),
        "event": "refund promised",
        "distinct_id": "u-1",
        "properties": {"amount": 12.5},
    }
    assert at.credential not in f"{asked.headers} {asked.body!r}"
    assert "Authorization" not in asked.headers
    assert output.structured == {"event_id": event_id("e1"), "event": "refund promised", "distinct_id": "u-1"}
    assert "refund" not in output.receipt


async def test_an_event_of_another_time_says_when() -> None:
    """In UTC."""
    async with vendor_server(TAKEN) as server, desk(server, options=OPTIONS) as at:
        await at.ask("posthog", "capture_event", {**EVENT, "timestamp": "2025-12-24T18:00:00+01:00"})
        assert server.asked[0].json["timestamp"] == "2025-12-24T17:00:00.000+00:00"


async def test_events_go_to_a_place_of_their_own() -> None:
    """Where the connection says."""
    async with vendor_server(TAKEN) as public, vendor_server(TAKEN) as private:
        async with desk(public, options={**OPTIONS, "capture_url": public.url}) as at:
            operation = at.adapters["posthog"].operations["capture_event"]
            invocation = at.invocation(operation.prepare(EVENT))
            options = {**invocation.target.options, "base_url": private.url}
            target = replace(invocation.target, options=options)
            await operation.invoke(replace(invocation, target=target))
        assert (len(public.asked), len(private.asked)) == (1, 0)


@pytest.mark.parametrize("said", [Said(status=503), Said(status=500), Said(cut=True), Said({})])
async def test_an_event_is_never_sent_twice(said: Said) -> None:
    """PostHog may make one of two, some day: until then both are counted."""
    async with vendor_server(said) as server, desk(server, options=OPTIONS) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("posthog", "capture_event", EVENT)
        assert len(server.asked) == 1
    assert caught.value.happened is Happened.UNKNOWN


async def test_g11_a_late_answer_is_not_asked_for_again() -> None:
    """The event was taken and PostHog is silent."""
    async with vendor_server(Said(hangs=True)) as server, desk(server, options=OPTIONS) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("posthog", "capture_event", EVENT, seconds=0.3)
        assert len(server.asked) == 1
    assert caught.value.happened is Happened.UNKNOWN


async def test_a_connection_without_the_projects_key_captures_nothing() -> None:
    """Its operator has to add it."""
    async with vendor_server(TAKEN) as server, desk(server, options={"project_id": PROJECT}) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("posthog", "capture_event", EVENT)
        assert not server.asked
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.INVALID, Happened.NO)


@pytest.mark.parametrize(
    ("said", "finding"),
    [
        (Said({"id": event_id("e1"), "event": "x"}), Finding.DONE),
        (Said({"uuid": event_id("e1")}), Finding.DONE),
        (Said({"id": event_id("e2")}), Finding.STILL_UNKNOWN),
        (Said([]), Finding.STILL_UNKNOWN),
        (Said({"code": "not_found"}, status=404), Finding.STILL_UNKNOWN),
    ],
)
async def test_an_event_that_is_there_was_captured(said: Said, finding: Finding) -> None:
    """One that is not may be on its way, for however long."""
    async with vendor_server(said) as server, desk(server, options=OPTIONS) as at:
        assert await at.reconcile("posthog", "capture_event", EVENT, effect_id="e1") is finding
        (asked,) = server.asked
    assert (asked.method, asked.path) == ("GET", f"/api/projects/{PROJECT}/events/{event_id('e1')}/")


async def test_what_cannot_be_asked_is_an_error() -> None:
    """And no finding."""
    async with vendor_server(Said(status=403)) as server, desk(server, options=OPTIONS) as at:
        with pytest.raises(AdapterError):
            await at.reconcile("posthog", "capture_event", EVENT)


async def test_a_pause_of_the_private_api_does_not_keep_events_back() -> None:
    """They are counted apart."""
    limited: list[Any] = [Said({}, 429, {"Retry-After": "600"}), TAKEN]
    async with vendor_server(saying(*limited)) as server, desk(server, options=OPTIONS) as at:
        for _ in range(2):
            with pytest.raises(AdapterError):
                await at.ask("posthog", "list_persons", {})
        await at.ask("posthog", "capture_event", EVENT)
        assert len(server.asked) == 2
