"""Sessions that are kept: for whom, for how long, and how many."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import orjson
import pytest
from fakes.mcp_server import McpServer, open_mcp_server
from fakes.mcp_wire import Reached, reaching, running, text_of, until

from adapters.base import AdapterError, ErrorKind, Happened, Secret
from adapters.mcp_upstream import sessions as sessions_module


@pytest.fixture
async def server() -> AsyncIterator[McpServer]:
    """A server over HTTP."""
    async with open_mcp_server() as opened:
        yield opened


@pytest.fixture
async def reached(server: McpServer) -> AsyncIterator[Reached]:
    """Sessions with it."""
    async with reaching(server.url, server.target) as opened:
        yield opened


async def _error(awaitable: Any) -> AdapterError:
    with pytest.raises(AdapterError) as caught:
        await awaitable
    return caught.value


def _asserting(**claims: str) -> Callable[[], Awaitable[Secret]]:
    payload = base64.urlsafe_b64encode(orjson.dumps(claims)).decode().rstrip("=")

    async def assertion() -> Secret:
        return Secret(f"head.{payload}.signature")

    return assertion


async def test_one_account_one_session(server: McpServer, reached: Reached) -> None:
    """Which is opened once, however many want it at the same moment."""
    found = await asyncio.gather(*(reached.of(secret="sesame") for _ in range(20)))
    assert len({id(one) for one in found}) == 1
    assert server.methods().count("initialize") == 1


async def test_another_account_or_credential_is_another_session(server: McpServer, reached: Reached) -> None:
    """One that was replaced is not used any more."""
    first = await reached.of(secret="old")
    assert await reached.of(secret="old") is first
    assert await reached.of(secret="new") is not first
    assert await reached.of() is not first
    assert await reached.of(secret="old", account="other/crm") is not first
    assert server.methods().count("initialize") == 4


async def test_nothing_that_is_kept_shows_a_credential(reached: Reached) -> None:
    """Neither as it is nor by a digest that could be tried out."""
    await reached.of(secret="sesame")
    keys = repr(reached.sessions._kept)
    assert "sesame" not in keys
    assert "e9b14ca6" not in keys  # as unsalted SHA-256 begins


async def test_principals_share_no_session_where_they_are_told(server: McpServer, reached: Reached) -> None:
    """A server may well look at who calls only when it is opened. Another call of the same one is no other."""
    who = {"sub": "ann", "tenant": "acme", "agent": "a", "principal_kind": "human"}
    ann = await reached.of(assertion=_asserting(**who, jti="1"))
    assert await reached.of(assertion=_asserting(**who, jti="2")) is ann
    assert await reached.of(assertion=_asserting(**{**who, "sub": "bob"}, jti="1")) is not ann
    assert await reached.of(assertion=_asserting(jti="1")) is not ann
    assert server.methods().count("initialize") == 3


async def test_whoever_leaves_breaks_nothing_off(server: McpServer, reached: Reached) -> None:
    """A server that opens slowly is open for the next one. Each waits until its own deadline."""
    server.hangs_at = "initialize"
    leaving = asyncio.create_task(reached.of())
    await server.wait_for("initialize")
    leaving.cancel()
    error = await _error(reached.of(seconds=0.1))
    assert (error.kind, error.happened) == (ErrorKind.DEADLINE, Happened.NO)
    assert server.methods().count("initialize") == 1


async def test_a_failure_is_told_to_all_and_then_forgotten(server: McpServer, reached: Reached) -> None:
    """Each gets an error of its own; the next one tries again."""
    server.status = 503
    errors = await asyncio.gather(*(_error(reached.of()) for _ in range(5)))
    assert len({id(error) for error in errors}) == 5
    assert len(server.seen) == 1
    server.status = 0
    await reached.of()


async def test_what_is_idle_is_ended(server: McpServer, reached: Reached) -> None:
    """After some minutes, and at its server too; what is used stays."""
    session = await reached.of()
    for _ in range(int(sessions_module.IDLE_SECONDS // sessions_module.SWEEP_SECONDS)):
        await until(lambda: reached.clock.sleepers == 1)
        assert await reached.of() is session
        reached.clock.advance(sessions_module.SWEEP_SECONDS)
    assert ":delete" not in server.methods()
    for _ in range(int(sessions_module.IDLE_SECONDS // sessions_module.SWEEP_SECONDS) + 1):
        await until(lambda: reached.clock.sleepers == 1 or not reached.sessions._kept)
        reached.clock.advance(sessions_module.SWEEP_SECONDS)
    await server.wait_for(":delete")
    assert await reached.of() is not session


async def test_so_many_are_kept(server: McpServer, reached: Reached, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was used least recently goes; while all are in use there is no room."""
    monkeypatch.setattr(sessions_module, "MAX_SESSIONS", 2)
    first = await reached.of(account="acme/1")
    reached.clock.advance(1)
    await reached.of(account="acme/2")
    reached.clock.advance(1)
    assert await reached.of(account="acme/1") is first
    await reached.of(account="acme/3")
    assert await reached.of(account="acme/1") is first
    server.hangs_at = "initialize"
    for account in ("acme/4", "acme/5"):
        await _error(reached.of(account=account, seconds=0.05))
    error = await _error(reached.of(account="acme/6"))
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)


async def test_after_the_end_there_are_none(server: McpServer, reached: Reached) -> None:
    """Closing twice is harmless."""
    await reached.of()
    await reached.sessions.close()
    await reached.sessions.close()
    assert ":delete" in server.methods()
    assert (await _error(reached.of())).happened is Happened.NO


async def test_what_is_being_opened_ends_too(server: McpServer, reached: Reached) -> None:
    """Nothing is left behind."""
    server.hangs_at = "initialize"
    waiting = asyncio.create_task(reached.of())
    await server.wait_for("initialize")
    await reached.sessions.close()
    assert (await _error(waiting)).kind is ErrorKind.UNAVAILABLE


async def test_a_process_is_one_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one tenant tells a server, another's does not hear. Idle ones end."""
    async with running() as reached:
        pids = set()
        for account in ("acme/1", "acme/1", "acme/2"):
            session = await reached.of(account=account)
            deadline = reached.clock.monotonic() + 5
            told = await session.call("environment", {}, deadline, lambda *_: None, has_effect=False)
            pids.add(orjson.loads(text_of(told))["pid"])
        assert len(pids) == 2
        monkeypatch.setattr(sessions_module, "IDLE_SECONDS", 1.0)
        await until(lambda: reached.clock.sleepers == 1)
        reached.clock.advance(sessions_module.SWEEP_SECONDS)
        await until(lambda: not reached.sessions._kept and not reached.sessions._ending)


async def test_a_url_that_is_none(reached: Reached) -> None:
    """Is no reason to fall over; the check of the connection has said so before."""
    reached.options = {"url": "file:///etc/passwd"}
    assert (await _error(reached.of())).kind is ErrorKind.INVALID
    reached.options = {"stdio": "nowhere"}
    assert (await _error(reached.of())).happened is Happened.NO
    assert reached.sessions.target_problems(reached.invocation().target) != []
