"""Stopping, where the answer depends on when it comes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fakes.approvals_rows import asked
from fakes.calls import opened_call
from fakes.handles import Heard, Replica, replica
from real.stores import sqlite_settings

from gateway.call import Failure, Pending, PendingState
from gateway.errors import Reason
from gateway.handles import stopping
from gateway.handles.base import Stopped
from gateway.store import calls as rows


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Replica]:
    """A gateway."""
    async with replica(await sqlite_settings(tmp_path)) as made:
        yield made


class _Stubborn(asyncio.Event):
    """A vendor that does not let go."""

    async def wait(self) -> Any:
        """Only when it is set."""
        while not self.is_set():
            try:
                await super().wait()
            except asyncio.CancelledError:
                continue
        return True


@pytest.mark.parametrize(("tool", "kind"), [("note", Stopped.MAY_HAVE_HAPPENED), ("echo", Stopped.NOTHING_DONE)])
async def test_what_does_not_stop_in_time_may_happen(
    one: Replica, monkeypatch: pytest.MonkeyPatch, tool: str, kind: Stopped
) -> None:
    """If it can change anything at all."""
    monkeypatch.setattr(stopping, "WAIT_SECONDS", 0.05)
    one.adapter.gate = _Stubborn()
    answer = await one.yielded(tool)
    assert (await one.handles.cancel(one.caller, answer.call_id)).kind is kind


async def test_a_vendor_that_finishes_all_the_same_is_too_late_to_stop(one: Replica) -> None:
    """It was done, and that is told."""
    one.adapter.gate = _Stubborn()
    answer = await one.yielded("note")
    stopping_it = asyncio.create_task(one.handles.cancel(one.caller, answer.call_id))
    await asyncio.sleep(0)
    one.adapter.gate.set()
    assert (await stopping_it).kind is Stopped.TOO_LATE


async def test_a_call_that_was_just_parked_is_withdrawn(one: Replica) -> None:
    """Cancelled while it was being parked: nobody must go on to approve it."""
    one.path.before = asyncio.Event()
    answer = await one.yielded("note")
    async with one.database.tenant("acme") as session:
        await rows.open_call(
            session, opened_call(answer.call_id, state=rows.PARKED, arguments=b"sealed", key="k", writer=one.writer)
        )
        await asked(session, "a1", answer.call_id)
    assert (await one.handles.cancel(one.caller, answer.call_id)).kind is Stopped.NOTHING_DONE
    assert one.parked.withdrawn == ["a1"]


async def test_a_call_that_ends_parked_is_withdrawn(one: Replica) -> None:
    """Its answer names what it waits for."""
    one.parked.is_late = False
    one.path.before = asyncio.Event()
    heard = Heard()
    one.path.parks = Pending(approval_id="a1", message="Wait.", state=PendingState.APPROVAL)
    calling = asyncio.create_task(one.call("note", announced=heard))
    await one.path.arrived.wait()
    running = one.handles._here.by_id[heard.call_id]
    running.ends()  # the very moment after which nothing is stopped any more
    stopping_it = asyncio.create_task(one.handles.cancel(one.caller, heard.call_id))
    await asyncio.sleep(0)
    one.path.before.set()
    assert isinstance((await calling).outcome, Pending)
    assert (await stopping_it).kind is Stopped.NOTHING_DONE
    assert one.parked.withdrawn == ["a1"]


async def test_a_failure_of_its_own_is_too_late_to_stop(one: Replica) -> None:
    """GetCall says how it ended."""
    one.path.before = asyncio.Event()
    heard = Heard()
    calling = asyncio.create_task(one.call("note", announced=heard))
    await one.path.arrived.wait()
    running = one.handles._here.by_id[heard.call_id]
    running.ends()
    one.path.parks = Failure(reason=Reason.POLICY_DENIED, message="No.")  # type: ignore[assignment]
    stopping_it = asyncio.create_task(one.handles.cancel(one.caller, heard.call_id))
    await asyncio.sleep(0)
    one.path.before.set()
    await calling
    assert (await stopping_it).kind is Stopped.TOO_LATE


async def test_every_end_has_a_sentence() -> None:
    """One, for a model."""
    assert set(stopping._SENTENCES) == set(Stopped)
