"""A gateway that loses its store, and may have been taken for gone: nothing is sent, and each call has one line."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from fakes.keys import DictKeys, DictTenants
from fakes.path import Road, ended, road

from adapters.base import AdapterError, ErrorKind, Happened
from gateway.audit.late import CLOSED_NOTE
from gateway.call import Answer, Failure, Result, Whose
from gateway.errors import Reason
from gateway.idempotency.base import Claim

NOTE = '{"path":"a.txt","body":"hi"}'
SEALED = "note_sealed"


def keys_of(one: Road) -> DictKeys:
    """The tenant's keys."""
    keys = one.keys.of("acme")
    assert isinstance(keys, DictKeys)
    return keys


def reason_of(answer: Answer) -> Reason:
    """Why it was stopped."""
    assert isinstance(answer.outcome, Failure)
    return answer.outcome.reason


def taken_for_gone(one: Road) -> None:
    """The lease is over, and another gateway has closed the call and told of it."""
    keys = keys_of(one)
    keys.is_held = False
    keys.closed.add(one.announced.call_id)


def cut_off(one: Road) -> None:
    """The lease is over, and the store does not answer."""
    keys = keys_of(one)
    keys.is_held, keys.is_down = False, True


def at_the_vendor(one: Road, do: Callable[[Road], None]) -> None:
    """Happens while the vendor is at work."""

    def happen() -> bool:
        do(one)
        return False

    one.adapter.gate = _Passed(happen)  # type: ignore[assignment]


class _Passed:
    """A gate that does something and lets everybody through."""

    def __init__(self, do: Callable[[], object]) -> None:
        self.do = do

    async def wait(self) -> None:
        """Do it."""
        self.do()


# Nothing is sent without a lease.


async def test_a_gateway_whose_lease_is_over_sends_nothing() -> None:
    """Others would call the claim unknown while the vendor carries it out. The key is free again."""
    async with road() as one:
        one.hook("credentials", lambda: setattr(keys_of(one), "is_held", False))
        assert reason_of(await one.call(SEALED, NOTE, key="k")) is Reason.STORE_UNAVAILABLE
        (line,) = one.lines
        assert (line["stopped_at"], line["happened"], line["fault"]) == ("adapter", "no", "timeout")
        assert keys_of(one).known == {}
        keys_of(one).is_held = True
        assert isinstance((await one.call(SEALED, NOTE, key="k")).outcome, Result)
        assert one.effects == 1


async def test_a_read_needs_no_lease() -> None:
    """It has no claim that anybody could close."""
    async with road() as one:
        keys_of(one).is_held = False
        assert isinstance((await one.call()).outcome, Result)


# Another gateway closed the call.


@pytest.mark.parametrize("happened", Happened)
async def test_what_another_gateway_closed_is_told_as_unknown(happened: Happened) -> None:
    """That one's line is the call's. Ours says what came of it after all, and is of another kind."""
    async with road() as one:
        at_the_vendor(one, taken_for_gone)
        if happened is not Happened.YES:
            one.adapter.failures.append(AdapterError(ErrorKind.UNAVAILABLE, "No.", happened=happened))
        answer = await one.call("note", NOTE, key="k")
        assert reason_of(answer) is Reason.OUTCOME_UNKNOWN
        assert isinstance(answer.outcome, Failure)
        assert "left" not in answer.outcome.message
        (line,) = one.lines
        assert (line["kind"], line["happened"], line["note"]) == ("resolution", happened.value, CLOSED_NOTE)
        assert line["delivered"] is False


async def test_after_a_restart_no_second_line_is_owed_for_it() -> None:
    """The journal has forgotten the call: nothing is recovered."""
    async with road() as one:
        at_the_vendor(one, taken_for_gone)
        await one.call("note", NOTE, key="k")
        await one.restart()
        assert one.audit.cut_off == ()


# Nobody can tell.


async def test_while_nobody_can_tell_no_line_is_written() -> None:
    """The caller is told that it is not known; the line waits, and so does the journal's beginning."""
    async with road() as one:
        at_the_vendor(one, cut_off)
        assert reason_of(await one.call("note", NOTE, key="k")) is Reason.OUTCOME_UNKNOWN
        assert (one.lines, one.late.waiting) == ([], 1)
        await one.late.tick()
        assert (one.lines, one.late.waiting) == ([], 1)


@pytest.mark.parametrize("is_closed", [False, True])
async def test_once_it_can_be_told_there_is_exactly_one_line(is_closed: bool) -> None:
    """The call's own when nobody closed it; otherwise the other gateway's, and ours is of another kind."""
    async with road() as one:
        at_the_vendor(one, cut_off)
        await one.call("note", NOTE, key="k")
        keys_of(one).is_down = False
        if is_closed:
            keys_of(one).closed.add("call-1")
        await one.late.tick()
        await one.late.tick()
        (line,) = one.lines
        assert line["kind"] == ("resolution" if is_closed else "call")
        assert (line["call_id"], line["happened"], line["delivered"]) == ("call-1", "yes", False)
        assert one.late.waiting == 0
        await one.restart()
        assert one.audit.cut_off == ()


async def test_a_crash_while_a_line_waits_leaves_the_call_to_the_next_start() -> None:
    """What only memory knew is lost, and the journal still says that the call needs a line."""
    async with road() as one:
        at_the_vendor(one, cut_off)
        await one.call("note", NOTE, key="k")
        await one.restart()
        assert [cut.begin["call_id"] for cut in one.audit.cut_off] == ["call-1"]


async def test_a_call_that_was_not_sent_is_unknown_too_while_nobody_can_tell() -> None:
    """Another gateway may have told of it as unknown already; two stories would be one too many."""
    async with road() as one:
        one.hook("credentials", lambda: cut_off(one))
        assert reason_of(await one.call(SEALED, NOTE, key="k")) is Reason.OUTCOME_UNKNOWN
        assert one.effects == 0
        keys_of(one).is_down = False
        await one.late.tick()
        (line,) = one.lines
        assert (line["reason"], line["happened"]) == ("store_unavailable", "no")


@dataclass
class SlowKeys(DictKeys):
    """Keys that take their time to tell the store."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def settle(self, claim: Claim, result: Result | None) -> Whose:
        """Once the gate is open."""
        self.reached.set()
        await self.gate.wait()
        return await super().settle(claim, result)


@pytest.mark.parametrize("is_held", [True, False])
@pytest.mark.parametrize("times", [1, 3])
async def test_a_caller_who_leaves_while_the_store_is_told_changes_nothing(is_held: bool, times: int) -> None:
    """However often: there is no line before the store has heard, since somebody may close the call until then, and
    the one that there is says what happened.
    """
    async with road(keys=DictTenants(make=SlowKeys)) as one:
        at_the_vendor(one, lambda _: setattr(keys_of(one), "is_held", is_held))
        task = asyncio.create_task(one.call("note", NOTE, key="k"))
        keys = keys_of(one)
        assert isinstance(keys, SlowKeys)
        await keys.reached.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        assert (one.lines, one.late.waiting) == ([], 0)
        keys.gate.set()
        await ended(task)
        (line,) = one.lines
        assert (line["kind"], line["happened"], line["outcome"]) == ("call", "yes", "ok")
