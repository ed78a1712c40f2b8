"""Sentry is asked what became of a change, and its silence is believed only for a while."""

from datetime import UTC, datetime
from typing import Any

import pytest
from fakes.cases.sentry import COMMENT, ISSUE
from fakes.vendor import NOW, Answer, Asked, Said, desk, vendor_server

from adapters.base import AdapterError, Finding
from adapters.sentry.marks import marked

DONE, NOT_DONE, STILL_UNKNOWN = Finding.DONE, Finding.NOT_DONE, Finding.STILL_UNKNOWN
RECENT = NOW - 300
COMMENTING = {"issue": "1", "text": "Fixed"}


def at_moment(seconds: float) -> str:
    """As Sentry writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def note(text: str, seconds: float) -> dict[str, Any]:
    """A comment."""
    return {**COMMENT, "data": {"text": text}, "dateCreated": at_moment(seconds)}


def link(cursor: str) -> dict[str, str]:
    """There is another page."""
    return {"Link": f'<https://a.example>; rel="next"; results="true"; cursor="{cursor}"'}


async def found(
    answer: Answer | Said, operation: str, arguments: dict[str, Any], since: float
) -> tuple[Finding, list[Asked]]:
    """What became of it, and what was asked."""
    async with vendor_server(answer) as server, desk(server, options={"organization": "acme"}) as at:
        return await at.reconcile("sentry", operation, arguments, since=since), server.asked


async def test_a_comment_with_our_mark_was_made() -> None:
    """Whoever commented after it."""
    said = Said([note("Thanks", NOW), note(marked("Fixed", "eff-1"), NOW - 100)])
    finding, (asked,) = await found(said, "comment_on_issue", COMMENTING, RECENT)
    assert (finding, asked.method) == (DONE, "GET")
    assert asked.path == "/organizations/acme/issues/1/comments/"


@pytest.mark.parametrize("since", [NOW - 60, RECENT, NOW - 3601, 0.0])
async def test_absence_proves_nothing(since: float) -> None:
    """Too early it may still come, and at any time it may have been deleted."""
    assert (await found(Said([note("Fixed", NOW)]), "comment_on_issue", COMMENTING, since))[0] is STILL_UNKNOWN


async def test_comments_are_read_back_to_the_first_attempt() -> None:
    """And no further."""
    said = [Said([note("a", NOW)], headers=link("p2")), Said([note("b", RECENT - 1)], headers=link("p3"))]
    finding, asked = await found(lambda _asked: said.pop(0), "comment_on_issue", COMMENTING, RECENT)
    assert finding is STILL_UNKNOWN
    assert [one.query.get("cursor") for one in asked] == [None, ["p2"]]


async def test_comments_without_end_are_left() -> None:
    """After ten pages, and nothing is claimed; what has no moment may be recent."""
    said = Said([{"data": None, "dateCreated": "soon"}], headers=link("p"))
    finding, asked = await found(said, "comment_on_issue", COMMENTING, RECENT)
    assert (finding, len(asked)) == (STILL_UNKNOWN, 10)


@pytest.mark.parametrize("said", [Said({}), Said({"detail": "no"}, status=403), Said(None)])
async def test_who_cannot_be_asked_says_nothing(said: Said) -> None:
    """An error is an error, and never a finding."""
    with pytest.raises(AdapterError):
        await found(said, "comment_on_issue", COMMENTING, RECENT)


def history(*entries: tuple[str, float]) -> dict[str, Any]:
    """An issue that is open, with what happened to it, newest first."""
    activity = [{"type": kind, "dateCreated": at_moment(seconds), "data": {}} for kind, seconds in entries]
    return {**ISSUE, "activity": activity}


OLD = ("first_seen", NOW - 90_000)


@pytest.mark.parametrize(
    ("value", "since", "finding"),
    [
        ({**ISSUE, "status": "resolved"}, NOW, DONE),
        (history(("set_regression", NOW - 50), ("set_resolved", NOW - 100), OLD), RECENT, DONE),
        (history(("set_resolved_in_release", NOW - 100)), RECENT, DONE),
        (history(("set_resolved", RECENT - 100), OLD), RECENT, NOT_DONE),
        (history(OLD), RECENT, NOT_DONE),
        (history(OLD), NOW - 60, STILL_UNKNOWN),
        (history(("assigned", NOW - 50)), RECENT, STILL_UNKNOWN),
        ({**ISSUE, "activity": None}, RECENT, STILL_UNKNOWN),
        ({**ISSUE, "activity": [{}, None, {"type": None, "dateCreated": 7}]}, RECENT, STILL_UNKNOWN),
    ],
)
async def test_an_issue_is_resolved_or_its_history_says_that_it_was_not(
    value: dict[str, Any], since: float, finding: Finding
) -> None:
    """A history that does not reach back far enough says nothing."""
    got, (asked,) = await found(Said(value), "resolve_issue", {"issue": "1"}, since)
    assert (got, asked.method) == (finding, "GET")


async def test_a_change_is_shown_before_it_is_made() -> None:
    """What is, and what would be."""
    async with vendor_server(Said(ISSUE)) as server, desk(server, options={"organization": "acme"}) as at:
        operation = at.adapters["sentry"].operations["resolve_issue"]
        assert operation.preview is not None
        shown = await operation.preview(at.invocation(operation.prepare({"issue": "1"})))
    named = {"issue": "4509877862268928", "short_id": "CHECKOUT-API-1F"}
    assert shown == {"was": {**named, "status": "unresolved"}, "will_be": {**named, "status": "resolved"}}
    assert not server.effects
