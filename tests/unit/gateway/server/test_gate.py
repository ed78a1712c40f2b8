"""The gate counts who is inside, and says a definite farewell to who comes too late."""

import asyncio
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from fakes.echo import METHOD, Echo

from gateway.server.gate import FAREWELL_METADATA, Gate


class AbortedError(Exception):
    """As grpc's own: abort never returns."""


class FakeContext:
    """What the gate uses of a context."""

    status: grpc.StatusCode | None = None
    trailing: tuple[tuple[str, str], ...] = ()

    async def abort(self, status: grpc.StatusCode, _details: str, trailing: tuple[tuple[str, str], ...] = ()) -> None:
        """End the RPC."""
        self.status, self.trailing = status, trailing
        raise AbortedError


def behaviour_of(gate: Gate, echo: Echo) -> Any:
    """The echo's method behind the gate."""
    handler = gate.guard(echo.handler()).service(details())
    assert handler is not None
    return handler.unary_unary


def details(method: str = METHOD) -> Any:
    """What a server looks a method up by."""
    return SimpleNamespace(method=method, invocation_metadata=())


async def test_an_open_gate_lets_calls_through_and_counts_them() -> None:
    """Those inside count, however they leave."""
    gate, echo = Gate(), Echo(gate=asyncio.Event())
    say = behaviour_of(gate, echo)
    calls = [asyncio.ensure_future(say(what, FakeContext())) for what in (b"a", b"abort")]
    await asyncio.sleep(0)
    assert gate.active == 2
    assert echo.gate is not None
    echo.gate.set()
    assert [type(end) for end in await asyncio.gather(*calls, return_exceptions=True)] == [bytes, AbortedError]
    assert gate.active == 0


async def test_a_closed_gate_refuses_and_is_empty_once_the_last_has_left() -> None:
    """UNAVAILABLE, and the service never hears of it."""
    gate, echo = Gate(), Echo(gate=asyncio.Event())
    say = behaviour_of(gate, echo)
    call = asyncio.ensure_future(say(b"a", FakeContext()))
    await asyncio.sleep(0)
    gate.close()
    context = FakeContext()
    with pytest.raises(AbortedError):
        await say(b"late", context)
    assert (context.status, context.trailing) == (grpc.StatusCode.UNAVAILABLE, FAREWELL_METADATA)
    assert echo.started == [b"a"]
    assert not await gate.emptied(0.01)
    assert echo.gate is not None
    echo.gate.set()
    assert await gate.emptied(1)
    assert await call == b"a"


async def test_who_is_held_is_refused_when_released() -> None:
    """Not before, and not let through either."""
    gate = Gate()
    say = behaviour_of(gate, Echo())
    gate.close()
    gate.hold()
    context = FakeContext()
    call = asyncio.ensure_future(say(b"late", context))
    await asyncio.sleep(0)
    assert (context.status, call.done(), gate.active) == (None, False, 0)
    gate.release()
    with pytest.raises(AbortedError):
        await call
    assert context.status is grpc.StatusCode.UNAVAILABLE


async def test_a_gate_that_nobody_went_through_is_empty() -> None:
    """Also with no time at all to wait."""
    gate = Gate()
    gate.close()
    assert await gate.emptied(1)


def test_a_method_that_does_not_exist_is_not_made_up() -> None:
    """The gate knows what its handler knows, and remembers nothing that strangers ask for."""
    guarded = Gate().guard(Echo().handler())
    assert guarded.service(details("/test.Echo/Nothing")) is None
    assert guarded.service(details()) is guarded.service(details())
