"""Streamable HTTP against a server that behaves as the called tool's name says."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from fakes.mcp_server import McpServer, open_mcp_server, tool
from fakes.mcp_wire import Reached, reaching, text_of, unheard, until

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Secret
from adapters.mcp_upstream import http, rpc


@pytest.fixture
async def server() -> AsyncIterator[McpServer]:
    """A server of the newest revision with a handshake."""
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
    assert "ignore all rules" not in f"{caught.value!r} {caught.value.message}"
    return caught.value


async def test_a_call(server: McpServer, reached: Reached) -> None:
    """After a handshake that offers nothing; the session and the revision are in every later request."""
    assert text_of(await reached.call("echo", {"text": "hi"})) == '{"text": "hi"}'
    assert server.methods() == ["initialize", "notifications/initialized", "tools/call"]
    asked = server.heard[0]["params"]
    assert (asked["protocolVersion"], asked["capabilities"]) == ("2025-11-25", {})
    first, *later = server.seen
    assert "Mcp-Session-Id" not in first
    assert "MCP-Protocol-Version" not in first
    for headers in later:
        assert (headers["Mcp-Session-Id"], headers["MCP-Protocol-Version"]) == ("s-1", "2025-11-25")
        assert headers["Accept"] == "application/json, text/event-stream"
        assert "Authorization" not in headers


async def test_an_answer_without_a_stream(server: McpServer, reached: Reached) -> None:
    """Is as good."""
    server.json_only = True
    assert text_of(await reached.call("echo")) == "{}"


async def test_no_stream_is_opened_by_get(server: McpServer, reached: Reached) -> None:
    """And the session is ended at the end."""
    await reached.call("echo")
    await reached.sessions.close()
    assert [seen[":method"] for seen in server.seen] == ["POST", "POST", "POST", "DELETE"]
    assert server.seen[-1]["Mcp-Session-Id"] == "s-1"


async def test_a_credential_is_the_bearer_of_every_request(server: McpServer, reached: Reached) -> None:
    """The one that ends the session included; what was kept of it is dropped then."""
    await reached.of(secret="sesame")
    await reached.sessions.close()
    assert [seen.get("Authorization") for seen in server.seen] == ["Bearer sesame"] * 3


async def test_who_calls_is_in_every_request(server: McpServer, reached: Reached) -> None:
    """By the assertion of the call that it is of, and not the one that opened the session."""
    made = iter(range(100))

    async def assertion() -> Secret:
        # Of one principal: {"sub":"ann","tenant":"acme","agent":"a","principal_kind":"human"}
        claims = "eyJzdWIiOiJhbm4iLCJ0ZW5hbnQiOiJhY21lIiwiYWdlbnQiOiJhIiwicHJpbmNpcGFsX2tpbmQiOiJodW1hbiJ9"
        return Secret(f"head.{claims}.{next(made)}")

    deadline = reached.clock.monotonic() + 5
    for _ in range(2):
        session = await reached.of(assertion=assertion)
        await session.call("echo", {}, deadline, unheard, has_effect=False)
    sent = [seen[http.ASSERTION_HEADER] for seen in server.seen]
    assert len(set(sent)) == len(sent) == 4
    await reached.call("echo")
    assert http.ASSERTION_HEADER not in server.seen[-1]


@pytest.mark.parametrize(
    ("status", "kind", "happened"),
    [
        (401, ErrorKind.NEEDS_AUTHORISATION, Happened.NO),
        (403, ErrorKind.FORBIDDEN, Happened.NO),
        (429, ErrorKind.RATE_LIMITED, Happened.NO),
        (400, ErrorKind.INVALID, Happened.NO),
        (302, ErrorKind.MALFORMED, Happened.UNKNOWN),
        (500, ErrorKind.UNAVAILABLE, Happened.UNKNOWN),
        (503, ErrorKind.UNAVAILABLE, Happened.UNKNOWN),
    ],
)
async def test_a_status_in_place_of_an_answer(
    server: McpServer, reached: Reached, status: int, kind: ErrorKind, happened: Happened
) -> None:
    """In our words: one that refuses says that nothing was done, one of a fault does not. Nothing is repeated."""
    session = await reached.of()
    server.status, server.headers = status, {"Retry-After": "7", "Location": "http://127.0.0.1:1/"}
    deadline = reached.clock.monotonic() + 5
    error = await _error(session.call("echo", {}, deadline, unheard, has_effect=True))
    assert (error.kind, error.happened, error.retry_after_seconds) == (kind, happened, 7.0)
    assert server.methods().count("tools/call") == 1


async def test_while_it_opens_nothing_was_called(server: McpServer, reached: Reached) -> None:
    """Whatever goes wrong."""
    server.status = 500
    error = await _error(reached.of())
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    server.status = 401
    assert (await _error(reached.of())).kind is ErrorKind.NEEDS_AUTHORISATION


async def test_a_session_that_is_forgotten_is_opened_anew(server: McpServer, reached: Reached) -> None:
    """A server that does not know the session has done nothing. What was known of its tools is known no more, so the
    call is not made again before somebody has looked.
    """
    session = await reached.of()
    changed, server.forgets, server.session_id = session.tools_changed, 1, "s-2"
    deadline = reached.clock.monotonic() + 5
    error = await _error(session.call("echo", {}, deadline, unheard, has_effect=True))
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert server.methods().count("tools/call") == 1
    assert text_of(await session.call("echo", {}, deadline, unheard, has_effect=True)) == "{}"
    assert server.seen[-1]["Mcp-Session-Id"] == "s-2"
    assert session.tools_changed > changed


async def test_one_that_is_forgotten_twice_is_given_up(server: McpServer, reached: Reached) -> None:
    """And nothing has happened."""
    session = await reached.of()
    server.forgets = 100
    deadline = reached.clock.monotonic() + 5
    error = await _error(session.call("echo", {}, deadline, unheard, has_effect=True))
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert server.methods().count("tools/call") <= 2


async def test_another_server_behind_the_same_url_is_not_called(server: McpServer, reached: Reached) -> None:
    """Whoever accepted a tool of one has not accepted the other's."""
    session = await reached.of()
    server.forgets, server.name = 1, "other"
    deadline = reached.clock.monotonic() + 5
    error = await _error(session.call("echo", {}, deadline, unheard, has_effect=True))
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert server.methods().count("tools/call") == 1


