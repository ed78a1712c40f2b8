"""JSON-RPC: what is written, and what is read of what a stranger writes."""

import secrets
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.mcp_upstream import rpc
from adapters.mcp_upstream.rpc import Answer, Ask, Ids, Notice, NotRpc

_KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "code", "data", "supported"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.just("2.0") | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=6),
    max_leaves=20,
)


def _read(value: Any, protocol: str = "2025-11-25") -> list[rpc.Message]:
    return rpc.read(orjson.dumps(value), protocol=protocol)


def test_a_result() -> None:
    """With its id and how large it was."""
    (answer,) = _read({"jsonrpc": "2.0", "id": 7, "result": {"x": 1}})
    assert isinstance(answer, Answer)
    assert (answer.id, answer.result, answer.error) == (7, {"x": 1}, None)
    assert answer.bytes == len(b'{"jsonrpc":"2.0","id":7,"result":{"x":1}}')


def test_an_error_is_its_code() -> None:
    """Its words are a stranger's and go nowhere; of its data only revisions are kept."""
    error = {"code": -32022, "message": "sesame", "data": {"supported": ["2026-07-28", 7], "more": "sesame"}}
    (answer,) = _read({"jsonrpc": "2.0", "id": 7, "error": error})
    assert isinstance(answer, Answer)
    assert answer.error == rpc.RpcError(code=-32022, supported=("2026-07-28",))
    assert "sesame" not in repr(answer)


def test_what_a_server_tells_and_asks() -> None:
    """Told apart by the id."""
    told = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
    assert _read(told) == [Notice(method="notifications/progress", params={"progress": 1})]
    assert _read({"jsonrpc": "2.0", "id": "a", "method": "ping"}) == [Ask(id="a", method="ping")]


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "text",
        {},
        {"id": 1, "result": {}},
        {"jsonrpc": "1.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1}},
        {"jsonrpc": "2.0", "id": 1, "result": []},
        {"jsonrpc": "2.0", "id": 1, "result": None},
        {"jsonrpc": "2.0", "id": 1, "error": "no"},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": True}},
        {"jsonrpc": "2.0", "id": 1, "error": {"message": "no"}},
        {"jsonrpc": "2.0", "method": 7},
        {"jsonrpc": "2.0", "method": "x", "params": [1]},
        {"jsonrpc": "2.0", "method": "x", "id": None},
        {"jsonrpc": "2.0", "method": "x", "id": 1.5},
        {"jsonrpc": "2.0", "method": "x", "id": "i" * 257},
        {"jsonrpc": "2.0", "method": "x", "id": 1, "result": {}},
    ],
)
def test_what_is_no_message(value: Any) -> None:
    """Is not read, and the exception quotes nothing of it."""
    with pytest.raises(NotRpc):
        _read(value)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b'{"jsonrpc": "2.0", "id": 1, "result": {"x": NaN}}'])
def test_what_is_no_json(data: bytes) -> None:
    """Is not read; what a library says of it, which would quote it, is not kept."""
    with pytest.raises(NotRpc) as caught:
        rpc.read(data, protocol="")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_size_and_depth_have_an_end() -> None:
    """A message that is too large is not even parsed."""
    with pytest.raises(NotRpc, match="too large"):
        rpc.read(b" " * (rpc.MAX_MESSAGE_BYTES + 1), protocol="")
    for levels, is_read in ((rpc.MAX_LEVELS - 2, True), (rpc.MAX_LEVELS, False), (100_000, False)):
        nested = b"[" * levels + b"]" * levels
        data = b'{"jsonrpc":"2.0","id":1,"result":{"x":' + nested + b"}}"
        if is_read:
            assert rpc.read(data, protocol="")
        else:
            with pytest.raises(NotRpc):
                rpc.read(data, protocol="")


@given(st.binary(max_size=200) | _JSON.map(orjson.dumps))
def test_whatever_comes_is_read_or_refused(data: bytes) -> None:
    """And nothing else is raised."""
    for protocol in ("2025-11-25", rpc.BATCHED):
        try:
            messages = rpc.read(data, protocol=protocol)
        except NotRpc:
            continue
        assert all(isinstance(one, Answer | Notice | Ask) for one in messages)


def test_a_batch_belongs_to_one_revision() -> None:
    """In every other one an array is no message."""
    batch = [{"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "method": "x"}]
    assert [type(one) for one in _read(batch, rpc.BATCHED)] == [Answer, Notice]
    for wrong, protocol in ((batch, "2025-06-18"), (batch, ""), ([], rpc.BATCHED), ([batch], rpc.BATCHED)):
        with pytest.raises(NotRpc):
            _read(wrong, protocol)
    with pytest.raises(NotRpc):
        _read([batch[0]] * (rpc.MAX_BATCH + 1), rpc.BATCHED)


def test_ids_cannot_be_guessed_and_do_not_meet() -> None:
    """They are random, never twice in flight, and exact in languages whose numbers are doubles."""
    ids = Ids(secrets.randbits)
    many = [ids.next() for _ in range(1000)]
    assert len(set(many)) == 1000
    assert max(many) < 2**53
    bits = iter([5, 5, 6, 5])
    few = Ids(lambda _bits: next(bits))
    assert (few.next(), few.next()) == (5, 6)
    few.done(5)
    assert few.next() == 5


def test_what_we_write() -> None:
    """One line each, without a newline inside."""
    assert rpc.request(1, "tools/list", {"cursor": "a\nb"}) == (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"a\\nb"}}'
    )
    assert rpc.notification("notifications/initialized") == b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    with pytest.raises(NotRpc):
        rpc.request(1, "x", {"y": {1, 2}})


def test_what_a_server_is_answered() -> None:
    """A pong; of anything else there is no such method."""
    assert orjson.loads(rpc.reply(Ask(id="a", method="ping"))) == {"jsonrpc": "2.0", "id": "a", "result": {}}
    refused = orjson.loads(rpc.reply(Ask(id=3, method="sampling/createMessage")))
    assert (refused["id"], refused["error"]["code"]) == (3, -32601)


def test_strangers_values() -> None:
    """A text is cut, and a number is finite; anything else is none."""
    assert (rpc.text("x" * 200), rpc.text(7)) == ("x" * 128, "")
    assert [rpc.number(one) for one in (1, 1.5, True, "1", float("inf"), None)] == [1.0, 1.5, None, None, None, None]


def test_a_message_of_too_many_values_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few bytes they are, and wherever they lie: all others would wait."""
    monkeypatch.setattr(rpc, "MAX_VALUES", 100)
    for inner in ([1] * 98, [[]] * 98, [[1] * 10] * 10):
        message = orjson.dumps({"jsonrpc": "2.0", "id": 1, "result": {"x": inner}})
        with pytest.raises(NotRpc):
            rpc.read(message, protocol="")
    assert rpc.read(orjson.dumps({"jsonrpc": "2.0", "id": 1, "result": {"x": [1] * 90}}), protocol="")
