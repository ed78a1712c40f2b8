"""Google Calendar as `emulate` imitates it; getting and changing one event, which it does not do, as we do."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from fakes.cases.calendar import event
from fakes.google_calendar import GoogleCalendar
from fakes.vendor import Desk, Said, desk, vendor_server
from real.emulate import TOKENS, Emulate

from adapters.base import AdapterError, ErrorKind, Finding, Happened
from adapters.calendar.marks import event_id

WINDOW = {"time_min": "2026-03-01T00:00:00Z", "time_max": "2026-03-31T00:00:00Z"}
NOBODYS = "nobody@corp.example"


class Calendar:
    """The adapter before a server."""

    def __init__(self, at: Desk, url: str = "") -> None:
        self.at, self._url = at, url

    async def ask(self, operation: str, arguments: dict[str, Any], **more: Any) -> Any:
        """The structured output."""
        return (await self.at.ask("calendar", operation, arguments, **more)).structured

    async def refused(self, operation: str, arguments: dict[str, Any], **more: Any) -> AdapterError:
        """The error that it ends with."""
        with pytest.raises(AdapterError) as caught:
            await self.ask(operation, arguments, **more)
        return caught.value

    async def itself(self) -> dict[str, Any]:
        """Every event that the server has, without the adapter."""
        headers = {"Authorization": f"Bearer {TOKENS['google']}"}
        url = f"{self._url}/calendar/v3/calendars/primary/events?maxResults=250"
        async with aiohttp.request("GET", url, headers=headers) as response:
            return {each["id"]: each for each in (await response.json())["items"]}

    async def put(self, effect_id: str, day: int, summary: str = "Review") -> str:
        """The id of a new event on this day of March."""
        when = {"start": f"2026-03-{day:02}T10:00:00Z", "end": f"2026-03-{day:02}T11:00:00Z"}
        arguments = {"summary": summary, **when, "send_updates": "none"}
        return str((await self.ask("create_event", arguments, effect_id=effect_id))["id"])


@pytest.fixture
async def calendar(emulate: Emulate) -> AsyncIterator[Calendar]:
    """Ann's."""
    port = emulate.port("google")
    async with desk(port, credential=TOKENS["google"], path="/calendar/v3") as at:
        yield Calendar(at, emulate.url("google"))


@pytest.fixture
async def own() -> AsyncIterator[tuple[Calendar, GoogleCalendar]]:
    """One of our own with one event."""
    google = GoogleCalendar(event(id="e1", etag='"100"'))
    async with vendor_server(google.answer) as server, desk(server) as at:
        yield Calendar(at), google


@pytest.mark.proves("calendar", "create_event", "success")
async def test_an_event_is_there_when_it_was_created(calendar: Calendar) -> None:
    """Under the id that the effect gave it, with whom it invites."""
    arguments = {
        "summary": "Planning",
        "description": "Bring ideas.",
        "start": "2026-02-03T10:00:00+01:00",
        "end": "2026-02-03T11:30:00+01:00",
        "time_zone": "Europe/Warsaw",
        "attendees": ["bob@corp.example"],
        "send_updates": "all",
    }
    made = await calendar.ask("create_event", arguments, effect_id="planning")
    there = (await calendar.itself())[made["id"]]
    assert made["attendee_count"] == 1
    assert (there["summary"], there["description"]) == ("Planning", "Bring ideas.")
    assert [each["email"] for each in there["attendees"]] == ["bob@corp.example"]


@pytest.mark.proves("calendar", "create_event", "failure")
async def test_an_event_in_a_calendar_that_is_not_there_is_not_created(calendar: Calendar) -> None:
    """Certain that nothing happened."""
    arguments = {"summary": "x", "start": "2026-02-03", "end": "2026-02-04", "send_updates": "none"}
    error = await calendar.refused("create_event", {**arguments, "calendar_id": NOBODYS})
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


@pytest.mark.proves("calendar", "list_events", "success")
@pytest.mark.proves("calendar", "list_events", "paging")
async def test_events_are_listed_page_by_page(calendar: Calendar) -> None:
    """Each once, in the order of their start, and only those of the window."""
    made = [await calendar.put(f"page {day}", day, f"Paged {day}") for day in (7, 3, 5, 1, 9)]
    found: list[str] = []
    cursor = None
    while not found or cursor is not None:
        more = {} if cursor is None else {"cursor": cursor}
        page = await calendar.ask("list_events", {**WINDOW, "query": "Paged", "limit": 2, **more})
        assert len(page["events"]) <= 2
        found += [each["id"] for each in page["events"]]
        cursor = page["next_cursor"]
    assert found == [made[index] for index in (3, 1, 2, 0, 4)]
    narrow = {"time_min": "2026-03-03T00:00:00Z", "time_max": "2026-03-04T00:00:00Z", "query": "Paged"}
    assert [each["summary"] for each in (await calendar.ask("list_events", narrow))["events"]] == ["Paged 3"]