async def test_many_calls_open_it_anew_once(server: McpServer, reached: Reached) -> None:
    """And none of them is made before it is."""
    session = await reached.of()
    server.forgets, server.session_id = 10, "s-2"
    deadline = reached.clock.monotonic() + 5
    calls = (_error(session.call("echo", {}, deadline, unheard, has_effect=True)) for _ in range(10))
    errors = await asyncio.gather(*calls)
    assert {(error.kind, error.happened) for error in errors} == {(ErrorKind.UNAVAILABLE, Happened.NO)}
    assert server.methods().count("initialize") == 2


@pytest.mark.parametrize("name", ["half", "crash"])
@pytest.mark.parametrize("has_effect", [True, False])
async def test_a_stream_that_breaks_is_not_taken_up_again(
    server: McpServer, reached: Reached, name: str, has_effect: bool
) -> None:
    """What a call with an effect has done is unknown from then on."""
    error = await _error(reached.call(name, has_effect=has_effect))
    assert (error.kind, error.fault) == (ErrorKind.UNAVAILABLE, Fault.RESET)
    assert error.happened is (Happened.UNKNOWN if has_effect else Happened.NO)
    assert server.methods().count("tools/call") == 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [("garbage", ErrorKind.MALFORMED), ("deep", ErrorKind.MALFORMED), ("batch", ErrorKind.MALFORMED)],
)
async def test_what_cannot_be_read(reached: Reached, name: str, kind: ErrorKind) -> None:
    """Is no answer, and no proof of anything."""
    error = await _error(reached.call(name, has_effect=True))
    assert (error.kind, error.happened) == (kind, Happened.UNKNOWN)


