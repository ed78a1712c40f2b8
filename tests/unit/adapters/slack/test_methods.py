"""A method is a form in a POST."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fakes.clock import FakeClock
from fakes.resolver import FakeResolver
from fakes.vendor import Said, VendorServer, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.slack.failures import judge
from adapters.slack.methods import Methods
from adapters.transport.api import Api, Vendor
from adapters.transport.authorisation import Bearer
from adapters.transport.breaker import Breaker
from adapters.transport.client import Transport
from adapters.transport.guard import Guard
from adapters.transport.pauses import MemoryPauses


@asynccontextmanager
async def methods(server: VendorServer) -> AsyncIterator[Methods]:
    """Those of a server."""
    clock = FakeClock(sleeps_pass=True)
    transport = Transport(
        clock=clock,
        random=lambda: 0.5,
        guard=Guard.of([f"127.0.0.1:{server.port}"]),
        resolver=FakeResolver({}),
        breaker=Breaker(clock),
    )
    vendor = Vendor(base_url="https://slack.com/api", authorises=Bearer(), judge=judge)
    try:
        yield Methods(Api(vendor, transport, clock, MemoryPauses(clock)))
    finally:
        await transport.close()


async def test_a_form_has_what_is_given_and_truths_in_small_letters() -> None:
    """Some of Slack's methods take no JSON."""
    async with vendor_server(Said({"ok": True})) as server, desk(server) as at, methods(server) as slack:
        await slack.read(
            at.invocation({}), "conversations.list", {"limit": 5, "cursor": None, "exclude_archived": True}
        )
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/conversations.list")
    assert asked.form == {"limit": "5", "exclude_archived": "true"}
    assert asked.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert asked.headers["Authorization"] == f"Bearer {at.credential}"


async def test_a_read_is_repeated_and_a_write_is_not() -> None:
    """Although both are a POST."""
    async with vendor_server(Said({}, status=503)) as server, desk(server) as at, methods(server) as slack:
        with pytest.raises(AdapterError) as read:
            await slack.read(at.invocation({}), "users.lookupByEmail", {})
        with pytest.raises(AdapterError) as write:
            await slack.write(at.invocation({}), "chat.postMessage", {})
    assert (read.value.attempts, read.value.happened) == (3, Happened.NO)
    assert (write.value.attempts, write.value.happened) == (1, Happened.UNKNOWN)


async def test_a_page_instead_of_an_answer_proves_nothing() -> None:
    """Not even with the status for success: it may be a proxy's."""
    page = Said(body=b"<html>Sign in</html>", headers={"Content-Type": "text/html"})
    async with vendor_server(page) as server, desk(server) as at, methods(server) as slack:
        with pytest.raises(AdapterError) as caught:
            await slack.write(at.invocation({}), "chat.postMessage", {})
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)
