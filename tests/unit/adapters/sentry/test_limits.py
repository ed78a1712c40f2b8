"""Sentry says when a window ends, and is left alone until then, one endpoint at a time."""

from collections.abc import Mapping

import pytest
from fakes.cases.sentry import ISSUE
from fakes.vendor import NOW, Asked, Said, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.sentry.limits import CONCURRENT_SECONDS, MAX_RESET_SECONDS, pauses, wait_of
from adapters.transport.api import Pause
from adapters.transport.replies import Reply

PREFIX = "X-Sentry-Rate-Limit-"


def reply(headers: Mapping[str, str], status: int = 200) -> Reply:
    """An answer with these headers, without their prefix."""
    named = {PREFIX + name: value for name, value in headers.items()}
    return Reply(status=status, headers=named, value=[], happened=Happened.NO)


def test_the_rest_of_a_window_is_waited_for() -> None:
    """By the endpoint that was asked."""
    used = reply({"Limit": "40", "Remaining": "0", "Reset": "105"})
    assert wait_of(used, 100.5) == 4.5
    assert list(pauses(used, 100.5)) == [Pause(seconds=4.5, is_of_call=True)]


def test_no_window_is_longer_than_windows_are() -> None:
    """A server whose clock is ahead would be left alone for a day."""
    assert wait_of(reply({"Remaining": "0", "Reset": "999999999999"}), 100.5) == MAX_RESET_SECONDS


def test_too_many_at_once_wait_for_a_moment() -> None:
    """A window has room then, and nobody says when one of the others ends."""
    crowded = {"Remaining": "30", "Reset": "105", "ConcurrentRemaining": "0"}
    assert wait_of(reply(crowded, 429), 100.0) == CONCURRENT_SECONDS
    assert wait_of(reply(crowded), 100.0) is None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Remaining": "1", "Reset": "105"},
        {"Remaining": "0"},
        {"Remaining": "0", "Reset": "99"},
        {"Remaining": "0", "Reset": "soon"},
        {"Remaining": "", "Reset": "105"},
        {"Remaining": "0", "Reset": "9" * 30},
        {"Remaining": "-0", "Reset": "105"},
    ],
)
def test_nobody_waits_otherwise(headers: Mapping[str, str]) -> None:
    """Not for what is over, or cannot be read."""
    assert list(pauses(reply(headers), 100.0)) == []


async def test_one_endpoint_pauses_and_others_go_on() -> None:
    """A success that used the last request of its window is still one."""

    def answer(asked: Asked) -> Said:
        headers = {PREFIX + "Remaining": "0", PREFIX + "Reset": f"{NOW + 5:.0f}"}
        return Said([ISSUE], headers=headers) if asked.path.endswith("/issues/") else Said(ISSUE)

    async with vendor_server(answer) as server, desk(server, options={"organization": "acme"}) as at:
        assert (await at.ask("sentry", "list_issues", {})).structured["issues"]
        with pytest.raises(AdapterError) as caught:
            await at.ask("sentry", "list_issues", {})
        assert (caught.value.kind, caught.value.happened) == (ErrorKind.RATE_LIMITED, Happened.NO)
        assert caught.value.retry_after_seconds == pytest.approx(5)
        assert (await at.ask("sentry", "get_issue", {"issue": "1"})).structured["id"]
        at.clock.advance(6)
        assert (await at.ask("sentry", "list_issues", {})).structured["issues"]
    assert len(server.asked) == 3
