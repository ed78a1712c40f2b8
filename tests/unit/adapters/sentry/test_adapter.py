"""Sentry, from an agent's arguments to what Sentry is asked."""

from typing import Any

import pytest
from fakes.cases.sentry import COMMENT, EVENT, EVENT_ID, ISSUE, LINK
from fakes.clock import FakeClock
from fakes.vendor import Said, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened, SideEffect, Target
from adapters.installed import build_adapters
from adapters.sentry.marks import marked

OPTIONS = {"organization": "acme"}


async def test_issues_are_searched_and_a_list_goes_on() -> None:
    """By Sentry's own cursor, which the agent has in another form."""
    said = [Said([ISSUE], headers={"Link": LINK}), Said([ISSUE])]
    wanted = {"project": "checkout-api", "environment": "production", "sort": "events", "period": "24h", "limit": 5}
    async with vendor_server(lambda _asked: said.pop(0)) as server, desk(server, options=OPTIONS) as at:
        first = await at.ask("sentry", "list_issues", wanted)
        second = await at.ask("sentry", "list_issues", {**wanted, "cursor": first.structured["next_cursor"]})
    assert second.structured["next_cursor"] is None
    query = {
        "query": ["is:unresolved"],
        "projectSlug": ["checkout-api"],
        "environment": ["production"],
        "statsPeriod": ["24h"],
        "sort": ["freq"],
        "limit": ["5"],
    }
    assert [one.query for one in server.asked] == [query, {**query, "cursor": ["0:20:0"]}]
    assert first.receipt == "Listed 1 issues."


async def test_events_of_an_issue_are_listed() -> None:
    """A page at a time."""
    async with vendor_server(Said([EVENT], headers={"Link": LINK})) as server, desk(server, options=OPTIONS) as at:
        output = await at.ask("sentry", "list_events", {"issue": "a-1", "limit": 7})
    (asked,) = server.asked
    assert (asked.path, asked.query) == ("/organizations/acme/issues/A-1/events/", {"per_page": ["7"]})
    assert output.structured["events"][0]["id"] == EVENT_ID
    assert output.structured["next_cursor"]


async def test_one_event_is_read() -> None:
    """The latest when none is named; no receipt quotes what an error said."""
    async with vendor_server(Said(EVENT)) as server, desk(server, options=OPTIONS) as at:
        output = await at.ask("sentry", "get_event", {"issue": "1"})
    assert server.asked[0].path == "/organizations/acme/issues/1/events/latest/"
    assert output.receipt == "Read the event latest of the issue 1."


async def test_an_issue_is_resolved() -> None:
    """By one attribute, and no other is touched."""
    async with vendor_server(Said({**ISSUE, "status": "resolved"})) as server, desk(server, options=OPTIONS) as at:
        output = await at.ask("sentry", "resolve_issue", {"issue": "checkout-api-1f"})
    (asked,) = server.asked
    assert (asked.method, asked.json) == ("PUT", {"status": "resolved"})
    assert output.structured == {"issue": ISSUE["id"], "short_id": "CHECKOUT-API-1F", "status": "resolved"}


async def test_an_issue_that_stays_open_is_not_said_to_be_resolved() -> None:
    """Whatever the status of the answer."""
    async with vendor_server(Said(ISSUE)) as server, desk(server, options=OPTIONS) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("sentry", "resolve_issue", {"issue": "1"})
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.CONFLICT, Happened.UNKNOWN)


async def test_a_comment_carries_its_mark() -> None:
    """And is answered with its id."""
    async with vendor_server(Said(COMMENT, 201)) as server, desk(server, options=OPTIONS) as at:
        output = await at.ask("sentry", "comment_on_issue", {"issue": "a-1", "text": "Fixed by 1.4.3"})
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/organizations/acme/issues/A-1/comments/")
    assert asked.json == {"text": marked("Fixed by 1.4.3", "eff-1")}
    assert output.structured == {"issue": "A-1", "comment": "5566"}


async def test_g11_a_comment_that_is_answered_late_is_made_once() -> None:
    """Nobody repeats it, and a later look finds it."""
    made: list[dict[str, Any]] = []

    def sentry(asked: Any) -> Said:
        if asked.method == "POST":
            made.append({**COMMENT, "data": asked.json})
            return Said(hangs=True)
        return Said(made)

    arguments = {"issue": "1", "text": "Fixed"}
    async with vendor_server(sentry) as server, desk(server, options=OPTIONS) as at:
        operation = at.adapters["sentry"].operations["comment_on_issue"]
        with pytest.raises(AdapterError) as caught:
            await operation.invoke(at.invocation(operation.prepare(arguments), seconds=0.3))
        finding = await at.reconcile("sentry", "comment_on_issue", arguments, since=at.clock.now() - 60)
    assert (caught.value.happened, caught.value.attempts, len(made)) == (Happened.UNKNOWN, 1, 1)
    assert finding.value == "done"


@pytest.mark.parametrize(
    ("hosts", "options", "problems"),
    [
        (("sentry.io",), {"organization": "acme"}, 0),
        (("sentry.corp.example",), {"organization": "acme", "base_url": "https://sentry.corp.example/api/0"}, 0),
        (("sentry.io",), {}, 1),
        (("sentry.io",), {"organization": "Acme Inc"}, 1),
        (("sentry.io",), {"organization": "../x"}, 1),
        (("sentry.io",), {"organization": 7}, 1),
        (("de.sentry.io",), {"organization": "acme"}, 1),
        (("sentry.io",), {"organization": "acme", "project": "x"}, 1),
    ],
)
def test_a_connection_names_its_organization(hosts: tuple[str, ...], options: dict[str, Any], problems: int) -> None:
    """And where its token goes."""
    adapter = build_adapters(FakeClock())["sentry"]
    assert len(adapter.check_target(Target(name="sentry", hosts=hosts, options=options))) == problems


def test_what_changes_something_can_be_asked_about() -> None:
    """Every effect has a `reconcile`, and all need a token."""
    for operation in build_adapters(FakeClock())["sentry"].operations.values():
        assert operation.needs_credential
        assert (operation.reconcile is not None) is (operation.side_effect is not SideEffect.READ)
