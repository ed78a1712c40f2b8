"""Parked, approved, carried out: the real path, the real store, and what each of those who take part is told."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from fakes.approvals import Office, new_id, person
from fakes.engine import FakeEngine
from fakes.path import Road, road
from fakes.principals import principal
from real.stores import opened, sqlite_settings

from gateway.approvals.base import Approval, ApprovalState, Verdict
from gateway.audit.deeds import Deeds
from gateway.call import Answer, Failure, Pending, PendingState, Result
from gateway.deciding import Deciding
from gateway.errors import Reason, Refused, RefusedKind
from gateway.execution import Executor
from gateway.telemetry import configure

ASK = '{"effect":"require_approval","reasons":[{"code":"high_risk"}],"obligations":[]}'
DENY = '{"effect":"deny","reasons":[{"code":"not_today","message":"Not today."}],"obligations":[]}'
WRITE = ("note", '{"path":"/a"}')


@dataclass
class Gateway:
    """A road with everything that approvals need beside it."""

    road: Road
    office: Office
    executor: Executor
    deciding: Deciding

    async def ask(self, key: str = "k") -> Answer:
        """The agent asks for a write."""
        return await self.road.call(*WRITE, key=key)

    async def waiting(self) -> Approval:
        """The one approval that is open, as Ann sees it."""
        (found,), _ = await self.office.desk.page(person(), (ApprovalState.OPEN,), size=9, after="")
        return await self.office.desk.get(person(), found.approval_id)

    async def say(self, name: str = "ann", *, approve: bool = True, edited: bytes = b"") -> Approval:
        """This person decides, and what comes of it has come."""
        seen = await self.waiting()
        verdict = Verdict(
            approval_id=seen.approval_id, approve=approve, reason="So.", arguments_digest=seen.arguments_digest
        )
        decided = await self.deciding.decide(person(name), verdict, edited)
        while self.executor._running:
            await next(iter(self.executor._running.values()))
        return decided

    @property
    def engine(self) -> Any:
        """What decides."""
        return self.road.engine

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """The lines of this kind."""
        return [line for line in self.road.lines if line["kind"] == kind]


@contextlib.asynccontextmanager
async def _gateway(folder: Path) -> AsyncIterator[Gateway]:
    async with opened(await sqlite_settings(folder)) as database:
        base = Road()
        office = Office(database, base.clock)
        changes = {"keys": office.keys, "approvals": office.approvals, "engine": FakeEngine(ASK), "clock": base.clock}
        async with road(**changes) as one:
            executor = Executor(one.execute, office.approvals, clock=one.clock, log=configure("error", StringIO()))
            deeds = Deeds(one.audit.journal, one.audit.sink, clock=one.clock, new_id=new_id)
            yield Gateway(one, office, executor, Deciding(office.desk, deeds, executor))


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    """A gateway whose policy wants a person for everything."""
    async with _gateway(tmp_path) as one:
        yield one


async def test_an_approved_write_happens_once_and_its_key_tells_of_it(gateway: Gateway) -> None:
    """Pending, pending again, then the result: one effect, and one line for each thing that was done."""
    first, second = await gateway.ask(), await gateway.ask()
    assert isinstance(first.outcome, Pending)
    assert isinstance(second.outcome, Pending)
    assert (second.outcome.approval_id, second.is_replay) == (first.outcome.approval_id, True)
    assert gateway.road.effects == 0
    await gateway.say()
    assert gateway.road.effects == 1
    third = await gateway.ask()
    assert isinstance(third.outcome, Result)
    assert (third.is_replay, third.effect_id) == (True, first.effect_id)
    assert gateway.road.effects == 1
    (decision,), (execution,) = gateway.lines("decision"), gateway.lines("execution")
    assert (decision["principal"], decision["decision"]) == ("ann", "approve")
    assert (execution["call_id"], execution["outcome"]) == (first.call_id, "ok")
    assert execution["approval_id"] == first.outcome.approval_id == decision["approval_id"]


async def test_policy_sees_the_approval_and_may_deny_it(gateway: Gateway) -> None:
    """The agent is told policy's reason, and the approval cannot be used any more."""
    pending = (await gateway.ask()).outcome
    assert isinstance(pending, Pending)
    gateway.engine.answer, gateway.engine.revision = DENY, "sha256:" + "1" * 64
    await gateway.say()
    seen = json.loads(gateway.engine.documents[-1])["approval"]
    assert (seen["id"], seen["same_revision"]) == (pending.approval_id, False)
    assert [one["id"] for one in seen["approvers"]] == ["ann"]
    assert gateway.road.effects == 0
    assert (await gateway.office.desk.get(person(), pending.approval_id)).state is ApprovalState.WITHDRAWN


