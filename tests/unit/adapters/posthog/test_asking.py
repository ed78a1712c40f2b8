"""Questions to a project's private API."""

from typing import Any

import pytest
from fakes.cases.posthog import PROJECT, TREND, results
from fakes.vendor import Desk, Said, VendorServer, desk, saying, vendor_server

from adapters.base import AdapterError, ErrorKind

OPTIONS = {"project_id": PROJECT}
TRENDS = {"events": ["$pageview"]}


def _running(identifier: Any = "q1", **more: Any) -> Said:
    return Said({"results": None, "query_status": {"id": identifier, "complete": False, **more}}, status=202)


def _done(**more: Any) -> Said:
    return Said(
        {"query_status": {"id": "q1", "complete": True, "error": False, "results": {"results": [TREND]}, **more}}
    )


async def _asked(at: Desk, **more: Any) -> Any:
    return (await at.ask("posthog", "run_trend", TRENDS, **more)).structured


async def test_a_query_goes_to_the_project_of_the_connection() -> None:
    """As a typed query that PostHog is to answer at once, with the personal key."""
    async with vendor_server(results([TREND])) as server, desk(server, options=OPTIONS) as at:
        await _asked(at)
        (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", f"/api/projects/{PROJECT}/query/")
    assert (asked.json["query"]["kind"], asked.json["refresh"]) == ("TrendsQuery", "blocking")
    assert asked.headers["Authorization"] == f"Bearer {at.credential}"


async def test_a_query_that_goes_on_is_looked_at() -> None:
    """Under its id, until it is done, with waits between."""
    async with vendor_server(saying(_running(), _running(), _done())) as server, desk(server, options=OPTIONS) as at:
        before = at.clock.monotonic()
        assert (await _asked(at))["series"][0]["total"] == 30.0
        assert at.clock.monotonic() - before == 1.5
        paths = [(one.method, one.path) for one in server.asked[1:]]
    assert paths == [("GET", f"/api/projects/{PROJECT}/query/q1/")] * 2


async def _refused(server: VendorServer, seconds: float = 60.0) -> AdapterError:
    async with desk(server, options=OPTIONS) as at:
        with pytest.raises(AdapterError) as caught:
            await _asked(at, seconds=seconds)
    return caught.value


async def test_a_query_that_does_not_end_is_to_be_asked_again() -> None:
    """After a bounded number of looks, or before the deadline."""
    async with vendor_server(_running()) as server:
        error = await _refused(server)
        assert (error.kind, error.retry_after_seconds) == (ErrorKind.UNAVAILABLE, 30.0)
        assert len(server.asked) == 9
        server.asked.clear()
        error = await _refused(server, seconds=1.0)
        assert (error.kind, error.retry_after_seconds) == (ErrorKind.UNAVAILABLE, 30.0)
        assert len(server.asked) == 2


async def test_what_the_last_look_sees_counts() -> None:
    """A query that ends in the last moment has a result."""
    answers = [_running() for _ in range(8)]
    async with vendor_server(saying(*answers, _done())) as server, desk(server, options=OPTIONS) as at:
        assert (await _asked(at, seconds=60.0))["series"][0]["total"] == 30.0
        assert len(server.asked) == 9


@pytest.mark.parametrize("identifier", [None, 7, "", "x" * 200])
async def test_a_query_without_a_name_cannot_be_looked_at(identifier: Any) -> None:
    """It is malformed."""
    async with vendor_server(_running(identifier)) as server:
        assert (await _refused(server)).kind is ErrorKind.MALFORMED


@pytest.mark.parametrize("identifier", ["../../users/@me", "a/b", "a?b=c"])
async def test_a_querys_name_leads_nowhere_else(identifier: str) -> None:
    """Whatever the vendor calls it."""
    async with vendor_server(saying(_running(identifier), _done())) as server, desk(server, options=OPTIONS) as at:
        await _asked(at)
        path = server.asked[1].path
        assert path.startswith(f"/api/projects/{PROJECT}/query/")
        assert server.asked[1].query == {}


async def test_a_query_that_fails_later_fails() -> None:
    """With what its status says."""
    failed = Said({"query_status": {"id": "q1", "complete": True, "error": True, "error_message": "No"}}, status=400)
    async with vendor_server(saying(_running(), failed)) as server:
        assert (await _refused(server)).kind is ErrorKind.INVALID


async def test_a_connection_without_a_project_asks_nobody() -> None:
    """Its operator has to say which."""
    async with vendor_server(results([])) as server, desk(server) as at:
        with pytest.raises(AdapterError) as caught:
            await _asked(at)
        assert not server.asked
    assert caught.value.kind is ErrorKind.INVALID
