"""What became of an effect."""

from typing import Any

import pytest
from fakes.cases.calendar import ETAG, event, page
from fakes.vendor import Answer, Asked, Said, desk, vendor_server

from adapters.base import Finding
from adapters.calendar.marks import event_id, mark

CREATE = {"summary": "x", "start": "2026-12-01", "end": "2026-12-02", "send_updates": "none"}
UPDATE = {"event_id": "e1", "etag": ETAG, "summary": "x", "send_updates": "none"}
CANCEL = {"event_id": "e1", "send_updates": "none"}
OWN = event_id("eff-1")
DELETED = Said({"error": {"errors": [{"reason": "deleted"}], "code": 410}}, status=410)
ABSENT = Said({"error": {"errors": [{"reason": "notFound"}], "code": 404}}, status=404)


async def found(operation: str, arguments: dict[str, Any], answer: Answer | Said) -> Finding:
    """What is found out, by reading alone."""
    async with vendor_server(answer) as server, desk(server) as at:
        finding = await at.reconcile("calendar", operation, arguments)
    assert server.effects == []
    return finding


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (Said(event(id=OWN)), Finding.DONE),
        (Said(event(id=OWN, status="cancelled")), Finding.DONE),
        (DELETED, Finding.DONE),
        (Said(event(id="another")), Finding.STILL_UNKNOWN),
        (Said([]), Finding.STILL_UNKNOWN),
        (Said({}, status=403), Finding.STILL_UNKNOWN),
        (Said({}, status=500), Finding.STILL_UNKNOWN),
        (Said(body=b"<html>"), Finding.STILL_UNKNOWN),
    ],
)
async def test_a_new_event_is_found_by_its_own_id(answer: Said, finding: Finding) -> None:
    """One that was deleted since was made first."""
    assert await found("create_event", CREATE, answer) is finding


@pytest.mark.parametrize(
    ("calendar", "finding"),
    [
        (Said(page()), Finding.NOT_DONE),
        (ABSENT, Finding.STILL_UNKNOWN),
        (Said({}), Finding.STILL_UNKNOWN),
        (Said({}, status=503), Finding.STILL_UNKNOWN),
    ],
)
async def test_an_absent_event_was_not_made_if_the_calendar_can_be_seen(calendar: Said, finding: Finding) -> None:
    """An account that lost sight of the calendar sees no event either."""

    def answer(asked: Asked) -> Said:
        return ABSENT if asked.path.endswith(OWN) else calendar

    assert await found("create_event", CREATE, answer) is finding


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (Said(event(id="e1", etag='"new"', **mark("eff-1"))), Finding.DONE),
        (Said(event(id="e1", etag=ETAG)), Finding.NOT_DONE),
        (Said(event(id="e1", etag='"new"')), Finding.STILL_UNKNOWN),
        (Said(event(id="e1", etag='"new"', **mark("eff-2"))), Finding.STILL_UNKNOWN),
        (Said(event(id="e2", etag=ETAG)), Finding.STILL_UNKNOWN),
        (Said(None), Finding.STILL_UNKNOWN),
        (ABSENT, Finding.STILL_UNKNOWN),
    ],
)
async def test_a_change_is_found_by_its_mark(answer: Said, finding: Finding) -> None:
    """The version that it was to be made to, unchanged, says that it was not made."""
    assert await found("update_event", UPDATE, answer) is finding


async def test_a_change_of_an_event_that_is_gone_is_not_known() -> None:
    """It may have been made before."""
    assert await found("update_event", UPDATE, DELETED) is Finding.STILL_UNKNOWN


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (Said(event(id="e1", status="cancelled")), Finding.DONE),
        (DELETED, Finding.DONE),
        (Said(event(id="e1")), Finding.NOT_DONE),
        (Said(event(id="e1", status="strange")), Finding.STILL_UNKNOWN),
        (ABSENT, Finding.STILL_UNKNOWN),
        (Said({}, status=500), Finding.STILL_UNKNOWN),
    ],
)
async def test_a_cancelled_event_is_found_by_what_it_is(answer: Said, finding: Finding) -> None:
    """What cannot be found is not known to be cancelled."""
    assert await found("cancel_event", CANCEL, answer) is finding
