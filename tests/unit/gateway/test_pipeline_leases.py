"""What a call was lent it gives back, however it ends."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fakes.credentials import FakeLender
from fakes.engine import FakeEngine
from fakes.path import TOKEN, PreviewAdapter, Road, ended, road
from fakes.sink import ListSink

from adapters.base import AdapterError, ErrorKind, Happened, Output
from gateway.call import Pending, Result
from gateway.errors import Reason, Refusal

NOTE = '{"path":"a.txt","body":"hi"}'
SEALED = "note_sealed"
ASK = '{"effect":"require_approval","reasons":[],"obligations":[]}'
SECOND = "second-8c1f"
"""What the lease holds beside the token: a user's name, say."""


def lending(**changes: Any) -> Road:
    """A road on which credentials are made for each call."""
    return Road(lender=FakeLender({"FAKE_TOKEN": (TOKEN, SECOND)}), **changes)


def lender_of(one: Road) -> FakeLender:
    """Who lends."""
    assert one.lender is not None
    return one.lender


def all_is_back(one: Road, leases: int = 1) -> bool:
    """So many were lent, and none is out."""
    lender = lender_of(one)
    return (len(lender.ended), lender.open) == (leases, [])


async def test_a_lease_is_in_the_line_and_is_given_back() -> None:
    """Its id is there and no secret of it; it was asked for as long as the adapter may take."""
    async with road(lending(max_call_seconds=7.0)) as one:
        one.adapter.output = Output(structured={"said": f"{TOKEN} {SECOND}"}, receipt=SECOND)
        answer = await one.call(SEALED, NOTE, key="k")
        assert isinstance(answer.outcome, Result)
        assert all_is_back(one)
        assert (lender_of(one).seconds, lender_of(one).tenants) == ([7.0], ["acme"])
        (line,) = one.lines
        assert (line["credential"], line["lease"]) == ("env:FAKE_TOKEN", "FAKE_TOKEN/1")
        shown = answer.outcome.structured_json.decode() + answer.outcome.receipt + str(line)
        assert not any(secret in shown for secret in (TOKEN, SECOND))
        assert one.adapter.credentials == [TOKEN]


def _vendor_fails(happened: Happened) -> Callable[[Road], None]:
    return lambda one: one.adapter.failures.append(AdapterError(ErrorKind.INVALID, f"bad {SECOND}", happened=happened))


ENDINGS: dict[str, Callable[[Road], None]] = {
    "nothing happened": _vendor_fails(Happened.NO),
    "nobody knows": _vendor_fails(Happened.UNKNOWN),
    "unusable answer": _vendor_fails(Happened.YES),
    "adapter broken": lambda one: one.adapter.failures.append(RuntimeError(SECOND)),
    "stopped": lambda one: one.hook("credentials", lambda: one.halts.tools.add(SEALED)),
    "lease of the store is over": lambda one: one.hook(
        "credentials", lambda: setattr(one.keys.of("acme"), "is_held", False)
    ),
    "store away": lambda one: one.hook(
        "credentials", lambda: one.keys.of("acme").__dict__.update(is_held=False, is_down=True)
    ),
    "audit down": lambda one: one.hook("audit", _refuse),
}


def _refuse() -> None:
    raise Refusal(Reason.AUDIT_UNAVAILABLE, "No.")


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_lease_is_given_back_however_the_call_ends(ending: str) -> None:
    """And what an adapter quotes of it does not leave."""
    async with road(lending()) as one:
        ENDINGS[ending](one)
        answer = await one.call(SEALED, NOTE, key="k")
        assert all_is_back(one)
        assert SECOND not in str(answer) + str(one.lines)


async def test_a_lease_of_a_read_whose_caller_leaves_is_given_back() -> None:
    """While the vendor is at work."""
    async with road(lending()) as one:
        one.adapter.gate = asyncio.Event()
        task = asyncio.create_task(one.call("echo_sealed", '{"text":"hi"}'))
        await one.adapter.started.wait()
        assert not all_is_back(one)
        task.cancel()
        assert isinstance(await ended(task), asyncio.CancelledError)
        assert all_is_back(one)


async def test_a_lease_of_a_write_whose_caller_leaves_is_given_back_when_it_is_done() -> None:
    """Not before: the adapter still needs it."""
    async with road(lending()) as one:
        one.adapter.gate = asyncio.Event()
        task = asyncio.create_task(one.call(SEALED, NOTE, key="k"))
        await one.adapter.started.wait()
        task.cancel()
        await asyncio.sleep(0)
        assert lender_of(one).open
        one.adapter.gate.set()
        await ended(task)
        assert all_is_back(one)


class StuckSink(ListSink):
    """A sink that never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()

    async def append(self, line: Any) -> None:
        """Wait for ever."""
        self.reached.set()
        await asyncio.Event().wait()


async def test_a_lease_is_given_back_though_the_line_is_never_written() -> None:
    """A caller that leaves while the disk hangs."""
    sink = StuckSink()
    async with road(lending(sink=sink)) as one:
        task = asyncio.create_task(one.call(SEALED, NOTE, key="k"))
        await sink.reached.wait()
        task.cancel()
        assert isinstance(await ended(task), asyncio.CancelledError)
        assert all_is_back(one)


@pytest.mark.parametrize("shown", [{}, RuntimeError(TOKEN)], ids=["parked", "not shown"])
async def test_a_lease_for_a_preview_is_given_back(shown: Any) -> None:
    """When the call is parked, or cannot be; it holds none while it waits."""
    one = lending(engine=FakeEngine(ASK), adapter=PreviewAdapter(shown))
    one.rows.tools[SEALED] = {"preview": True}
    async with road(one):
        answer = await one.call(SEALED, NOTE, key="k")
        assert isinstance(answer.outcome, Pending) is (shown == {})
        assert all_is_back(one)
        assert TOKEN not in str(one.lines)


async def test_an_execution_takes_a_lease_of_its_own() -> None:
    """One for the preview, one for the execution, both given back."""
    one = lending(engine=FakeEngine(ASK), adapter=PreviewAdapter())
    one.rows.tools[SEALED] = {"preview": True}
    async with road(one):
        await one.call(SEALED, NOTE, key="k")
        await one.execute(one.approvals.approve())
        assert all_is_back(one, 2)
        assert [line["lease"] for line in one.lines] == ["FAKE_TOKEN/1", "FAKE_TOKEN/2"]


async def test_nothing_is_lent_for_what_does_not_run() -> None:
    """A replay, an explanation, a denial: no lease was ever made."""
    async with road(lending()) as one:
        await one.call(SEALED, NOTE, key="k")
        await one.call(SEALED, NOTE, key="k")
        await one.explain(SEALED, NOTE, key="other")
        assert isinstance(one.engine, FakeEngine)
        one.engine.answer = '{"effect":"deny","reasons":[],"obligations":[]}'
        await one.call(SEALED, NOTE, key="third")
        assert all_is_back(one, 1)
