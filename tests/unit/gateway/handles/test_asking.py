"""How a call stands, from whatever is known of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fakes.approvals_rows import asked
from fakes.calls import opened_call
from fakes.clock import START
from fakes.handles import Replica, replica
from fakes.lines import result
from fakes.principals import principal
from real.stores import sqlite_settings

from gateway.call import Failure, Known, Pending, PendingState, Result, Standing
from gateway.errors import Reason, Refusal
from gateway.idempotency.keys import scoped_key
from gateway.outcomes import encode
from gateway.store import calls as rows
from gateway.store.columns import moment_of
from gateway.store.writers import hold

KEY = scoped_key("acme", "helper", "note", "k")
LATER = moment_of(START + 1000)
UNKNOWN = Failure(reason=Reason.OUTCOME_UNKNOWN, message="Nobody knows.")


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Replica]:
    """A gateway whose store has a call that runs elsewhere."""
    async with replica(await sqlite_settings(tmp_path)) as made:
        async with made.database.tenant("acme") as session:
            await hold(session, "w9", now=moment_of(START), until=moment_of(START + 30))
            await rows.open_call(session, opened_call(key=KEY, tool="note", writer="w9"))
        yield made


async def _finish(one: Replica, outcome: Any, word: str) -> None:
    sealed = None if outcome is None else await one.seal.seal("acme", "call:c1", encode(outcome))
    async with one.database.tenant("acme") as session:
        await rows.finish(session, "c1", outcome=word, result=sealed, now=moment_of(START), until=LATER)


async def _park(one: Replica, approval_id: str) -> None:
    async with one.database.tenant("acme") as session:
        parked = opened_call(key=KEY, tool="note", writer="w9", state=rows.PARKED, arguments=b"sealed")
        await rows.open_call(session, parked)
        if approval_id:
            await asked(session, approval_id, "c1")


def _known(one: Replica, standing: Standing, call_id: str = "c1", **more: Any) -> None:
    one.keys.one.known[KEY] = Known(
        standing=standing, call_id=call_id, effect_id="e9", arguments_digest="sha256:aa", **more
    )


async def _by_id(one: Replica) -> Any:
    return (await one.handles.get(one.caller, "c1")).answer.outcome


async def _by_key(one: Replica, key: str = "k", caller: Any = None) -> Any:
    return (await one.handles.get_by_key(caller or one.caller, "note", key)).answer


async def test_a_call_that_runs_elsewhere_is_running(one: Replica) -> None:
    """Whether it is asked for by its id or its key."""
    assert (await _by_id(one)).state is PendingState.RUNNING
    assert (await _by_key(one)).call_id == "c1"


async def test_a_finished_call_gives_what_its_own_answer_was(one: Replica) -> None:
    """A failure as well as a result."""
    withheld = Failure(reason=Reason.AUDIT_UNAVAILABLE, message="Try again later.")
    await _finish(one, withheld, "unavailable")
    assert await _by_id(one) == withheld


async def test_a_result_that_is_not_kept_is_done_all_the_same(one: Replica) -> None:
    """Nobody should do it again."""
    await _finish(one, None, "ok")
    assert (await _by_id(one)).reason is Reason.KEY_DONE


@pytest.mark.parametrize(("word", "reason"), [("cancelled", Reason.CANCELLED), ("conflict", Reason.OUTCOME_UNKNOWN)])
async def test_an_end_that_is_not_kept_is_certain_where_the_row_is(one: Replica, word: str, reason: Reason) -> None:
    """Otherwise nobody claims to know."""
    await _finish(one, None, word)
    assert (await _by_id(one)).reason is reason


async def test_what_does_not_open_any_more_is_as_good_as_gone(one: Replica) -> None:
    """It was done."""
    await _finish(one, result(), "ok")
    one.seal.is_broken = True
    assert (await _by_id(one)).reason is Reason.KEY_DONE


async def test_an_unknown_end_is_what_somebody_found_out_since(one: Replica) -> None:
    """As far as its key tells; otherwise it stays unknown."""
    await _finish(one, UNKNOWN, "unknown")
    for standing, call_id in ((Standing.UNKNOWN, "c1"), (Standing.DONE, "c2")):
        _known(one, standing, call_id)
        assert await _by_id(one) == UNKNOWN
    del one.keys.one.known[KEY]
    assert await _by_id(one) == UNKNOWN
    _known(one, Standing.DONE, result=result("found"))
    assert await _by_id(one) == result("found")


async def test_a_parked_call_stands_as_its_approval_does(one: Replica) -> None:
    """It waits for a person, or was denied."""
    await _park(one, "a1")
    pending = await _by_id(one)
    assert (pending.state, pending.approval_id) == (PendingState.APPROVAL, "a1")
    one.parked.states["a1"] = Failure(reason=Reason.APPROVAL_DENIED, message="No.")
    assert (await _by_id(one)).reason is Reason.APPROVAL_DENIED


async def test_a_parked_call_without_an_approval_waits(one: Replica) -> None:
    """For one that is just being asked for."""
    await _park(one, "")
    assert isinstance(await _by_id(one), Pending)


@pytest.mark.parametrize(
    ("standing", "more", "kind"),
    [
        (Standing.IN_PROGRESS, {}, Pending),
        (Standing.PARKED, {"approval_id": "a1"}, Pending),
        (Standing.UNKNOWN, {}, Failure),
        (Standing.DONE, {}, Failure),
        (Standing.DONE, {"result": result("first")}, Result),
    ],
)
async def test_a_call_without_a_row_is_what_its_key_remembers(
    one: Replica, standing: Standing, more: dict[str, Any], kind: type
) -> None:
    """One that ended while its caller waited leaves no row."""
    _known(one, standing, "c7", **more)
    answer = await _by_key(one)
    assert (answer.call_id, answer.effect_id) == ("c7", "e9")
    assert isinstance(answer.outcome, kind)


async def test_a_key_is_its_agents_alone(one: Replica) -> None:
    """And has to be one."""
    _known(one, Standing.DONE, "c7")
    assert (await _by_key(one, caller=principal(agent="other"))).outcome.reason is Reason.CALL_NOT_FOUND
    assert (await _by_key(one, "other")).outcome.reason is Reason.CALL_NOT_FOUND
    assert (await _by_key(one, "x" * 129)).outcome.reason is Reason.KEY_INVALID


async def test_what_cannot_be_looked_up_is_no_answer(one: Replica) -> None:
    """The caller is told to come back."""
    one.keys.one.is_down = True
    with pytest.raises(Refusal) as caught:
        await _by_key(one)
    assert caught.value.reason is Reason.STORE_UNAVAILABLE