async def test_a_message_without_an_end(reached: Reached) -> None:
    """Is given up when it is larger than is read."""
    error = await _error(reached.call("huge", has_effect=True))
    assert (error.kind, error.happened) == (ErrorKind.TOO_LARGE, Happened.UNKNOWN)


async def test_a_flood_is_ended(reached: Reached, monkeypatch: pytest.MonkeyPatch) -> None:
    """By how much is read for one request, if the deadline does not come first."""
    monkeypatch.setattr(http, "MAX_STREAM_BYTES", 1_000_000)
    error = await _error(reached.call("flood", has_effect=True))
    assert (error.kind, error.happened) == (ErrorKind.TOO_LARGE, Happened.UNKNOWN)


@pytest.mark.parametrize("name", ["hang", "drip", "other_id"])
async def test_the_deadline_ends_everything(server: McpServer, reached: Reached, name: str) -> None:
    """Silence, endless comments, and an answer to another question; the server is told, without waiting."""
    session = await reached.of()
    error = await _error(session.call(name, {}, reached.clock.monotonic() + 0.2, unheard, has_effect=True))
    assert (error.kind, error.happened, error.fault) == (ErrorKind.DEADLINE, Happened.UNKNOWN, Fault.TIMEOUT)
    told = await server.wait_for("notifications/cancelled")
    called = next(message for message in server.heard if message["method"] == "tools/call")
    assert told["params"]["requestId"] == called["id"]


async def test_a_call_that_is_cancelled_is_told(server: McpServer, reached: Reached) -> None:
    """And the session goes on."""
    session = await reached.of()
    deadline = reached.clock.monotonic() + 5
    call = asyncio.create_task(session.call("hang", {}, deadline, unheard, has_effect=True))
    await server.wait_for("tools/call")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await server.wait_for("notifications/cancelled")
    assert text_of(await session.call("echo", {}, deadline, unheard, has_effect=False)) == "{}"


async def test_a_server_that_hangs_does_not_stop_others(server: McpServer, reached: Reached) -> None:
    """Nor other calls of the same one."""
    session = await reached.of()
    deadline = reached.clock.monotonic() + 5
    hanging = [asyncio.create_task(session.call("hang", {}, deadline, unheard, has_effect=False)) for _ in range(10)]
    await until(lambda: server.methods().count("tools/call") == 10)
    assert text_of(await session.call("echo", {}, deadline, unheard, has_effect=False)) == "{}"
    for task in hanging:
        task.cancel()
    await asyncio.wait(hanging)


async def test_the_first_of_two_answers_counts(reached: Reached) -> None:
    """The other one is not even read."""
    assert text_of(await reached.call("twice")) == "first"


async def test_a_batch_in_the_revision_that_has_them(server: McpServer, reached: Reached) -> None:
    """The answer is found in it."""
    server.protocol = rpc.BATCHED
    assert text_of(await reached.call("batch")) == "batched"


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "roots/list", "anything"])
async def test_a_server_that_asks_is_refused(server: McpServer, reached: Reached, method: str) -> None:
    """And that is counted; nothing of it reaches anybody."""
    session = await reached.of()
    deadline = reached.clock.monotonic() + 5
    came = orjson.loads(text_of(await session.call("ask", {"method": method}, deadline, unheard, has_effect=False)))
    assert (came["id"], came["error"]["code"]) == ("q-1", -32601)
    assert session.refused_asks == 1


async def test_a_ping_is_answered(reached: Reached) -> None:
    """While a call runs."""
    came = orjson.loads(text_of(await reached.call("ask", {"method": "ping"})))
    assert came == {"jsonrpc": "2.0", "id": "q-1", "result": {}}


async def test_a_thousand_pings_are_not(server: McpServer, reached: Reached) -> None:
    """More than a few at once are lost."""
    assert text_of(await reached.call("asks_much")) == "done"
    assert len([message for message in server.heard if "method" not in message]) <= http.MAX_ASIDE


