"""JSON-RPC 2.0 as MCP has it: what we write, and the strict and bounded reading of what comes."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""A message that is larger is not read."""
MAX_LEVELS = 128
MAX_VALUES = 500_000
"""In one message: to go through more of them would keep everybody else waiting."""
MAX_BATCH = 100
BATCHED = "2025-03-26"
"""The one revision in which a server may answer with several messages in an array."""
_ID_BITS = 52

Id = int | str
Container = Mapping[str, Any] | list[Any]


class NotRpc(Exception):  # noqa: N818 - the server's mistake, and it is mapped at once
    """What came is no message, or not one that is read. It quotes nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcError:
    """An error by its code alone: its words are a stranger's."""

    code: int
    supported: tuple[str, ...] = ()
    """The revisions that the server says it speaks, of an error about the revision."""
    is_refused: bool = False
    """It came with a status of HTTP that refuses the request."""
    has_begun: bool = False
    """The server had told progress of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a request: a result, or an error."""

    id: Id | None
    result: Mapping[str, Any] | None = field(default=None, repr=False)
    error: RpcError | None = None
    bytes: int = 0
    """How large the message was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that the server tells."""

    method: str
    params: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Something that the server asks of us."""

    id: Id
    method: str


Message = Answer | Notice | Ask


class Ids:
    """Ids of requests, which are also the tokens of their progress. Nobody can guess one from another."""

    def __init__(self, random_bits: Callable[[int], int]) -> None:
        """`random_bits` gives a number of so many unpredictable bits, like `secrets.randbits`."""
        self._random_bits = random_bits
        self._used: set[int] = set()

    def next(self) -> int:
        """An id that no request in flight has. It is safe in languages whose numbers are doubles."""
        while True:
            one = self._random_bits(_ID_BITS)
            if one not in self._used:
                self._used.add(one)
                return one

    def done(self, one: int) -> None:
        """The request is over, so that whatever still comes for it is an unknown id's."""
        self._used.discard(one)


def request(one: int, method: str, params: Mapping[str, Any]) -> bytes:
    """A request on one line. Raises `NotRpc` for what JSON cannot say."""
    return _line({"jsonrpc": "2.0", "id": one, "method": method, "params": params})


def notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """A notification on one line."""
    return _line({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})


def reply(ask: Ask) -> bytes:
    """What a server gets that asks us something: a pong for a ping, and else that there is no such method."""
    if ask.method == "ping":
        return _line({"jsonrpc": "2.0", "id": ask.id, "result": {}})
    return _line({"jsonrpc": "2.0", "id": ask.id, "error": {"code": -32601, "message": "Method not found"}})


def read(data: bytes, *, protocol: str) -> list[Message]:
    """The messages in one text: one, or in the one revision that has them, a batch. Raises `NotRpc`."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise NotRpc("too large")
    try:
        value = orjson.loads(data)
    except ValueError:
        raise NotRpc("no JSON") from None  # the error would hold what came
    if not isinstance(value, list):
        return [_message(value, len(data))]
    if protocol != BATCHED or not 0 < len(value) <= MAX_BATCH:
        raise NotRpc("a batch")
    return [_message(one, len(data)) for one in value]


def text(value: object, most: int = 128) -> str:
    """A stranger's text, cut; empty for whatever is none."""
    return value[:most] if isinstance(value, str) else ""


def number(value: object) -> float | None:
    """A finite number; None for whatever is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _line(value: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise NotRpc("cannot be said in JSON") from error


def _message(value: object, size: int) -> Message:
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0" or not is_handy(value):
        raise NotRpc("no JSON-RPC 2.0")
    if "method" not in value:
        return _answer(value, size)
    method, params = value["method"], value.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict) or "result" in value or "error" in value:
        raise NotRpc("neither a request nor an answer")
    if "id" not in value:
        return Notice(method=method, params=params)
    one = _id(value["id"])
    if one is None:
        raise NotRpc("a request without an id")
    return Ask(id=one, method=method)


def _answer(value: dict[str, Any], size: int) -> Answer:
    one = _id(value.get("id"))
    if ("result" in value) == ("error" in value):
        raise NotRpc("neither a result nor an error")
    if "error" in value:
        return Answer(id=one, error=_error(value["error"]), bytes=size)
    if not isinstance(value["result"], dict):
        raise NotRpc("a result that is no object")
    return Answer(id=one, result=value["result"], bytes=size)


def _error(value: object) -> RpcError:
    code = value.get("code") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(code, int) or isinstance(code, bool):
        raise NotRpc("an error without a code")
    data = value.get("data")
    named = data.get("supported") if isinstance(data, dict) else None
    supported = named[:MAX_BATCH] if isinstance(named, list) else []
    return RpcError(code=code, supported=tuple(text(one) for one in supported if isinstance(one, str)))


def _id(value: object) -> Id | None:
    if isinstance(value, str):
        return value if len(value) <= 256 else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_handy(message: Mapping[str, Any]) -> bool:
    """Whether nothing in it lies deeper than is read, and it does not hold more values than that."""
    level: list[Container] = [message]
    left = MAX_VALUES
    for _ in range(MAX_LEVELS):
        left -= sum(map(len, level))
        if left < 0:
            return False
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return True
    return False


def _inside(value: Container) -> Iterator[Container]:
    """The containers in a container."""
    within = value.values() if isinstance(value, Mapping) else value
    return (one for one in within if isinstance(one, dict | list))