async def test_a_denied_call_is_told_as_one_to_whoever_repeats_its_key(gateway: Gateway) -> None:
    """And nobody is asked again."""
    await gateway.ask()
    await gateway.say(approve=False)
    answer = await gateway.ask()
    assert isinstance(answer.outcome, Failure)
    assert answer.outcome.reason is Reason.APPROVAL_DENIED
    assert (await gateway.office.desk.page(person(), (ApprovalState.OPEN,), size=9, after=""))[0] == []
    assert gateway.road.effects == 0


async def test_a_read_is_parked_and_runs_too(gateway: Gateway) -> None:
    """Once; each call of it asks anew, for it has no key."""
    for effects in (1, 2):
        assert isinstance((await gateway.road.call("echo")).outcome, Pending)
        await gateway.say()
        assert gateway.road.effects == effects


async def test_edited_arguments_run_in_place_of_what_was_asked(gateway: Gateway) -> None:
    """After policy has seen them; the agent's own key, with its own arguments, tells of it."""
    await gateway.ask()
    decided = await gateway.say(edited=b'{"path": "/b"}')
    assert decided.state is ApprovalState.APPROVED
    (invocation,) = gateway.road.adapter.invocations
    assert invocation.arguments["path"] == "/b"
    assert isinstance((await gateway.ask()).outcome, Result)
    assert [line["outcome"] for line in gateway.lines("execution")] == ["pending", "ok"]


@pytest.mark.parametrize(
    ("edited", "kind"),
    [(b'{"path": 1}', RefusedKind.INVALID), (b"{", RefusedKind.INVALID), (b'{"path":"/c"}', RefusedKind.FORBIDDEN)],
)
async def test_an_edit_that_is_not_taken_changes_nothing(gateway: Gateway, edited: bytes, kind: RefusedKind) -> None:
    """Arguments that the tool does not take, or that policy denies; the question is open still."""
    await gateway.ask()
    before = await gateway.waiting()
    if kind is RefusedKind.FORBIDDEN:
        gateway.engine.answer = DENY
    with pytest.raises(Refused) as caught:
        await gateway.say(edited=edited)
    assert caught.value.kind is kind
    gateway.engine.answer = ASK
    assert await gateway.waiting() == before
    await gateway.say()
    assert gateway.road.effects == 1


async def test_an_approval_does_not_cover_what_a_tool_has_become(gateway: Gateway) -> None:
    """Another version of the tool: nothing is sent, and the agent may ask again."""
    await gateway.ask()
    gateway.road.rows.tools["note"] = {"version": "99"}
    gateway.road.load()
    await gateway.say()
    assert gateway.road.effects == 0
    (execution,) = gateway.lines("execution")
    assert execution["reason"] == "approval_mismatch"
    pending = (await gateway.ask()).outcome
    assert isinstance(pending, Pending)
    assert pending.state is PendingState.APPROVAL


async def test_what_stops_an_approved_call_for_a_while_is_waited_for(gateway: Gateway) -> None:
    """The limiter is down; the sweep runs it once that is over."""
    await gateway.ask()
    gateway.road.limiter.is_down = True
    await gateway.say()
    assert gateway.road.effects == 0
    gateway.road.limiter.is_down = False
    gateway.road.clock.advance(6)
    await gateway.executor.sweep(["acme"])
    while gateway.executor._running:
        await next(iter(gateway.executor._running.values()))
    assert gateway.road.effects == 1


async def test_g14_an_approval_is_for_one_call_and_its_very_arguments(gateway: Gateway) -> None:
    """Other arguments are another question, another spelling of the same is the same one, a policy that was reloaded
    decides again, and all of it runs once.
    """
    same = (
        '{"path":"/a","body":"500"}',
        '{ "body": "500", "path": "/a" }',
        '{"body":"\\u0035\\u0030\\u0030","path":"/a"}',
    )
    call = gateway.road.call
    asked = [(await call("note", spelling, key="k")).outcome for spelling in same]
    assert len({one.approval_id for one in asked if isinstance(one, Pending)}) == 1
    for other, reason in (
        ('{"path":"/a","body":"5000"}', Reason.KEY_REUSED),
        ('{"path":"/a","body":"500","note":"x"}', Reason.ARGUMENTS_INVALID),
    ):
        refused = (await call("note", other, key="k")).outcome
        assert isinstance(refused, Failure)
        assert refused.reason is reason
    gateway.engine.revision = "sha256:" + "1" * 64
    decisions = len(gateway.engine.documents)
    await gateway.say()
    assert len(gateway.engine.documents) == decisions + 1
    assert gateway.road.effects == 1
    again = [(await call("note", spelling, key="k")).outcome for spelling in same]
    assert all(isinstance(one, Result) for one in again)
    another = (await call("note", '{"path":"/a","body":"5000"}', key="k2")).outcome
    stranger = (await call("note", same[0], key="k", caller=principal(agent="another"))).outcome
    assert isinstance(another, Pending)
    assert isinstance(stranger, Failure)
    assert gateway.road.effects == 1
