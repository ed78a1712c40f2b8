"""Events, persons and feature flags."""

from typing import Any

import pytest
from fakes.cases.posthog import PERSON, PROJECT, event_row, flag, person, results
from fakes.vendor import Asked, Said, desk, saying, vendor_server

from adapters.base import AdapterError, ErrorKind
from adapters.posthog.pages import MOST
from adapters.transport.cursors import cursor_to

OPTIONS = {"project_id": PROJECT}


async def test_events_stay_in_their_places_while_an_agent_pages() -> None:
    """Every page is of those before the moment at which the first was asked for."""
    async with vendor_server(results([event_row()], hasMore=True)) as server, desk(server, options=OPTIONS) as at:
        first = await at.ask("posthog", "list_events", {"limit": 5})
        await at.clock.sleep(3600.0)
        await at.ask("posthog", "list_events", {"limit": 5, "cursor": first.structured["next_cursor"]})
        queries = [one.json["query"] for one in server.asked]
    assert [(one["offset"], one["limit"], one["before"]) for one in queries] == [
        (0, 5, "2026-01-01T00:00:00.000+00:00"),
        (5, 5, "2026-01-01T00:00:00.000+00:00"),
    ]


async def test_events_before_a_given_moment_are_before_it_on_every_page() -> None:
    """It is policy's, and no cursor changes it."""
    given = {"before": "2025-06-01T00:00:00Z"}
    async with vendor_server(results([], hasMore=True)) as server, desk(server, options=OPTIONS) as at:
        operation = at.adapters["posthog"].operations["list_events"]
        forged = cursor_to("20 2030-01-01T00:00:00+00:00", "list_events", operation.prepare(given))
        first = await at.ask("posthog", "list_events", given)
        for cursor in (first.structured["next_cursor"], forged):
            await at.ask("posthog", "list_events", {**given, "cursor": cursor})
        assert {one.json["query"]["before"] for one in server.asked} == {"2025-06-01T00:00:00.000+00:00"}


@pytest.mark.parametrize("more", [False, None, "yes", 1])
async def test_a_list_of_events_ends_when_there_is_no_more(more: Any) -> None:
    """Whatever else is said."""
    async with vendor_server(results([], hasMore=more)) as server, desk(server, options=OPTIONS) as at:
        assert (await at.ask("posthog", "list_events", {})).structured == {"events": [], "next_cursor": None}


async def test_a_list_goes_on_by_an_offset_and_not_by_a_url() -> None:
    """The next request goes where the first one went."""

    def answer(asked: Asked) -> Said:
        url = "https://evil.test/steal?limit=2&offset=2" if asked.query["offset"] == ["0"] else None
        return Said({"next": url, "results": [person(), None]})

    async with vendor_server(answer) as server, desk(server, options=OPTIONS) as at:
        first = await at.ask("posthog", "list_persons", {"email": "ann@corp.example", "limit": 2})
        arguments = {"email": "ann@corp.example", "limit": 2, "cursor": first.structured["next_cursor"]}
        second = await at.ask("posthog", "list_persons", arguments)
        asked = [(one.path, one.query) for one in server.asked]
    query = {"email": ["ann@corp.example"], "limit": ["2"]}
    path = f"/api/projects/{PROJECT}/persons/"
    assert asked == [(path, {**query, "offset": ["0"]}), (path, {**query, "offset": ["2"]})]
    assert (len(first.structured["persons"]), second.structured["next_cursor"]) == (1, None)
    assert first.receipt == "Found 1 person in PostHog, and there are more."


async def test_flags_are_looked_through() -> None:
    """By text, and by whether they are on."""
    async with vendor_server(Said({"next": None, "results": [flag()]})) as server, desk(server, options=OPTIONS) as at:
        output = await at.ask("posthog", "list_feature_flags", {"search": "checkout", "is_active": False})
        (asked,) = server.asked
    assert asked.query == {"search": ["checkout"], "active": ["false"], "limit": ["20"], "offset": ["0"]}
    assert "conditions" not in output.structured["flags"][0]


async def test_one_person_and_one_flag_are_read() -> None:
    """By their ids."""
    async with vendor_server(saying(Said(person()), Said(flag()))) as server, desk(server, options=OPTIONS) as at:
        assert (await at.ask("posthog", "get_person", {"person_id": PERSON})).structured["id"] == PERSON
        assert (await at.ask("posthog", "get_feature_flag", {"flag_id": 77})).structured["conditions"]
        paths = [one.path for one in server.asked]
    assert paths == [f"/api/projects/{PROJECT}/persons/{PERSON}/", f"/api/projects/{PROJECT}/feature_flags/77/"]


@pytest.mark.parametrize(
    ("operation", "arguments", "value"),
    [
        ("list_events", {}, {"results": None}),
        ("list_persons", {}, {"next": None}),
        ("list_persons", {}, []),
        ("list_feature_flags", {}, {"results": {}}),
        ("get_person", {"person_id": PERSON}, {"name": "Ann"}),
        ("get_feature_flag", {"flag_id": 1}, {"key": "x"}),
    ],
)
async def test_what_lacks_what_it_must_have_is_malformed(operation: str, arguments: dict[str, Any], value: Any) -> None:
    """It is not an empty list, nor nobody."""
    async with vendor_server(Said(value)) as server, desk(server, options=OPTIONS) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("posthog", operation, arguments)
    assert caught.value.kind is ErrorKind.MALFORMED


async def test_a_list_ends_where_posthog_goes_no_further() -> None:
    """It refuses a greater offset."""
    said = Said({"next": f"https://us.posthog.com/?offset={MOST + 1}", "results": []})
    async with vendor_server(said) as server, desk(server, options=OPTIONS) as at:
        assert (await at.ask("posthog", "list_persons", {})).structured["next_cursor"] is None
