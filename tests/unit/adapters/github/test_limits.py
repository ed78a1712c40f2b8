"""When GitHub wants to be asked again."""

from collections.abc import Mapping
from typing import Any

import pytest
from multidict import CIMultiDict

from adapters.base import Happened
from adapters.github.limits import is_secondary, limit_seconds, pauses, said
from adapters.transport.api import Pause
from adapters.transport.replies import Reply

NOW = 1_000_000.0


def reply(
    status: int, message: Any = None, wait: float | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    """An answer of GitHub's."""
    return Reply(
        status=status,
        headers=CIMultiDict(headers or {}),
        value={"message": message},
        happened=Happened.NO,
        retry_after_seconds=wait,
    )


def limited(remaining: str, reset: str, resource: str = "core") -> dict[str, str]:
    """The headers of a primary limit."""
    return {"X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": reset, "X-RateLimit-Resource": resource}


def test_a_good_answer_that_used_up_a_limit_is_a_pause_of_that_limit() -> None:
    """The next call would be refused."""
    assert [*pauses(reply(200, headers=limited("0", "1000090", "search")), NOW)] == [Pause(seconds=90.0, name="search")]
    assert [*pauses(reply(200, headers=limited("1", "1000090")), NOW)] == []
    assert [*pauses(reply(200), NOW)] == []


def test_a_secondary_limit_is_a_pause_of_the_whole_account() -> None:
    """A minute, where GitHub names no time."""
    message = "You have exceeded a secondary rate limit."
    assert [*pauses(reply(403, message), NOW)] == [Pause(seconds=60.0)]
    assert [*pauses(reply(403, message, 30.0), NOW)] == [Pause(seconds=30.0)]
    assert [*pauses(reply(429, message, 5.0, headers=limited("4000", "1000090")), NOW)] == [Pause(seconds=5.0)]


def test_a_refusal_that_speaks_of_both_limits_is_a_pause_of_both() -> None:
    """Of what was used up, and of the whole account."""
    answer = reply(403, "You have exceeded a secondary rate limit.", 9.0, limited("0", "1000030"))
    assert [*pauses(answer, NOW)] == [Pause(seconds=30.0, name="core"), Pause(seconds=30.0)]


def test_a_limit_that_nobody_can_place_is_a_pause_of_the_whole_account() -> None:
    """Which of them it was is not told."""
    assert [*pauses(reply(403, "API rate limit exceeded"), NOW)] == [Pause(seconds=60.0)]


def test_a_primary_limit_that_is_met_is_no_pause_of_the_rest() -> None:
    """Searches have one of their own."""
    answer = reply(403, "API rate limit exceeded", headers=limited("0", "1000030", "search"))
    assert [*pauses(answer, NOW)] == [Pause(seconds=30.0, name="search")]


def test_a_refusal_is_no_pause() -> None:
    """Nor is a fault."""
    assert [*pauses(reply(403, "Must have admin rights", headers=limited("44", "1000030")), NOW)] == []
    assert [*pauses(reply(500, "secondary rate limit"), NOW)] == []


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (reply(403, "no", 7.0), 7.0),
        (reply(403, "no", 7.0, headers=limited("0", "1000030")), 30.0),
        (reply(403, "API rate limit exceeded for user ID 1."), 60.0),
        (reply(429), 60.0),
        (reply(422, "was submitted too quickly"), 60.0),
        (reply(422, "Validation Failed"), None),
        (reply(403, "Resource not accessible by integration"), None),
        (reply(404, "rate limit exceeded"), None),
        (reply(403, None, headers=limited("0", "soon")), 60.0),
        (reply(403, None, headers=limited("0", "9" * 11)), 3600.0),
        (reply(403, None, headers=limited("0", "5")), 1.0),
        (reply(403, None, headers=limited("-1", "1000030")), None),
        (reply(403, 7), None),
    ],
)
def test_whether_a_refusal_is_a_limit(answer: Reply, seconds: float | None) -> None:
    """By its headers, and by its words where it has none."""
    assert limit_seconds(answer, NOW) == seconds


def test_a_resource_that_is_no_name_is_the_core() -> None:
    """What a vendor writes becomes no name of ours."""
    answer = reply(200, headers=limited("0", "1000030", "x" * 300))
    assert [*pauses(answer, NOW)] == [Pause(seconds=30.0, name="core")]


@pytest.mark.parametrize("value", [None, [], "text", {"message": 7}, {"errors": {}}, {"errors": [None, 7, {}]}])
def test_whatever_is_said_is_looked_through(value: Any) -> None:
    """Never a crash."""
    answer = Reply(status=403, headers=CIMultiDict(), value=value, happened=Happened.NO)
    assert said(answer) == ""
    assert not is_secondary(answer)
