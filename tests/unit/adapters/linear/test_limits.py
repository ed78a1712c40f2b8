"""When Linear may be asked again."""

from typing import Any

import pytest
from fakes.cases.linear import data, errors, page
from fakes.vendor import NOW, desk, saying, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.linear.limits import is_rate_limited, pauses, wait_seconds
from adapters.transport.api import Pause
from adapters.transport.replies import Reply


def _reply(headers: dict[str, str], value: Any = None, wait: float | None = None) -> Reply:
    return Reply(status=200, headers=headers, value=value, happened=Happened.NO, retry_after_seconds=wait)


def _left(limit: str, remaining: str, seconds: float) -> dict[str, str]:
    reset = str(int((NOW + seconds) * 1000))
    return {f"X-RateLimit-{limit}-Remaining": remaining, f"X-RateLimit-{limit}-Reset": reset}


@pytest.mark.parametrize("limit", ["Requests", "Complexity"])
def test_a_limit_that_is_used_up_is_a_pause_of_the_account(limit: str) -> None:
    """Until its reset, which is in milliseconds."""
    assert list(pauses(_reply(_left(limit, "0", 30)), NOW)) == [Pause(seconds=30.0)]
    assert list(pauses(_reply(_left(limit, "1", 30)), NOW)) == []


def test_a_limit_of_an_endpoint_is_a_pause_of_that_endpoint() -> None:
    """By the name that Linear gives it."""
    headers = {**_left("Endpoint-Requests", "0", 5), "X-RateLimit-Endpoint-Name": "issueCreate"}
    assert list(pauses(_reply(headers), NOW)) == [Pause(seconds=5.0, name="issueCreate")]
    assert list(pauses(_reply({**headers, "X-RateLimit-Endpoint-Name": "x" * 65}), NOW)) == []


@pytest.mark.parametrize("text", ["", "soon", "-1", "1.5", "9" * 20, "٣"])
def test_what_is_no_number_is_no_limit(text: str) -> None:
    """Neither as what remains nor as a reset."""
    for name in ("Remaining", "Reset"):
        headers = {**_left("Requests", "0", 30), f"X-RateLimit-Requests-{name}": text}
        assert list(pauses(_reply(headers), NOW)) == []


def test_a_wait_is_the_longest_pause() -> None:
    """Or what Retry-After says when no limit tells; None when nothing does."""
    headers = _left("Requests", "0", 3) | _left("Complexity", "0", 70)
    assert wait_seconds(_reply(headers), NOW) == 70.0
    assert wait_seconds(_reply({}, wait=4.0), NOW) == 4.0
    assert wait_seconds(_reply({}), NOW) is None


@pytest.mark.parametrize("value", [None, {}, {"errors": [None, {}, {"extensions": 1}, {"extensions": {"code": 5}}]}])
def test_what_says_no_limit_is_none(value: Any) -> None:
    """Whatever shape it is of."""
    assert not is_rate_limited(_reply({}, value))


async def test_an_account_that_is_used_up_is_left_alone() -> None:
    """By every operation, before Linear has to say it."""
    good = data(teams=page())
    said = type(good)(good.json, headers=_left("Requests", "0", 60))
    async with vendor_server(said) as server, desk(server) as at:
        await at.ask("linear", "list_teams", {})
        with pytest.raises(AdapterError) as caught:
            await at.ask("linear", "get_issue", {"issue": "ENG-1"})
    assert len(server.asked) == 1
    assert (caught.value.kind, caught.value.retry_after_seconds) == (ErrorKind.RATE_LIMITED, 60.0)


async def test_a_limit_of_one_mutation_leaves_others_be() -> None:
    """Only what counts to it waits."""
    limited = errors("RATELIMITED", status=400)
    headers = {**_left("Endpoint-Requests", "0", 60), "X-RateLimit-Endpoint-Name": "commentCreate"}
    limited = type(limited)(limited.json, 400, headers)
    async with vendor_server(saying(limited, data(teams=page()))) as server, desk(server) as at:
        for _ in range(2):
            with pytest.raises(AdapterError):
                await at.ask("linear", "comment_on_issue", {"issue": "ENG-1", "body": "Hello"})
        await at.ask("linear", "list_teams", {})
    assert len(server.asked) == 2


@pytest.mark.parametrize("text", ["9" * 16, str(int((NOW + 7200) * 1000)), str(int((NOW + 86_400) * 1000))])
def test_no_reset_is_further_away_than_a_window_of_linears(text: str) -> None:
    """Whatever a header says, an account is not given up for a day."""
    headers = {**_left("Requests", "0", 1), "X-RateLimit-Requests-Reset": text}
    assert list(pauses(_reply(headers), NOW)) == [Pause(seconds=3600.0)]


def test_a_reset_in_seconds_is_long_ago() -> None:
    """So it is no pause, rather than one of half a century."""
    headers = {**_left("Requests", "0", 1), "X-RateLimit-Requests-Reset": str(int(NOW + 30))}
    assert list(pauses(_reply(headers), NOW)) == []
