"""Callers that go on calling a gateway, and the account of what became of every call."""

import asyncio
import collections
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from real.waiting import until

from fakes.production import FIRST, REFERENCE, SECOND, SECRET, Production
from fakes.served import asked
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb

CALLERS = 24
PAUSE_SECONDS = 0.08
"""Between two calls of one caller: the load, the gateway and the test share a loop."""
BACK_SECONDS = 2.0
"""How long it may take from a part's return until all is well."""
OK = "ok"
READ, WRITE = "echo_sealed", "note_sealed"


@dataclass(frozen=True, slots=True)
class Called:
    """A call and its answer."""

    request: pb.CallToolRequest = field(repr=False)
    began: float
    """On `time.monotonic`, as `ended`."""
    ended: float
    call_id: str
    outcome: str
    """`ok`, or the reason of the refusal."""
    is_replay: bool

    @property
    def is_write(self) -> bool:
        """Whether it was for an effect."""
        return self.request.tool == WRITE

    @property
    def is_bad(self) -> bool:
        """Whether policy never allows it."""
        return b"bad" in self.request.arguments_json


class Load:
    """Reads and writes that policy allows, and now and then a write that it does not."""

    def __init__(self, stub: Any, callers: int = 1) -> None:
        self.calls: list[Called] = []
        """Every one that was answered, in the order of their ends."""
        self._stub = stub
        self._callers = callers
        self._is_over = False
        self._number = 0

    async def call(self, request: pb.CallToolRequest) -> Called:
        """One call, into the account."""
        began = time.monotonic()
        answer = await self._stub.CallTool(request, timeout=20)
        is_ok = answer.HasField("result")
        reason = OK if is_ok else codes_pb2.Reason.Name(answer.error.reason).removeprefix("REASON_").lower()
        called = Called(request, began, time.monotonic(), answer.call_id, reason, answer.replay)
        self.calls.append(called)
        return called

    async def go_on(self) -> None:
        """One caller, until the load is over."""
        makes = itertools.cycle((self.read, self.write, self.read, self.write, self.bad))
        while not self._is_over:
            await self.call(next(makes)())
            await asyncio.sleep(PAUSE_SECONDS)

    def end(self) -> None:
        """Every caller ends by itself."""
        self._is_over = True

    def goods(self, begun: float, until: float = float("inf")) -> list[Called]:
        """Calls that policy allows and that began and ended in this time."""
        return [one for one in self.calls if one.began >= begun and one.ended <= until and not one.is_bad]

    def refused(self, begun: float) -> list[Called]:
        """Those of them that were refused."""
        return [one for one in self.goods(begun) if one.outcome != OK]

    async def until(self, holds: Callable[[], bool], seconds: float = 6.0) -> None:
        """Return when it holds; `TimeoutError` when it does not come to."""
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.01)

    async def steady(self) -> float:
        """Return when two calls of every caller in a row were answered well; when the first of them ended."""
        begun, wanted = time.monotonic(), 2 * self._callers
        tail: list[Called] = []

        def is_steady() -> bool:
            nonlocal tail
            tail = self.goods(begun)[-wanted:]
            return len(tail) == wanted and {one.outcome for one in tail} == {OK}

        await self.until(is_steady)
        return tail[0].ended

    def last(self, tool: str) -> str:
        """What became of the last call of this tool that policy usually allows."""
        return next(call.outcome for call in reversed(self.calls) if call.request.tool == tool and not call.is_bad)

    def read(self) -> pb.CallToolRequest:
        """A new one."""
        self._number += 1
        return asked(READ, f'{{"text":"good {self._number}"}}')

    def write(self) -> pb.CallToolRequest:
        """A new one, with a key of its own."""
        self._number += 1
        return asked(WRITE, f'{{"path":"good/{self._number}"}}', key=f"key-{self._number}")

    def bad(self) -> pb.CallToolRequest:
        """A write that policy never allows."""
        self._number += 1
        return asked(WRITE, f'{{"path":"bad/{self._number}"}}', key=f"key-{self._number}")


@contextlib.asynccontextmanager
async def loaded(one: Production, callers: int = CALLERS) -> AsyncIterator[Load]:
    """Callers for the length of the block, which begins when all is well. What fails in one of them fails the test."""
    load = Load(one.stub, callers)
    tasks = [asyncio.ensure_future(load.go_on()) for _ in range(callers)]
    try:
        await load.steady()
        yield load
    finally:
        load.end()
        await asyncio.gather(*tasks)


class Outage:
    """When a part was broken and mended."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.ended = 0.0

    def end(self) -> None:
        """It is about to be mended."""
        self.ended = time.monotonic()


async def back_again(one: Production, load: Load) -> None:
    """Counted from now, when the part is well."""
    mended = time.monotonic()
    first_ended, _ = await asyncio.gather(load.steady(), until(one.is_serving, BACK_SECONDS))
    assert first_ended - mended < BACK_SECONDS


async def retried(load: Load, outage: Outage) -> None:
    """A write that was refused can be made with the same key: nothing of it was left behind."""
    refused = next(call for call in load.refused(outage.began) if call.is_write)
    again = await load.call(refused.request)
    assert (again.outcome, again.is_replay) == (OK, False)


def longest(load: Load) -> float:
    """How long a call took at most."""
    return max(call.ended - call.began for call in load.calls)


Faults = collections.Counter[tuple[str, str]]
"""Reason and fault of refusals."""


def faults_of(one: Production, calls: Iterable[Called]) -> Faults:
    """How these calls were refused, as their lines have it."""
    ids = {call.call_id for call in calls}
    return collections.Counter((line["reason"], line.get("fault", "")) for line in one.lines if line["call_id"] in ids)


def account(one: Production, load: Load) -> None:
    """Nothing happened that was not allowed, written down and told. Call it when the load is over."""
    lines = {line["call_id"]: line for line in one.lines}
    assert len(lines) == len(one.lines) == len(load.calls), "a call without a line, or with two"
    for call in load.calls:
        line = lines[call.call_id]
        assert (line["outcome"] if call.outcome == OK else line["reason"]) == call.outcome, line
        assert not (call.is_bad and call.outcome == OK), line
    fine = [call for call in load.calls if call.outcome == OK]
    _check_effects(one, fine)
    for call in fine:
        line = lines[call.call_id]
        told = (line["outcome"], line["decision"], line["credential"], line.get("fault", ""))
        assert told == (OK, "allow", REFERENCE, ""), line
        assert line["policy_revision"] in (FIRST, SECOND), line
    assert SECRET not in str(one.lines)


def _check_effects(one: Production, fine: list[Called]) -> None:
    """The vendor was asked once for every good answer, with the credential, and a write not before its intent."""
    asked_for = collections.Counter(each.effect_id for each in one.adapter.invocations)
    assert asked_for == collections.Counter(call.call_id for call in fine), "an effect without an answer, or twice"
    assert {call.call_id for call in fine if call.is_write} <= one.intents()
    assert set(one.adapter.credentials) == {SECRET}
