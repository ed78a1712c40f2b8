"""ApprovalService: what becomes protobuf and what a status, over a real gRPC server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from fakes.approvals import arguments, new_id, person
from fakes.clock import START, FakeClock
from fakes.desk import FakeDesk, FakeRuns, approval
from fakes.journal import ListJournal
from fakes.principals import FakeAuthenticator
from fakes.sink import ListSink

from gateway.admission import Admission
from gateway.approvals.base import ApprovalState, Decided, Terms
from gateway.audit.deeds import Deeds
from gateway.deciding import Deciding
from gateway.errors import Refused, RefusedKind
from gateway.metrics.counts import Metrics
from gateway.rows import Rate
from gateway.surfaces.approvals import MOST_WATCHES, WATCH_SECONDS, ApprovalService
from gateway.surfaces.edge import Edge
from gateway.telemetry import configure
from gateway.v1 import approval_service_pb2 as pb
from gateway.v1.approval_service_pb2_grpc import ApprovalServiceStub

ME = (("who", "ann"),)
DENIED = Decided(person="bob", roles=("approver",), reason="No.", at=START + 1, approves=False)


async def _take(_rates: Any) -> tuple[int, float]:
    return -1, 0.0


@dataclass
class Served:
    """The service, and who calls it."""

    desk: FakeDesk
    sink: ListSink
    clock: FakeClock
    stub: Any


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """The service over a desk with two approvals, on a socket."""
    desk, sink, clock = FakeDesk(approval("a1"), approval("a2")), ListSink(), FakeClock()
    edge = Edge(
        listener="control",
        authenticator=FakeAuthenticator(person()),
        admission=Admission(take=_take, rate=Rate(per_minute=1e6, burst=1000), max_in_flight=8),
        metrics=Metrics(),
        log=configure("error", StringIO()),
    )
    deeds = Deeds(ListJournal(), sink, clock=clock, new_id=new_id)
    service = ApprovalService(edge, desk, Deciding(desk, deeds, FakeRuns()), clock=clock)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((service.handler(),))
    server.add_insecure_port(f"unix:{tmp_path / 's'}")
    await server.start()
    async with grpc.aio.insecure_channel(f"unix:{tmp_path / 's'}") as channel:
        yield Served(desk, sink, clock, ApprovalServiceStub(channel))
    await server.stop(None)


async def _status(calling: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await calling
    return caught.value.code(), caught.value.details() or ""


async def test_one_is_shown_whole(served: Served) -> None:
    """Every field has its place."""
    terms = Terms(roles=("boss", "treasurer"), count=2, expires_in_seconds=60)
    served.desk.lay(approval("a1", state=ApprovalState.DENIED, terms=terms, decisions=(DENIED,)))
    answer = await served.stub.GetApproval(pb.GetApprovalRequest(approval_id="a1"), metadata=ME)
    found = answer.approval
    assert (found.approval_id, found.call_id, found.agent, found.requester) == (
        "a1",
        "call of a1",
        "helper",
        "helper-1",
    )
    assert (found.tool, found.tool_version, found.connection, found.risk) == ("send", "1", "fake", "high")
    assert (found.arguments_digest, found.policy_revision) == (arguments().digest, "r1")
    assert found.state == pb.APPROVAL_STATE_DENIED
    assert (found.needed, list(found.roles)) == (2, ["boss", "treasurer"])
    assert (found.created_at.seconds, found.expires_at.seconds) == (int(START), int(START) + 3600)
    assert (found.arguments_json, found.preview_json) == (arguments().canonical, b'{"was":1,"will_be":2}')
    assert list(found.reasons) == ["high_risk: High risk."]
    (decision,) = found.decisions
    assert (decision.person, decision.approved, decision.role, decision.reason) == ("bob", False, "approver", "No.")
    assert decision.decided_at.seconds == int(START) + 1


@pytest.mark.parametrize("state", ApprovalState)
async def test_every_state_reaches_the_wire(served: Served, state: ApprovalState) -> None:
    """By its own name, and is found by it."""
    served.desk.lay(approval("a1", state=state), approval("a2", state=state))
    number = pb.ApprovalState.Value(f"APPROVAL_STATE_{state.name}")
    answer = await served.stub.ListApprovals(pb.ListApprovalsRequest(states=[number]), metadata=ME)
    assert [each.state for each in answer.approvals] == [number, number]


async def test_a_list_comes_in_pages(served: Served) -> None:
    """Those that are open when nobody says which; a page holds no more than asked for, and 200 at most."""
    first = await served.stub.ListApprovals(pb.ListApprovalsRequest(page_size=1), metadata=ME)
    assert [each.approval_id for each in first.approvals] == ["a1"]
    request = pb.ListApprovalsRequest(page_size=5000, page_token=first.next_page_token)
    second = await served.stub.ListApprovals(request, metadata=ME)
    assert ([each.approval_id for each in second.approvals], second.next_page_token) == (["a2"], "")
    assert served.desk.pages == [((ApprovalState.OPEN,), 1, ""), ((ApprovalState.OPEN,), 200, "a1")]


@pytest.mark.parametrize(
    "request_", [pb.ListApprovalsRequest(states=[0]), pb.ListApprovalsRequest(page_token="\x00")], ids=str
)
async def test_a_list_of_nonsense_is_refused(served: Served, request_: Any) -> None:
    """A state that is none, and a token that nobody gave out."""
    status, _ = await _status(served.stub.ListApprovals(request_, metadata=ME))
    assert status is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_decision_is_carried_out_and_answered(served: Served) -> None:
    """With what the person said, what they saw, and a line."""
    request = pb.DecideApprovalRequest(
        approval_id="a1", approve=True, reason="Agreed.", arguments_digest=arguments().digest
    )
    answer = await served.stub.DecideApproval(request, metadata=ME)
    assert answer.approval.state == pb.APPROVAL_STATE_APPROVED
    (verdict,) = served.desk.verdicts
    assert (verdict.approve, verdict.reason, verdict.arguments_digest) == (True, "Agreed.", arguments().digest)
    (line,) = served.sink.lines
    assert line.principal == "ann"


async def test_edited_arguments_are_passed_on(served: Served) -> None:
    """The answer is the new approval."""
    request = pb.DecideApprovalRequest(approval_id="a1", approve=True, reason="Less.", edited_arguments_json=b"{}")
    answer = await served.stub.DecideApproval(request, metadata=ME)
    assert answer.approval.approval_id == "a2"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (RefusedKind.INVALID, grpc.StatusCode.INVALID_ARGUMENT),
        (RefusedKind.FORBIDDEN, grpc.StatusCode.PERMISSION_DENIED),
        (RefusedKind.CONFLICT, grpc.StatusCode.ABORTED),
        (RefusedKind.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE),
    ],
)
async def test_a_refusal_is_a_status_and_a_sentence(served: Served, kind: RefusedKind, status: grpc.StatusCode) -> None:
    """The sentence is for the person."""
    served.desk.refusal = Refused(kind, "Because.")
    request = pb.DecideApprovalRequest(approval_id="a1", approve=True, reason="x")
    assert await _status(served.stub.DecideApproval(request, metadata=ME)) == (status, "Because.")


async def test_what_is_not_there_is_not_found(served: Served) -> None:
    """On every method that names one."""
    for calling in (
        served.stub.GetApproval(pb.GetApprovalRequest(approval_id="x"), metadata=ME),
        served.stub.DecideApproval(pb.DecideApprovalRequest(approval_id="x", reason="y"), metadata=ME),
    ):
        assert (await _status(calling))[0] is grpc.StatusCode.NOT_FOUND


async def test_nobody_is_let_in_without_proof(served: Served) -> None:
    """On any method."""
    for calling in (
        served.stub.GetApproval(pb.GetApprovalRequest(approval_id="a1")),
        served.stub.ListApprovals(pb.ListApprovalsRequest()),
        served.stub.DecideApproval(pb.DecideApprovalRequest(approval_id="a1", reason="y")),
        served.stub.WatchApprovals(pb.WatchApprovalsRequest()).read(),
    ):
        assert (await _status(calling))[0] is grpc.StatusCode.UNAUTHENTICATED


async def test_a_reason_without_end_is_refused(served: Served) -> None:
    """Before anybody reads it."""
    request = pb.DecideApprovalRequest(approval_id="a1", reason="x" * 2001)
    assert (await _status(served.stub.DecideApproval(request, metadata=ME)))[0] is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_watch_tells_what_is_open_and_then_what_changes(served: Served) -> None:
    """Each change once: a new one, one that somebody approved, one that is decided. Nothing private goes along."""
    served.desk.lay(approval("a3", state=ApprovalState.APPROVED))
    watching = served.stub.WatchApprovals(pb.WatchApprovalsRequest(), metadata=ME)
    first = [(await watching.read()).approval for _ in range(2)]
    assert [each.approval_id for each in first] == ["a1", "a2"]
    assert {each.arguments_json for each in first} == {b""}
    served.desk.lay(approval("a4"))
    assert (await watching.read()).approval.approval_id == "a4"
    served.desk.lay(approval("a1", decisions=(DENIED,)))
    assert (await watching.read()).approval.approval_id == "a1"
    served.desk.lay(approval("a2", state=ApprovalState.USED))
    told = (await watching.read()).approval
    assert (told.approval_id, told.state) == ("a2", pb.APPROVAL_STATE_USED)
    assert (told.arguments_json, told.preview_json) == (b"", b"")
    watching.cancel()


async def test_one_person_watches_so_often_at_once_and_no_more(served: Served) -> None:
    """Each watch asks the store every second; one that is over makes room."""
    watches = [served.stub.WatchApprovals(pb.WatchApprovalsRequest(), metadata=ME) for _ in range(MOST_WATCHES)]
    for watching in watches:
        await watching.read()
    refused = served.stub.WatchApprovals(pb.WatchApprovalsRequest(), metadata=ME)
    assert (await _status(refused.read()))[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
    watches.pop().cancel()
    async with asyncio.timeout(5):
        while True:  # the server hears of the cancellation a moment later
            again = served.stub.WatchApprovals(pb.WatchApprovalsRequest(), metadata=ME)
            with contextlib.suppress(grpc.aio.AioRpcError):
                await again.read()
                break
    for watching in (again, *watches):
        watching.cancel()


async def test_a_watch_ends_so_that_whoever_watches_proves_again_who_they_are(served: Served) -> None:
    """After a quarter of an hour."""
    watching = served.stub.WatchApprovals(pb.WatchApprovalsRequest(), metadata=ME)
    for _ in range(2):
        await watching.read()
    served.clock.advance(WATCH_SECONDS)
    served.desk.lay()
    assert await asyncio.wait_for(watching.read(), 5) == grpc.aio.EOF