@pytest.mark.proves("calendar", "list_events", "failure")
async def test_a_calendar_that_is_not_there_is_not_an_empty_one(calendar: Calendar) -> None:
    """Nobody is told that nothing is planned."""
    error = await calendar.refused("list_events", {**WINDOW, "calendar_id": NOBODYS})
    assert error.kind is ErrorKind.NOT_FOUND


@pytest.mark.proves("calendar", "free_busy", "success")
async def test_a_calendar_is_busy_when_an_event_is(calendar: Calendar) -> None:
    """And nothing is known of one that is not there."""
    await calendar.put("busy", 20)
    window = {"time_min": "2026-03-20T00:00:00Z", "time_max": "2026-03-21T00:00:00Z"}
    mine, other = (await calendar.ask("free_busy", {**window, "calendars": ["primary", NOBODYS]}))["calendars"]
    assert (mine["error"], len(mine["busy"])) == (None, 1)
    assert mine["busy"][0]["start"].startswith("2026-03-20T10:00:00")
    assert (other["calendar"], other["error"], other["busy"]) == (NOBODYS, "unknown", [])


async def authorised(emulate: Emulate) -> dict[str, str]:
    """The OAuth credential that Ann gives, as she does it in a browser."""
    app = {"client_id": "tollhouse.apps.example", "redirect_uri": "http://127.0.0.1/back"}
    agreed = {**app, "email": "ann@corp.example", "scope": "calendar"}
    url = emulate.url("google")
    async with aiohttp.ClientSession() as browser:
        async with browser.post(f"{url}/o/oauth2/v2/auth/callback", data=agreed, allow_redirects=False) as back:
            code = back.headers["Location"].partition("code=")[2]
        secret = {"client_id": app["client_id"], "client_secret": "GOCSPX-local-test"}
        asked = {**app, **secret, "grant_type": "authorization_code", "code": code}
        async with browser.post(f"{url}/oauth2/token", data=asked) as given:
            return {**secret, "refresh_token": (await given.json())["refresh_token"]}


async def test_who_has_agreed_once_is_asked_no_more(emulate: Emulate) -> None:
    """The refresh token brings what events are listed with."""
    credential = await authorised(emulate)
    options = {"token_url": f"{emulate.url('google')}/oauth2/token"}
    port = emulate.port("google")
    async with desk(port, credential=json.dumps(credential), options=options, path="/calendar/v3") as at:
        january = {"time_min": "2026-01-01T00:00:00Z", "time_max": "2026-02-01T00:00:00Z"}
        found = await Calendar(at).ask("list_events", january)
        assert "evt_kickoff" in {each["id"] for each in found["events"]}
        assert {credential["refresh_token"], credential["client_secret"]} <= set(at.learned)


@pytest.mark.proves("calendar", "free_busy", "failure")
async def test_who_has_taken_it_back_has_to_be_asked(emulate: Emulate) -> None:
    """`invalid_grant` is a person's to settle; nothing is known of anybody's time."""
    credential = {**await authorised(emulate), "refresh_token": "google_refresh_taken_back"}
    options = {"token_url": f"{emulate.url('google')}/oauth2/token"}
    port = emulate.port("google")
    async with desk(port, credential=json.dumps(credential), options=options, path="/calendar/v3") as at:
        error = await Calendar(at).refused("free_busy", {**WINDOW, "calendars": ["primary"]})
    assert (error.kind, error.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)


@pytest.mark.proves("calendar", "cancel_event", "success")
async def test_an_event_is_gone_when_it_was_cancelled(calendar: Calendar) -> None:
    """For whoever looks. That it may be a series is said here: `emulate` cannot get one event, which tells it."""
    made = await calendar.put("to be cancelled", 12)
    assert made in await calendar.itself()
    cancelled = await calendar.ask("cancel_event", {"event_id": made, "send_updates": "none", "whole_series": True})
    assert cancelled == {"id": made, "status": "cancelled", "was_cancelled_before": False}
    assert made not in await calendar.itself()