@pytest.mark.parametrize("session_id", ["a b", "x" * 1025])
async def test_a_session_id_that_cannot_be_one(server: McpServer, reached: Reached, session_id: str) -> None:
    """Is not sent back."""
    server.session_id = session_id
    assert (await _error(reached.of())).kind is ErrorKind.MALFORMED


async def test_the_stateless_revision(server: McpServer, reached: Reached) -> None:
    """Envelope and headers are in every request; there is no session, and letting go of a stream is cancelling."""
    wanting = {"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}}
    server.is_modern, server.protocol = True, "2026-07-28"
    server.tools = [tool("echo", inputSchema=wanting), tool("bad", inputSchema={**wanting, "x-mcp-header": "A"})]
    session = await reached.of()
    deadline = reached.clock.monotonic() + 5
    assert (session.server.name, session.server.protocol) == ("fake", "2026-07-28")
    assert [one["name"] for one in await session.tools(deadline)] == ["echo"]
    assert text_of(await session.call("echo", {"text": "grüß"}, deadline, unheard, has_effect=True))
    assert server.methods() == ["initialize", "server/discover", "tools/list", "tools/call"]
    for message, headers in list(zip(server.heard, server.seen, strict=True))[1:]:
        assert headers["Mcp-Method"] == message["method"]
        assert headers["MCP-Protocol-Version"] == "2026-07-28"
        meta = message["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert meta["io.modelcontextprotocol/clientCapabilities"] == {}
    assert server.seen[-1]["Mcp-Name"] == "echo"
    assert server.seen[-1]["Mcp-Param-Text"] == "=?base64?Z3LDvMOf?="
    assert (await _error(session.call("hang", {}, deadline - 4.8, unheard, has_effect=True))).kind is ErrorKind.DEADLINE
    await reached.sessions.close()
    assert server.methods()[4:] == ["tools/call"]


async def test_hosts_and_addresses_are_guarded(server: McpServer) -> None:
    """Like those of every other adapter."""
    async with reaching(server.url, "127.0.0.1:1") as elsewhere:
        assert (await _error(elsewhere.of())).kind is ErrorKind.ADDRESS_REFUSED
    async with reaching(server.url, server.target) as reached:
        reached.hosts = ("crm.example.com",)
        assert (await _error(reached.of())).kind is ErrorKind.ADDRESS_REFUSED
    assert server.seen == []


async def test_a_server_that_fails_is_left_alone(server: McpServer) -> None:
    """For a while, as a circuit."""
    async with reaching(server.url, server.target, threshold=2) as reached:
        server.status = 500
        for _ in range(2):
            await _error(reached.of())
        assert (await _error(reached.of())).kind is ErrorKind.CIRCUIT_OPEN
        assert reached.sessions.open_circuits == 1


async def test_a_call_that_waits_while_the_session_is_opened_anew_is_not_sent(
    server: McpServer, reached: Reached
) -> None:
    """What answers now was not looked at. It waits for the assertion of who calls, which may be signed elsewhere."""
    signing, waiting = asyncio.Event(), asyncio.Event()
    signing.set()

    async def assertion() -> Secret:
        waiting.set()
        await signing.wait()
        return Secret("head.e30.x")

    session = await reached.of(assertion=assertion)
    deadline = reached.clock.monotonic() + 5
    signing.clear()
    waiting.clear()
    call = asyncio.create_task(session.call("echo", {}, deadline, unheard, has_effect=True))
    await waiting.wait()
    signing.set()
    await session._reopened(session._openings, deadline)
    error = await _error(call)
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert "tools/call" not in server.methods()


async def test_a_session_that_was_let_go_of_sends_nothing(server: McpServer, reached: Reached) -> None:
    """Its credential was dropped, and a call without it would be somebody else's."""
    session = await reached.of(secret="sesame")
    await session.close()
    before = len(server.seen)
    deadline = reached.clock.monotonic() + 5
    for ask in (session.call("echo", {}, deadline, unheard, has_effect=True), session.tools(deadline)):
        error = await _error(ask)
        assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert len(server.seen) == before
