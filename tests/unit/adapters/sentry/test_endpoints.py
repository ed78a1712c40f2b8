"""Everything is asked within the connection's organization, and a change once."""

from typing import Any

import pytest
from fakes.cases.sentry import ISSUE, sentry_target
from fakes.vendor import Said, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened, Invocation
from adapters.sentry.endpoints import issue_path, issues_path

OPTIONS = {"organization": "acme"}


def invocation(**arguments: Any) -> Invocation:
    """Of these prepared arguments."""
    return Invocation(arguments=arguments, target=sentry_target(1), credential=None, deadline=1.0, effect_id="e")


def test_paths_are_of_the_organization() -> None:
    """And of the issue."""
    assert issues_path(invocation()) == "/organizations/acme/issues/"
    assert issue_path(invocation(issue="A-1")) == "/organizations/acme/issues/A-1/"
    assert issue_path(invocation(issue="1"), "events/{}/", "latest") == "/organizations/acme/issues/1/events/latest/"


def test_nothing_leads_out_of_a_path() -> None:
    """Whatever `prepare` has let through."""
    assert issue_path(invocation(issue="1/../2?x#y")) == "/organizations/acme/issues/1%2F..%2F2%3Fx%23y/"
    with pytest.raises(AdapterError) as caught:
        issue_path(invocation(issue=".."))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.INVALID, Happened.NO)


async def test_a_read_is_repeated_and_a_change_is_not() -> None:
    """Not even one that could be done twice."""
    async with vendor_server(Said({}, status=502)) as server, desk(server, options=OPTIONS) as at:
        with pytest.raises(AdapterError) as read:
            await at.ask("sentry", "get_issue", {"issue": "1"})
        with pytest.raises(AdapterError) as change:
            await at.ask("sentry", "resolve_issue", {"issue": "1"})
    assert (read.value.attempts, read.value.happened) == (3, Happened.NO)
    assert (change.value.attempts, change.value.happened) == (1, Happened.UNKNOWN)


async def test_a_page_instead_of_an_answer_proves_nothing() -> None:
    """It may be a proxy's."""
    page = Said(body=b"<html>Sign in</html>", headers={"Content-Type": "text/html"})
    async with vendor_server(page) as server, desk(server, options=OPTIONS) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("sentry", "resolve_issue", {"issue": "1"})
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)


async def test_the_token_goes_along() -> None:
    """As a bearer token, to the path under the base URL."""
    async with vendor_server(Said(ISSUE)) as server, desk(server, path="/api/0", options=OPTIONS) as at:
        await at.ask("sentry", "get_issue", {"issue": "checkout-api-1f"})
    (asked,) = server.asked
    assert asked.path == "/api/0/organizations/acme/issues/CHECKOUT-API-1F/"
    assert asked.headers["Authorization"] == f"Bearer {at.credential}"
