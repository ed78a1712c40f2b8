"""One call of a method."""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from fakes.clock import FakeClock
from fakes.grpc_service.compiled import CUSTOMERS, message
from fakes.grpc_service.frames import DATA, Script, begun, ended, frame, frame_server, goaway, reset
from fakes.grpc_service.frames import message as sent
from fakes.grpc_service.server import Answer, GrpcServer, grpc_server, refusing, saying
from fakes.recipes.grpc_upstream import OFFERS, SERVICE, target
from fakes.resolver import FakeResolver

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, Secret
from adapters.grpc_upstream.calling import Attempts, Call, Caller, account_of
from adapters.grpc_upstream.channels import Channels
from adapters.grpc_upstream.connection import read_connection
from adapters.grpc_upstream.files import MethodName
from adapters.grpc_upstream.methods import method_of
from adapters.grpc_upstream.trust import Trust
from adapters.transport.breaker import Breaker
from adapters.transport.guard import Guard

NAME = f"{SERVICE}/AddNote"
METHOD = method_of(MethodName.of(NAME), base64.b64decode(OFFERS["AddNote"].options["descriptors"]))
GOOD = message("acme.customers.v1.Note", CUSTOMERS)(note_id="n-1").SerializeToString()
BUSY = refusing(grpc.StatusCode.UNAVAILABLE, "busy")


class Desk:
    """A caller before a server."""

    def __init__(self, port: int) -> None:
        self.clock = FakeClock(sleeps_pass=True)
        self.guard = Guard.of([f"127.0.0.1:{port}"])
        self.channels = Channels(self.clock, self.guard, FakeResolver({}), Trust())
        self.breaker = Breaker(self.clock)
        self.caller = Caller(self.channels, self.clock, self.breaker, lambda: 0.5)
        self.port = port

    def call(self, *, has_effect: bool = True, key: str = "", seconds: float = 5.0, audience: str = "") -> Call:
        """Of a note, with a credential."""
        where = target(self.port, audience, reflection=False, auth={"kind": "bearer"})

        async def assertion() -> Secret:
            return Secret("a.b.c")

        invocation = Invocation(
            arguments={},
            target=where,
            credential=Secret("s3"),
            deadline=self.clock.monotonic() + seconds,
            effect_id="eff-1",
            assertion=assertion,
        )
        return Call(
            method=METHOD,
            connection=read_connection(where, self.guard),
            invocation=invocation,
            request=b"\x0a\x01c",
            has_effect=has_effect,
            key_metadata=key,
        )

    async def refused(self, call: Call) -> AdapterError:
        """The error that it ends in."""
        with pytest.raises(AdapterError) as caught:
            await self.caller.call(call)
        return caught.value


@asynccontextmanager
async def desk(*answers: Answer) -> AsyncIterator[tuple[Desk, GrpcServer]]:
    """These answers in turn, the last one again and again."""
    async with grpc_server({NAME: in_turn(iter(answers))}) as server:
        one = Desk(server.port)
        try:
            yield one, server
        finally:
            await one.channels.close()


def in_turn(answers: Iterator[Answer]) -> Answer:
    """One after the other."""
    last: list[Answer] = []

    async def answer(request: bytes, context: Any) -> Any:
        last[:] = [next(answers, *last)]
        return await last[0](request, context)

    return answer


async def _hangs(_request: bytes, _context: Any) -> bytes:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_request_goes_with_its_proof_its_key_and_who_calls() -> None:
    """And with the time that is left."""
    async with desk(saying(GOOD)) as (one, server):
        answer = await one.caller.call(one.call(key="x-key", audience="crm", seconds=9.0))
    assert answer == (GOOD, 1)
    (asked,) = server.asked
    assert asked.request == b"\x0a\x01c"
    beside = {key: value for key, value in asked.metadata.items() if key != "user-agent"}
    assert beside == {"authorization": "Bearer s3", "x-key": "eff-1", "tollhouse-assertion": "a.b.c"}
    assert asked.seconds_left is not None
    assert 7.0 < asked.seconds_left <= 9.1


