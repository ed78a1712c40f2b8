"""Several gateways over one PostgreSQL, broken at every moment of a write: one effect, and one line for each call."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.audit import until
from fakes.replicas import GONE_SECONDS, LEASE_SECONDS, Fleet, Moment, Replica, fleet_in, reason_of
from real.postgres import Postgres, postgres
from real.stores import postgres_settings

CLAIMS = (Moment.CLAIMED, Moment.SENT, Moment.SETTLING)
"""Moments at which the key is claimed for certain."""
ACTED = {Moment.SENT, Moment.SETTLING}
"""Moments at which the vendor has done it."""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A real PostgreSQL."""
    with postgres() as running:
        yield running


@pytest.fixture
async def fleet(server: Postgres, tmp_path: Path) -> Fleet:
    """Over a database of its own."""
    return fleet_in(tmp_path, await postgres_settings(server))


@pytest.fixture
async def pair(fleet: Fleet) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two that run."""
    async with fleet.replica("a") as a, fleet.replica("b") as b:
        yield a, b


async def held_at(one: Replica, moment: Moment, path: str = "x", **more: Any) -> "asyncio.Task[Any]":
    """A write that has stopped there."""
    one.want(moment, path)
    call = one.calling(path, key="k", **more)
    await one.reached(moment)
    return call


async def within(seconds: float, holds: Callable[[], bool]) -> None:
    """Return when it holds; fails when it does not come to."""
    async with asyncio.timeout(seconds):
        await until(holds)


async def closed_by(other: Replica, kind: str = "call") -> dict[str, Any]:
    """The line by which the other replica closes what was left."""

    def found() -> list[dict[str, Any]]:
        return [line for line in other.lines if line["kind"] == kind and line.get("recovered")]

    await within(GONE_SECONDS + 10, lambda: bool(found()))
    (line,) = found()
    return line


def lines_of(one: Replica, kind: str) -> list[dict[str, Any]]:
    """Its lines of this kind."""
    return [line for line in one.lines if line["kind"] == kind]


def each_has_one_line(fleet: Fleet) -> None:
    """No call has two."""
    assert set(fleet.told().values()) <= {1}, fleet.told()
    assert max((fleet.effects.count(path) for path in fleet.effects), default=0) <= 1


# The store does not answer one of them.


REASONS = {
    Moment.DECIDED: "STORE_UNAVAILABLE",
    Moment.CLAIMING: "OUTCOME_UNKNOWN",
    Moment.CLAIMED: "OUTCOME_UNKNOWN",
    Moment.SENT: "OUTCOME_UNKNOWN",
    Moment.SETTLING: "OUTCOME_UNKNOWN",
}


@pytest.mark.parametrize("moment", Moment)
async def test_a_store_that_is_away_for_a_moment_leaves_one_line(
    fleet: Fleet, pair: tuple[Replica, Replica], moment: Moment
) -> None:
    """Of whoever carried it out, once the store has heard of it. The key then says what there is to say."""
    a, b = pair
    call = await held_at(a, moment)
    await a.cut_off()
    a.go(moment)
    response = await call
    assert reason_of(response) == REASONS[moment]
    await a.heal()
    await within(10, lambda: fleet.told()[response.call_id] == 1)
    (line,) = [line for line in fleet.lines if line["call_id"] == response.call_id]
    has_acted = moment in {*ACTED, Moment.CLAIMED}
    assert (line["kind"], line.get("happened", "")) == ("call", "yes" if has_acted else "")
    again = await b.call("x", key="k")
    assert (again.result.receipt, again.replay) == ("Done.", has_acted)
    assert fleet.effects == ["x"]
    each_has_one_line(fleet)


@pytest.mark.parametrize("moment", [Moment.CLAIMING, Moment.SENT])
async def test_a_store_that_is_away_until_others_have_closed_the_call_leaves_one_line(
    fleet: Fleet, pair: tuple[Replica, Replica], moment: Moment
) -> None:
    """Theirs; who carried it out tells what came of it after all."""
    a, b = pair
    call = await held_at(a, moment)
    await a.cut_off()
    a.go(moment)
    response = await call
    assert reason_of(response) == "OUTCOME_UNKNOWN"
    line = await closed_by(b)
    assert (line["call_id"], line["outcome"], line["happened"]) == (response.call_id, "unknown", "unknown")
    await a.heal()
    await within(10, lambda: bool(lines_of(a, "resolution")))
    (resolution,) = lines_of(a, "resolution")
    assert (resolution["call_id"], resolution.get("happened", "")) == (
        response.call_id,
        "yes" if moment is Moment.SENT else "",
    )
    assert lines_of(a, "call") == []
    each_has_one_line(fleet)


async def test_a_gateway_that_is_killed_before_the_store_has_heard_leaves_one_line(
    fleet: Fleet, pair: tuple[Replica, Replica]
) -> None:
    """For others its claim is open: they close the call, and it tells nothing when it is back."""
    a, b = pair
    call = await held_at(a, Moment.SENT)
    await a.cut_off()
    a.go(Moment.SENT)
    response = await call
    a.kill()
    assert (await closed_by(b))["call_id"] == response.call_id
    async with fleet.replica("a") as back:
        assert reason_of(await back.call("x", key="k")) == "OUTCOME_UNKNOWN"
    assert fleet.told()[response.call_id] == 1
    each_has_one_line(fleet)
    assert fleet.effects == ["x"]


# One of them is killed.


@pytest.mark.parametrize("moment", Moment)
async def test_a_kill_at_any_moment_is_one_line_and_no_second_effect(
    fleet: Fleet, pair: tuple[Replica, Replica], moment: Moment
) -> None:
    """Another closes what had claimed its key; who comes back tells of the rest, and of nothing twice."""
    a, b = pair
    call = await held_at(a, moment)
    a.kill()
    await asyncio.wait((call,))
    had_acted = fleet.effects
    if moment in CLAIMS:
        assert (await closed_by(b))["outcome"] == "unknown"
        assert reason_of(await b.call("x", key="k")) == "OUTCOME_UNKNOWN"
        assert fleet.effects == had_acted == (["x"] if moment in ACTED else [])
    else:
        assert (await b.call("x", key="k")).result.receipt == "Done."
    async with fleet.replica("a") as back:
        await back.call("y", key="other")
    assert fleet.effects == [*(["x"] if moment is not Moment.CLAIMED else []), "y"]
    assert len([line for line in fleet.lines if line["kind"] == "call" and line.get("recovered")]) == 1
    each_has_one_line(fleet)


# One of them stands still.


async def test_who_stood_still_before_the_send_sends_nothing(fleet: Fleet, pair: tuple[Replica, Replica]) -> None:
    """Not even when its lease is good again: others have called it unknown in between."""
    a, b = pair
    call = await held_at(a, Moment.CLAIMED)
    a.freeze()
    line = await closed_by(b)
    a.thaw()
    await asyncio.sleep(LEASE_SECONDS)  # it renews its lease, which must not help
    a.go(Moment.CLAIMED)
    response = await call
    assert reason_of(response) == "OUTCOME_UNKNOWN"
    assert fleet.effects == []
    (resolution,) = lines_of(a, "resolution")
    assert (resolution["call_id"], resolution["happened"]) == (line["call_id"], "no")
    each_has_one_line(fleet)


async def test_who_stood_still_at_the_vendor_tells_what_came_of_it(fleet: Fleet, pair: tuple[Replica, Replica]) -> None:
    """By a line of another kind; the key has the result."""
    a, b = pair
    call = await held_at(a, Moment.SENT)
    a.freeze()
    line = await closed_by(b)
    a.thaw()
    await asyncio.sleep(LEASE_SECONDS)
    a.go(Moment.SENT)
    response = await call
    assert reason_of(response) == "OUTCOME_UNKNOWN"
    (resolution,) = lines_of(a, "resolution")
    assert (resolution["call_id"], resolution["happened"]) == (line["call_id"], "yes")
    again = await b.call("x", key="k")
    assert (again.result.receipt, again.replay) == ("Done.", True)
    assert fleet.effects == ["x"]
    each_has_one_line(fleet)


# The server itself.


@contextlib.asynccontextmanager
async def _frozen(server: Postgres) -> AsyncIterator[None]:
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


@contextlib.asynccontextmanager
async def _killed(server: Postgres) -> AsyncIterator[None]:
    server.daemon.kill()
    try:
        yield
    finally:
        server.start()


@pytest.mark.parametrize("breaks", [_frozen, _killed])
async def test_a_server_that_breaks_at_every_moment_costs_no_line_and_no_effect(
    server: Postgres, fleet: Fleet, pair: tuple[Replica, Replica], breaks: Any
) -> None:
    """Of five writes, each at another moment, all end with one line, and none is done twice by whoever asks again."""
    a = pair[0]
    calls = []
    # Those that stop inside a transaction last: it holds up the others, and has a second to end.
    for moment in (Moment.DECIDED, Moment.CLAIMED, Moment.SENT, Moment.SETTLING, Moment.CLAIMING):
        a.want(moment, moment)
        calls.append(a.calling(moment, key=moment))
        await a.reached(moment)
    async with breaks(server):
        for moment in Moment:
            a.go(moment)
        responses = await asyncio.gather(*calls)
    ids = [response.call_id for response in responses]
    await within(15, lambda: all(fleet.told()[call_id] == 1 for call_id in ids))
    for moment in Moment:
        for one in pair:
            await one.call(moment, key=moment)
    assert sorted(fleet.effects) == sorted(moment.value for moment in Moment)
    each_has_one_line(fleet)


# What people have approved.


async def approved_at(one: Replica, path: str = "ask") -> str:
    """A write that was parked; the approval."""
    response = await one.call(path, key="k")
    assert response.WhichOneof("outcome") == "pending"
    return str(response.pending.approval_id)


async def test_two_that_run_one_approved_call_do_it_once(fleet: Fleet, pair: tuple[Replica, Replica]) -> None:
    """Each tries every second, and one of them gets it done."""
    a, b = pair
    for one in pair:
        one.want(Moment.CLAIMING)
    approval_id = await approved_at(a)
    await a.approve(approval_id)
    await a.reached(Moment.CLAIMING)
    with contextlib.suppress(TimeoutError):
        await b.reached(Moment.CLAIMING)
    for one in pair:
        one.go(Moment.CLAIMING)
    await within(10, lambda: fleet.effects == ["ask"])
    again = await b.call("ask", key="k")
    while again.WhichOneof("outcome") == "pending":
        again = await b.call("ask", key="k")
    assert again.result.receipt == "Done."
    await asyncio.sleep(3)
    assert fleet.effects == ["ask"]
    assert [line["outcome"] for line in fleet.lines if line["kind"] == "execution"].count("ok") == 1
    each_has_one_line(fleet)


@pytest.mark.parametrize("moment", [Moment.DECIDED, Moment.CLAIMING, Moment.CLAIMED, Moment.SENT])
async def test_a_kill_of_who_runs_an_approved_call_is_made_up_for_or_unknown(
    fleet: Fleet, pair: tuple[Replica, Replica], moment: Moment
) -> None:
    """Before the claim another runs it; after it nobody knows. It is never done twice."""
    a, b = pair
    approval_id = await approved_at(a)
    a.want(moment)
    await a.approve(approval_id)
    await a.reached(moment)
    a.kill()
    if moment in (Moment.DECIDED, Moment.CLAIMING):
        await within(15, lambda: [line["outcome"] for line in lines_of(b, "execution")] == ["ok"])
    else:
        assert (await closed_by(b, "execution"))["outcome"] == "unknown"
    done = fleet.effects
    async with fleet.replica("a"):
        await asyncio.sleep(2)
        again = await b.call("ask", key="k")
    assert fleet.effects == done
    assert len(done) == (moment is not Moment.CLAIMED)
    if moment in (Moment.CLAIMED, Moment.SENT):
        assert reason_of(again) == "OUTCOME_UNKNOWN"
    else:
        assert again.result.receipt == "Done."
    assert [line.get("happened") for line in fleet.lines if line["kind"] == "execution"].count("yes") == (
        moment in (Moment.DECIDED, Moment.CLAIMING)
    )
    each_has_one_line(fleet)


@pytest.mark.parametrize("moment", [Moment.DECIDED, Moment.CLAIMING])
async def test_a_store_that_is_away_when_an_approved_call_runs_costs_no_second_effect(
    fleet: Fleet, pair: tuple[Replica, Replica], moment: Moment
) -> None:
    """What was not claimed runs when the store is back; what may have been is done at most once."""
    a, b = pair
    approval_id = await approved_at(a)
    a.want(moment)
    b.want(Moment.DECIDED)  # it would run the call meanwhile
    await a.approve(approval_id)
    await a.reached(moment)
    await a.cut_off()
    a.go(moment)
    await asyncio.sleep(1)
    await a.heal()
    if moment is Moment.DECIDED:
        await within(15, lambda: fleet.effects == ["ask"])
    else:
        await asyncio.sleep(3)
    b.go(Moment.DECIDED)
    await asyncio.sleep(3)
    assert len(fleet.effects) <= 1
    each_has_one_line(fleet)


# What operators stop, and what they allow.


async def test_a_stop_on_one_is_a_stop_on_the_other_within_a_second(pair: tuple[Replica, Replica]) -> None:
    """For who asks, and for who has asked and has sent nothing yet."""
    a, b = pair
    call = await held_at(b, Moment.CLAIMED)
    await a.stop_tool("note")
    await asyncio.sleep(1)
    assert reason_of(await b.call("y", key="other")) == "STOPPED"
    b.go(Moment.CLAIMED)
    assert reason_of(await call) == "STOPPED"


async def test_a_limit_holds_over_replicas_and_kills(fleet: Fleet) -> None:
    """Five a day, asked for by two of which one dies again and again: never six."""
    async with fleet.replica("b") as b:
        for round_ in range(3):
            async with fleet.replica("a") as a:
                a.want(Moment.SENT, "held")
                one = a.calling(f"held{round_}", tool="tick")
                await asyncio.wait((one, asyncio.create_task(_reached(a, Moment.SENT))), return_when="FIRST_COMPLETED")
                calls = [who.calling(f"{name}{round_}", tool="tick") for name, who in (("a", a), ("b", b))]
                await asyncio.sleep(0.01)
                a.kill()
                await asyncio.wait(calls)
        refused = [reason_of(await b.call(f"more{number}", tool="tick")) for number in range(6)]
        await asyncio.sleep(GONE_SECONDS + 1)
        refused.append(reason_of(await b.call("last", tool="tick")))
        async with fleet.replica("a") as a:
            refused.append(reason_of(await a.call("last", tool="tick")))
    assert refused[-2:] == ["BUDGET_SPENT", "BUDGET_SPENT"]
    assert len(fleet.effects) <= 5
    each_has_one_line(fleet)


async def _reached(one: Replica, moment: Moment) -> None:
    with contextlib.suppress(TimeoutError):
        await one.reached(moment)


# The end.


async def test_who_ends_in_order_lets_what_is_at_work_end(fleet: Fleet, pair: tuple[Replica, Replica]) -> None:
    """A handle and an approved call that are at the vendor have their lines and results; what waits for its turn is
    another's.
    """
    a, b = pair
    approval_id = await approved_at(a)
    a.want(Moment.SENT)
    await a.approve(approval_id)
    await a.reached(Moment.SENT)
    handle = await a.call("long", key="long", yield_after_ms=100)
    assert handle.WhichOneof("outcome") == "pending"
    a.process.terminate()
    await asyncio.sleep(1)
    a.go(Moment.SENT)
    assert await asyncio.wait_for(a.process.wait(), 20) == 0
    assert sorted(fleet.effects) == ["ask", "long"]
    assert [line["outcome"] for line in lines_of(a, "execution")] == ["ok"]
    assert [line["outcome"] for line in lines_of(a, "call")] == ["pending", "ok"]
    for path, key in (("ask", "k"), ("long", "long")):
        assert (await b.call(path, key=key)).result.receipt == "Done."
    await asyncio.sleep(GONE_SECONDS + 1)
    each_has_one_line(fleet)
