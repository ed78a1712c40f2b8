"""A conversation: its lists, its progress, its ends, over a wire of the test's own."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest
from fakes.clock import FakeClock
from fakes.mcp_wire import unheard

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.mcp_upstream import session as session_module
from adapters.mcp_upstream.rpc import Answer, Ask, Notice, RpcError
from adapters.mcp_upstream.session import Conversation
from adapters.mcp_upstream.wire import Asking, Forgotten, Hears

SHAKEN = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "crm", "version": "1"}}
Answers = Callable[["ScriptedWire", str, Mapping[str, Any]], Any]


class ScriptedWire:
    """Answers each request with what `answers` gives: a result, a code, or what is raised."""

    is_request_scoped = False

    def __init__(self, hears: Hears, answers: Answers) -> None:
        self.hears = hears
        self.answers = answers
        self.is_open = True
        self.asked: list[dict[str, Any]] = []
        self.told_aside: list[dict[str, Any]] = []

    def begin(self) -> None:
        """Nothing is kept."""

    def agreed(self, protocol: str, *, is_modern: bool) -> None:
        """Nothing is kept."""

    async def ask(self, asking: Asking) -> Answer:
        """As scripted."""
        message = orjson.loads(asking.body)
        assert message["id"] == asking.id
        self.asked.append(message)
        if asking.method == "initialize":
            return Answer(id=asking.id, result=SHAKEN)
        answer = self.answers(self, asking.method, message["params"])
        if isinstance(answer, int):
            return Answer(id=asking.id, error=RpcError(code=answer))
        if isinstance(answer, asyncio.Event):
            await answer.wait()
        return Answer(id=asking.id, result=answer, bytes=len(orjson.dumps(answer)))

    async def told(self, body: bytes, _deadline: float) -> None:
        """Taken."""
        self.told_aside.append(orjson.loads(body))

    def tell(self, body: bytes) -> None:
        """Taken."""
        self.told_aside.append(orjson.loads(body))

    async def close(self) -> None:
        """No more."""
        self.is_open = False


class _Talk:
    def __init__(self, answers: Answers) -> None:
        self.clock = FakeClock()
        self.wires: list[ScriptedWire] = []
        self.answers = answers
        self.session = Conversation(self._wire, self.clock, secrets.randbits)

    def _wire(self, hears: Hears) -> ScriptedWire:
        self.wires.append(ScriptedWire(hears, self.answers))
        return self.wires[-1]

    @property
    def deadline(self) -> float:
        return self.clock.monotonic() + 5

    async def tools(self) -> Any:
        await self.session.open()
        return await self.session.tools(self.deadline)

    async def call(self, progress: Any = unheard, *, has_effect: bool = False) -> Any:
        return await self.session.call("x", {"a": 1}, self.deadline, progress, has_effect=has_effect)


async def _error(awaitable: Any) -> AdapterError:
    with pytest.raises(AdapterError) as caught:
        await awaitable
    return caught.value


async def test_all_pages() -> None:
    """Each asked for with the cursor of the one before; an empty cursor is none."""
    pages = {None: ("a", "2"), "2": ("b", "3"), "3": ("c", "")}

    def answers(_wire: ScriptedWire, _method: str, params: Mapping[str, Any]) -> Any:
        name, following = pages[params.get("cursor")]
        return {"tools": [{"name": name}], "nextCursor": following}

    assert [tool["name"] for tool in await _Talk(answers).tools()] == ["a", "b", "c"]


@pytest.mark.parametrize("page", [{}, {"tools": {}}, {"tools": ["x"]}, {"tools": [], "nextCursor": 7}])
async def test_what_is_no_list(page: dict[str, Any]) -> None:
    """Is malformed."""
    error = await _error(_Talk(lambda *_: page).tools())
    assert (error.kind, error.happened) == (ErrorKind.MALFORMED, Happened.NO)


async def test_a_list_that_goes_round_in_circles() -> None:
    """Is malformed as soon as a cursor comes twice, however long the way round is."""
    count = iter(range(1000))
    talk = _Talk(lambda *_: {"tools": [], "nextCursor": f"c{next(count) % 7}"})
    error = await _error(talk.tools())
    assert (error.kind, error.fault) == (ErrorKind.MALFORMED, Fault.MALFORMED)
    assert len(talk.wires[0].asked) == 1 + 8


async def test_a_list_without_an_end() -> None:
    """Is too large: by its pages, its tools, or its bytes."""
    count = iter(range(1000))
    talk = _Talk(lambda *_: {"tools": [], "nextCursor": f"c{next(count)}"})
    assert (await _error(talk.tools())).kind is ErrorKind.TOO_LARGE
    assert len(talk.wires[0].asked) == 1 + session_module.MAX_PAGES
    many = {"tools": [{}] * (session_module.MAX_TOOLS + 1)}
    assert (await _error(_Talk(lambda *_: many).tools())).kind is ErrorKind.TOO_LARGE


async def test_a_list_of_too_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all pages together."""
    monkeypatch.setattr(session_module, "MAX_LIST_BYTES", 1000)
    count = iter(range(1000))
    page = {"tools": [{"x": "y" * 200}]}
    talk = _Talk(lambda *_: {**page, "nextCursor": f"c{next(count)}"})
    assert (await _error(talk.tools())).kind is ErrorKind.TOO_LARGE
    assert len(talk.wires[0].asked) <= 6


