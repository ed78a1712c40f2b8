"""Sentry as a server of our own imitates it: what an operation did is there afterwards, for whoever asks."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from fakes.sentry import FakeSentry
from fakes.vendor import NOW, Desk, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Finding, Happened

OPTIONS = {"organization": "acme"}


@dataclass
class Sentry:
    """The adapter before the server, and the server itself."""

    at: Desk
    itself: FakeSentry

    async def ask(self, operation: str, arguments: dict[str, Any], **more: Any) -> Any:
        """The structured output."""
        return (await self.at.ask("sentry", operation, arguments, **more)).structured

    async def refused(self, operation: str, arguments: dict[str, Any], **more: Any) -> AdapterError:
        """The error that it ends with."""
        with pytest.raises(AdapterError) as caught:
            await self.ask(operation, arguments, **more)
        return caught.value

    async def all_of(self, operation: str, name: str, arguments: dict[str, Any]) -> list[Any]:
        """Every page, together."""
        found: list[Any] = []
        cursor = None
        while True:
            page = await self.ask(operation, arguments | ({} if cursor is None else {"cursor": cursor}))
            assert len(page[name]) <= arguments["limit"]
            found += page[name]
            cursor = page["next_cursor"]
            if cursor is None:
                return found


@pytest.fixture
async def sentry() -> AsyncIterator[Sentry]:
    """Sentry, with five issues of two projects."""
    itself = FakeSentry()
    for number in range(1, 6):
        itself.add_issue(number, project="checkout-api" if number < 4 else "web", events=number)
    async with vendor_server(itself.answer) as server, desk(server, path="/api/0", options=OPTIONS) as at:
        yield Sentry(at, itself)


@pytest.mark.proves("sentry", "list_issues", "success")
@pytest.mark.proves("sentry", "list_issues", "paging")
async def test_issues_are_listed_page_by_page(sentry: Sentry) -> None:
    """Each once, of one project or of all."""
    found = await sentry.all_of("list_issues", "issues", {"limit": 2})
    assert [one["id"] for one in found] == ["1", "2", "3", "4", "5"]
    found = await sentry.all_of("list_issues", "issues", {"limit": 2, "project": "web"})
    assert [(one["short_id"], one["project"], one["events"]) for one in found] == [
        ("WEB-4", "web", 4),
        ("WEB-5", "web", 5),
    ]


@pytest.mark.proves("sentry", "list_issues", "failure")
async def test_a_search_that_cannot_be_read(sentry: Sentry) -> None:
    """It is for the agent to mend."""
    assert (await sentry.refused("list_issues", {"query": "is:unresolved ("})).kind is ErrorKind.INVALID


async def test_a_token_that_sentry_does_not_know(sentry: Sentry) -> None:
    """It needs a person."""
    sentry.at.credential = "sntrys_other"
    assert (await sentry.refused("list_issues", {})).kind is ErrorKind.NEEDS_AUTHORISATION


@pytest.mark.proves("sentry", "get_issue", "success")
async def test_an_issue_is_found_by_both_its_names(sentry: Sentry) -> None:
    """Its number and its short id."""
    by_number = await sentry.ask("get_issue", {"issue": "4"})
    assert by_number == await sentry.ask("get_issue", {"issue": "web-4"})
    assert (by_number["title"], by_number["status"]) == ("Error 4", "unresolved")


@pytest.mark.proves("sentry", "get_issue", "failure")
@pytest.mark.proves("sentry", "list_events", "failure")
@pytest.mark.proves("sentry", "get_event", "failure")
@pytest.mark.proves("sentry", "resolve_issue", "failure")
@pytest.mark.proves("sentry", "comment_on_issue", "failure")
@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("get_issue", {"issue": "99"}),
        ("list_events", {"issue": "99"}),
        ("get_event", {"issue": "1", "event": "f" * 32}),
        ("resolve_issue", {"issue": "99"}),
        ("comment_on_issue", {"issue": "99", "text": "x"}),
    ],
)
async def test_what_is_not_there(sentry: Sentry, operation: str, arguments: dict[str, Any]) -> None:
    """Nothing is done then."""
    error = await sentry.refused(operation, arguments)
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


@pytest.mark.proves("sentry", "list_events", "success")
@pytest.mark.proves("sentry", "list_events", "paging")
async def test_events_are_listed_page_by_page(sentry: Sentry) -> None:
    """Newest first."""
    found = await sentry.all_of("list_events", "events", {"issue": "5", "limit": 2})
    assert [one["message"] for one in found] == [f"For the {count}. time" for count in (5, 4, 3, 2, 1)]


@pytest.mark.proves("sentry", "get_event", "success")
async def test_an_event_is_read_by_id_or_by_name(sentry: Sentry) -> None:
    """The latest when nothing is said."""
    latest = await sentry.ask("get_event", {"issue": "5"})
    assert (latest["message"], latest["environment"], latest["issue"]) == ("For the 5. time", "production", "5")
    assert await sentry.ask("get_event", {"issue": "5", "event": latest["id"]}) == latest
    assert (await sentry.ask("get_event", {"issue": "5", "event": "oldest"}))["message"] == "For the 1. time"


@pytest.mark.proves("sentry", "resolve_issue", "success")
async def test_an_issue_that_was_resolved_is(sentry: Sentry) -> None:
    """It is in no list of open ones, and a later look finds it, even when it was opened again."""
    before = await sentry.at.reconcile("sentry", "resolve_issue", {"issue": "2"}, since=NOW - 300)
    assert await sentry.ask("resolve_issue", {"issue": "2"}) == {
        "issue": "2",
        "short_id": "CHECKOUT-API-2",
        "status": "resolved",
    }
    assert "2" not in [one["id"] for one in (await sentry.ask("list_issues", {}))["issues"]]
    after = await sentry.at.reconcile("sentry", "resolve_issue", {"issue": "2"}, since=NOW - 300)
    sentry.itself.issues[1]["status"] = "unresolved"
    again = await sentry.at.reconcile("sentry", "resolve_issue", {"issue": "2"}, since=NOW - 300)
    assert (before, after, again) == (Finding.NOT_DONE, Finding.DONE, Finding.DONE)


@pytest.mark.proves("sentry", "comment_on_issue", "success")
async def test_a_comment_is_there_once(sentry: Sentry) -> None:
    """The same effect again is refused as done; the same words of another effect are another comment."""
    arguments = {"issue": "1", "text": "Fixed by 1.4.3"}
    assert await sentry.ask("comment_on_issue", arguments, effect_id="eff-a") == {"issue": "1", "comment": "1"}
    error = await sentry.refused("comment_on_issue", arguments, effect_id="eff-a")
    assert (error.kind, error.happened) == (ErrorKind.CONFLICT, Happened.YES)
    await sentry.ask("comment_on_issue", arguments, effect_id="eff-b")
    for number in range(3):
        await sentry.ask("comment_on_issue", {"issue": "1", "text": f"and {number}"}, effect_id=f"eff-{number}")
    texts = [one["data"]["text"].split("\n")[0] for one in sentry.itself.comments["1"]]
    assert texts == ["and 2", "and 1", "and 0", "Fixed by 1.4.3", "Fixed by 1.4.3"]
    found = [
        await sentry.at.reconcile("sentry", "comment_on_issue", arguments, effect_id=effect, since=NOW - 300)
        for effect in ("eff-a", "eff-b", "eff-c")
    ]
    assert found == [Finding.DONE, Finding.DONE, Finding.STILL_UNKNOWN]