async def test_who_calls_is_said_to_nobody_who_is_not_to_know() -> None:
    """Nor is a key sent that nobody takes."""
    async with desk(saying(GOOD)) as (one, server):
        await one.caller.call(one.call())
    assert not {"tollhouse-assertion", "x-key"} & server.asked[0].metadata.keys()


@pytest.mark.parametrize(
    ("has_effect", "key", "tries"), [(False, "", 3), (True, "x-key", 3), (True, "", 1)], ids=["read", "keyed", "write"]
)
async def test_only_what_can_be_repeated_is(has_effect: bool, key: str, tries: int) -> None:
    """Three times at most."""
    async with desk(BUSY) as (one, server):
        error = await one.refused(one.call(has_effect=has_effect, key=key))
    assert (error.kind, error.attempts, len(server.asked)) == (ErrorKind.UNAVAILABLE, tries, tries)
    assert error.happened is (Happened.UNKNOWN if has_effect else Happened.NO)


async def test_a_repetition_that_succeeds_is_an_answer() -> None:
    """With how often it was tried."""
    async with desk(BUSY, saying(GOOD)) as (one, server):
        assert await one.caller.call(one.call(key="x-key")) == (GOOD, 2)
        assert [asked.metadata["x-key"] for asked in server.asked] == ["eff-1", "eff-1"]


async def test_a_refusal_after_a_doubt_does_not_take_it_away() -> None:
    """The attempt before may have been carried out."""
    denied = refusing(grpc.StatusCode.ALREADY_EXISTS, "there")
    async with desk(BUSY, denied) as (one, _):
        error = await one.refused(one.call(key="x-key"))
        assert (error.kind, error.happened, error.attempts) == (ErrorKind.CONFLICT, Happened.UNKNOWN, 2)
        error = await one.refused(one.call(key="x-key"))
        assert (error.kind, error.happened, error.attempts) == (ErrorKind.CONFLICT, Happened.NO, 1)


async def test_what_the_service_says_is_not_in_the_error_nor_behind_it() -> None:
    """It may quote the credential."""
    async with desk(refusing(grpc.StatusCode.INTERNAL, "s3 was here")) as (one, _):
        error = await one.refused(one.call())
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert "s3" not in f"{error!r} {error.message}"


async def test_an_answer_that_does_not_come_ends_at_the_deadline() -> None:
    """What came of it is not known."""
    async with desk(_hangs) as (one, server):
        error = await one.refused(one.call(seconds=0.3))
        assert (error.kind, error.happened) == (ErrorKind.DEADLINE, Happened.UNKNOWN)
        error = await one.refused(one.call(seconds=0.3, has_effect=False))
        assert (error.kind, error.happened) == (ErrorKind.DEADLINE, Happened.NO)
        assert len(server.asked) == 2


async def test_a_passed_deadline_sends_nothing() -> None:
    """Nor connects."""
    async with desk(saying(GOOD)) as (one, server):
        error = await one.refused(one.call(seconds=0.0))
    assert (error.kind, error.happened, server.asked) == (ErrorKind.DEADLINE, Happened.NO, [])


async def test_a_cancelled_call_is_cancelled_at_the_service() -> None:
    """It is told."""
    came, told = asyncio.Event(), asyncio.Event()

    async def answer(_request: bytes, _context: Any) -> bytes:
        came.set()
        try:
            await asyncio.Event().wait()
        finally:
            told.set()
        raise AssertionError

    async with desk(answer) as (one, _):
        calling = asyncio.create_task(one.caller.call(one.call()))
        await asyncio.wait_for(came.wait(), 5)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await asyncio.wait_for(told.wait(), 5)


async def test_a_call_whose_channel_is_closed_is_no_cancellation() -> None:
    """Nobody cancelled the caller: it has to tell what is known."""
    came = asyncio.Event()

    async def answer(_request: bytes, _context: Any) -> bytes:
        came.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with desk(answer) as (one, _):
        calling = asyncio.create_task(one.refused(one.call()))
        await asyncio.wait_for(came.wait(), 5)
        await one.channels.close()
        error = await asyncio.wait_for(calling, 5)
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.UNKNOWN)