async def test_progress_is_of_the_call_alone() -> None:
    """Its token is its own, and what is told after the end reaches nobody."""
    heard: list[float] = []
    tokens: list[int] = []

    def answers(wire: ScriptedWire, _method: str, params: Mapping[str, Any]) -> Any:
        tokens.append(params["_meta"]["progressToken"])
        wire.hears(_progress(tokens[-1], 1))
        wire.hears(_progress(tokens[-1] + 1, 2))
        return {}

    talk = _Talk(answers)
    await talk.session.open()
    await talk.call(lambda done, _total: heard.append(done))
    talk.clock.advance(1)
    talk.wires[0].hears(_progress(tokens[0], 3))
    assert heard == [1.0]


def _progress(token: int, done: int) -> Notice:
    return Notice(method="notifications/progress", params={"progressToken": token, "progress": done})


async def test_an_error_after_progress_is_no_proof() -> None:
    """A server that told progress of a call had begun it."""

    def answers(wire: ScriptedWire, _method: str, params: Mapping[str, Any]) -> Any:
        if tells:
            wire.hears(_progress(params["_meta"]["progressToken"], 1))
        return -32602

    talk = _Talk(answers)
    await talk.session.open()
    tells = False
    assert (await _error(talk.call(has_effect=True))).happened is Happened.NO
    tells = True
    assert (await _error(talk.call(has_effect=True))).happened is Happened.UNKNOWN


async def test_whoever_stops_waiting_says_so() -> None:
    """By cancellation or deadline, with the id of the call; a handshake is never cancelled."""
    gate = asyncio.Event()
    talk = _Talk(lambda *_: gate)
    await talk.session.open()
    call = asyncio.create_task(talk.call())
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait((call,))
    wire = talk.wires[0]
    assert wire.told_aside[-1] == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": wire.asked[-1]["id"]},
    }
    assert talk.session.running == 0


async def test_a_server_that_changes_its_tools_says_so() -> None:
    """Each time counts; what else it tells is passed over."""
    talk = _Talk(lambda *_: {})
    await talk.session.open()
    for method in ("notifications/tools/list_changed", "notifications/message", "notifications/tools/list_changed"):
        talk.wires[0].hears(Notice(method=method, params={"data": "sesame"}))
    assert talk.session.tools_changed == 2


async def test_questions_of_a_server_have_an_end() -> None:
    """So many are answered in a row; a call of ours begins the count anew."""
    talk = _Talk(lambda *_: {})
    await talk.session.open()
    wire = talk.wires[0]
    wire.told_aside.clear()
    for number in range(1000):
        wire.hears(Ask(id=number, method="sampling/createMessage"))
    assert len(wire.told_aside) == session_module.MAX_REPLIES
    assert talk.session.refused_asks == 1000
    await talk.call()
    wire.hears(Ask(id="again", method="ping"))
    assert wire.told_aside[-1]["id"] == "again"


async def test_ids_are_not_to_be_guessed() -> None:
    """Neither from those of the same session nor from another's."""
    talk = _Talk(lambda *_: {})
    await talk.session.open()
    for _ in range(5):
        await talk.call()
    ids = [message["id"] for message in talk.wires[0].asked]
    assert len(set(ids)) == len(ids)
    assert min(abs(a - b) for a in ids for b in ids if a is not b) > 1


async def test_arguments_that_json_cannot_say() -> None:
    """Are not sent."""
    talk = _Talk(lambda *_: {})
    await talk.session.open()
    error = await _error(talk.session.call("x", {"a": {1}}, talk.deadline, unheard, has_effect=True))
    assert (error.kind, error.happened) == (ErrorKind.INVALID, Happened.NO)


async def test_a_server_that_forgets_in_the_handshake() -> None:
    """Cannot be spoken with, and nothing was called."""

    class _Forgetful(ScriptedWire):
        async def ask(self, _asking: Asking) -> Answer:
            raise Forgotten

    session = Conversation(lambda hears: _Forgetful(hears, lambda *_: {}), FakeClock(), secrets.randbits)
    error = await _error(session.open())
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)


async def test_an_opening_that_was_broken_off_is_done_again() -> None:
    """By the next one who asks: half of a handshake is none."""
    gate = asyncio.Event()
    steps = iter([Forgotten()])
    wires: list[ScriptedWire] = []

    class _Slow(ScriptedWire):
        async def told(self, body: bytes, _deadline: float) -> None:
            if len(self.told_aside) == 1:
                await gate.wait()
            self.told_aside.append(orjson.loads(body))

    def answers(_wire: ScriptedWire, _method: str, _params: Mapping[str, Any]) -> Any:
        for step in steps:
            raise step
        return {}

    def make(hears: Hears) -> ScriptedWire:
        wires.append(_Slow(hears, answers))
        return wires[0]

    clock = FakeClock()
    session = Conversation(make, clock, secrets.randbits)
    await session.open()
    error = await _error(session.call("x", {}, clock.monotonic() + 0.1, unheard, has_effect=True))
    assert (error.kind, error.happened) == (ErrorKind.DEADLINE, Happened.NO)
    gate.set()
    error = await _error(session.call("x", {}, clock.monotonic() + 5, unheard, has_effect=True))
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert await session.call("x", {}, clock.monotonic() + 5, unheard, has_effect=True) == {}
    assert [message["method"] for message in wires[0].asked] == [
        *("initialize", "tools/call", "initialize"),
        *("initialize", "tools/call"),
    ]


async def test_so_many_at_once() -> None:
    """Beyond it a call is refused at once, and nothing was sent."""
    talk = _Talk(lambda *_: asyncio.Event())
    await talk.session.open()
    calls = [asyncio.create_task(talk.call()) for _ in range(session_module.MAX_RUNNING)]
    await asyncio.sleep(0)
    error = await _error(talk.call(has_effect=True))
    assert (error.kind, error.happened) == (ErrorKind.RATE_LIMITED, Happened.NO)
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