@pytest.mark.proves("calendar", "cancel_event", "failure")
async def test_an_event_that_is_not_there_is_not_cancelled(calendar: Calendar) -> None:
    """It is not taken for one that was cancelled before."""
    error = await calendar.refused("cancel_event", {"event_id": "nobodys00", "send_updates": "none"})
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


Own = tuple[Calendar, GoogleCalendar]


@pytest.mark.proves("calendar", "get_event", "success")
async def test_an_event_is_got_whole(own: Own) -> None:
    """With its version."""
    found = await own[0].ask("get_event", {"event_id": "e1"})
    assert (found["summary"], found["etag"], found["attendee_count"]) == ("Quarterly review", '"100"', 2)


@pytest.mark.proves("calendar", "get_event", "failure")
async def test_an_event_that_is_not_there_is_not_found(own: Own) -> None:
    """In our words."""
    assert (await own[0].refused("get_event", {"event_id": "e2"})).kind is ErrorKind.NOT_FOUND


@pytest.mark.proves("calendar", "update_event", "success")
async def test_an_event_is_changed_and_nothing_else_of_it(own: Own) -> None:
    """Who was invited stays so with their answer; the version is a new one, and mail goes to whom it was said."""
    calendar, google = own
    before = dict(google.events["e1"])
    arguments = {"event_id": "e1", "etag": '"100"', "send_updates": "external_only"}
    people = ["ann@corp.example", "new@corp.example"]
    days = {"start": "2026-12-03", "end": "2026-12-04"}
    changed = await calendar.ask("update_event", {**arguments, **days, "location": "", "attendees": people})
    after = google.events["e1"]
    assert changed["etag"] == after["etag"] != before["etag"]
    assert (after["start"], after["end"]) == ({"date": "2026-12-03"}, {"date": "2026-12-04"})
    assert after["attendees"] == [before["attendees"][0], {"email": "new@corp.example"}]
    assert (after["summary"], after["description"]) == (before["summary"], before["description"])
    assert google.mails == ["externalOnly"]


@pytest.mark.proves("calendar", "update_event", "failure")
async def test_of_two_changes_to_one_version_the_second_is_a_conflict(own: Own) -> None:
    """Nothing is overwritten that nobody has seen."""
    calendar, google = own
    arguments = {"event_id": "e1", "etag": '"100"', "send_updates": "none"}
    await calendar.ask("update_event", {**arguments, "location": "Room 5"}, effect_id="first")
    error = await calendar.refused("update_event", {**arguments, "location": "Room 6"}, effect_id="second")
    assert (error.kind, error.happened) == (ErrorKind.CONFLICT, Happened.NO)
    assert google.events["e1"]["location"] == "Room 5"


async def test_g11_what_became_of_an_effect_is_found_out(own: Own) -> None:
    """Made, changed, cancelled or not: each before it was done, after it, and after it was undone by somebody."""
    calendar, google = own
    create = {"summary": "x", "start": "2026-12-01", "end": "2026-12-02", "send_updates": "none"}
    update = {"event_id": "e1", "etag": '"100"', "location": "Room 5", "send_updates": "none"}
    cancel = {"event_id": "e1", "send_updates": "none"}
    for operation, arguments in (("create_event", create), ("update_event", update), ("cancel_event", cancel)):
        assert await calendar.at.reconcile("calendar", operation, arguments) is Finding.NOT_DONE
        await calendar.ask(operation, arguments)
        assert await calendar.at.reconcile("calendar", operation, arguments) is Finding.DONE
    await calendar.ask("cancel_event", {"event_id": event_id("eff-1"), "send_updates": "none"})
    assert await calendar.at.reconcile("calendar", "create_event", create) is Finding.DONE
    again = await calendar.ask("cancel_event", cancel)
    assert again["was_cancelled_before"] is True
    assert google.events["e1"]["status"] == "cancelled"


async def test_g11_an_event_whose_answer_was_lost_is_made_once(own: Own) -> None:
    """Asked for again, it is the one that is there."""
    google = own[1]
    create = {"summary": "x", "start": "2026-12-01", "end": "2026-12-02", "send_updates": "all"}
    answer, left = google.answer, [True]

    def losing(asked: Any) -> Said:
        said = answer(asked)
        return Said(cut=True) if asked.method == "POST" and left and left.pop() else said

    async with vendor_server(losing) as server, desk(server) as at:
        lossy = Calendar(at)
        error = await lossy.refused("create_event", create)
        assert error.happened is Happened.UNKNOWN
        assert (await lossy.ask("create_event", create))["id"] == event_id("eff-1")
    assert set(google.events) == {"e1", event_id("eff-1")}