async def test_a_service_that_fails_again_and_again_is_left_alone() -> None:
    """Refusals are answers and count for nothing."""
    async with desk(refusing(grpc.StatusCode.NOT_FOUND)) as (one, server):
        for _ in range(6):
            assert (await one.refused(one.call())).kind is ErrorKind.NOT_FOUND
        server.answers[NAME] = BUSY
        for _ in range(5):
            await one.refused(one.call())
        assert one.breaker.open_circuits == 1
        error = await one.refused(one.call())
        assert (error.kind, error.happened, len(server.asked)) == (ErrorKind.CIRCUIT_OPEN, Happened.NO, 11)


async def test_nobody_listening_has_done_nothing() -> None:
    """Also of what has an effect."""
    async with desk(saying(GOOD)) as (one, server):
        await server.server.stop(None)
        error = await one.refused(one.call(key="x-key"))
    assert (error.kind, error.happened, error.attempts) == (ErrorKind.UNAVAILABLE, Happened.NO, 3)


def test_what_attempts_mean_together() -> None:
    """A doubt stays; what has no effect is never in doubt."""
    one, other = Attempts(has_effect=True), Attempts(has_effect=False)
    for attempts in (one, other):
        attempts.begin()
        assert attempts.happened is Happened.NO
        attempts.is_sent = True
    assert (one.happened, other.happened) == (Happened.UNKNOWN, Happened.NO)
    one.begin()
    error = AdapterError(ErrorKind.INVALID, "no", happened=Happened.NO)
    one.settle(error)
    assert (error.happened, error.attempts) == (Happened.UNKNOWN, 2)


async def test_an_account_is_named_by_its_connection() -> None:
    """Or by the target's name alone."""
    async with desk(saying(GOOD)) as (one, _):
        assert account_of(one.call().invocation) == "acme/crm"


_HALF = b"\x00\x00\x00\x00\x10abc"
"""Three of the sixteen bytes that a message has."""


@pytest.mark.parametrize(
    ("script", "kind", "happened"),
    [
        *((lambda one, code=code: [reset(one, code)], ErrorKind.UNAVAILABLE, Happened.UNKNOWN) for code in range(14)),
        *(
            (
                lambda one, code=code: [begun(one), sent(one, GOOD), reset(one, code)],
                ErrorKind.UNAVAILABLE,
                Happened.UNKNOWN,
            )
            for code in (7, 8, 11, 12)
        ),
        (lambda one: [begun(one), ended(one, "0")], ErrorKind.MALFORMED, Happened.YES),
        (lambda one: [begun(one), frame(DATA, 0, one, _HALF), ended(one, "0")], ErrorKind.MALFORMED, Happened.YES),
        (lambda one: [begun(one), frame(DATA, 1, one, _HALF)], ErrorKind.UNAVAILABLE, Happened.UNKNOWN),
        (lambda one: [begun(one), sent(one, GOOD), b""], ErrorKind.UNAVAILABLE, Happened.UNKNOWN),
        (lambda one: [goaway(one), b""], ErrorKind.UNAVAILABLE, Happened.UNKNOWN),
        (lambda one: [begun(one), sent(one, GOOD), ended(one, "7")], ErrorKind.FORBIDDEN, Happened.NO),
        (lambda one: [begun(one), ended(one, "99")], ErrorKind.UNAVAILABLE, Happened.UNKNOWN),
        (lambda _: [b""], ErrorKind.UNAVAILABLE, Happened.UNKNOWN),
    ],
)
async def test_an_answer_that_breaks_says_no_more_than_is_known(
    script: Script, kind: ErrorKind, happened: Happened
) -> None:
    """Of a write, wherever it breaks, and it is not sent again. What gives up a stream is no answer of the service."""
    async with frame_server(script) as server:
        one = Desk(server.port)
        try:
            error = await one.refused(one.call())
        finally:
            await one.channels.close()
    assert (error.kind, error.happened) == (kind, happened)
    assert len(server.read) == 1
