"""ApprovalService in gRPC: people look and decide. Never where agents are."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import grpc
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from adapters.base import Clock
from gateway.approvals.base import Approval, ApprovalState, Desk, Verdict
from gateway.call import Principal
from gateway.deciding import Deciding
from gateway.errors import PolicyReason, Reason, Refusal, Refused, RefusedKind
from gateway.surfaces.edge import Context, Edge, streaming, unary
from gateway.v1 import approval_service_pb2 as pb

SERVICE = "gateway.v1.ApprovalService"
PAGE_SIZE = 200
WATCH_SECONDS = 900.0
"""How long one watch lasts: whoever watches on proves again who they are."""
MOST_WATCHES = 8
"""Of one person at once: each asks the store for everything that waits, every second."""

_MOST_CHARACTERS = {"approval_id": 128, "page_token": 128, "reason": 2000, "arguments_digest": 128}
_STATES: dict[ApprovalState, Any] = {
    state: pb.ApprovalState.Value(f"APPROVAL_STATE_{state.name}") for state in ApprovalState
}
_NAMED = {number: state for state, number in _STATES.items()}
_WAITING = (ApprovalState.OPEN, ApprovalState.APPROVED)

Mark = tuple[ApprovalState, int]
"""What changes of an approval: how it stands, and how many have decided."""


class ApprovalService:
    """ApprovalService of one listener: its callers are who its authenticator says."""

    def __init__(self, edge: Edge, desk: Desk, deciding: Deciding, *, clock: Clock) -> None:
        self._edge = edge
        self._desk = desk
        self._deciding = deciding
        self._clock = clock
        self._watches: Counter[tuple[str, str]] = Counter()

    def handler(self) -> grpc.ServiceRpcHandler:
        """The RPCs of the service, to be added to a server."""
        unreadable = self._edge.unreadable
        watch = streaming(self.watch_approvals, pb.WatchApprovalsRequest, unreadable, most_characters=_MOST_CHARACTERS)
        methods = {
            "ListApprovals": self._unary(self.list_approvals, pb.ListApprovalsRequest),
            "GetApproval": self._unary(self.get_approval, pb.GetApprovalRequest),
            "DecideApproval": self._unary(self.decide_approval, pb.DecideApprovalRequest),
            "WatchApprovals": watch,
        }
        return cast(grpc.ServiceRpcHandler, grpc.method_handlers_generic_handler(SERVICE, methods))

    def _unary(
        self, method: Callable[[Any, Context], Awaitable[bytes]], message: type[Message]
    ) -> "grpc.RpcMethodHandler[Any, Any]":
        return unary(method, message, self._edge.unreadable, most_characters=_MOST_CHARACTERS)

    async def list_approvals(self, message: Any, context: Context) -> bytes:
        """ListApprovals."""

        async def work(person: Principal) -> bytes:
            await self._edge.admission.admit(person)
            size = min(message.page_size or PAGE_SIZE, PAGE_SIZE)
            found, after = await self._desk.page(person, _states(message), size=size, after=_token(message))
            listed = pb.ListApprovalsResponse(approvals=map(_message, found), next_page_token=after)
            return listed.SerializeToString()

        return await self._edge.guarded(context, work)

    async def get_approval(self, message: Any, context: Context) -> bytes:
        """GetApproval."""

        async def work(person: Principal) -> bytes:
            await self._edge.admission.admit(person)
            found = await self._desk.get(person, message.approval_id)
            return pb.GetApprovalResponse(approval=_message(found)).SerializeToString()

        return await self._edge.guarded(context, work)

    async def decide_approval(self, message: Any, context: Context) -> bytes:
        """DecideApproval."""

        async def work(person: Principal) -> bytes:
            await self._edge.admission.admit(person)
            verdict = Verdict(
                approval_id=message.approval_id,
                approve=message.approve,
                reason=message.reason,
                arguments_digest=message.arguments_digest,
            )
            decided = await self._deciding.decide(person, verdict, message.edited_arguments_json)
            return pb.DecideApprovalResponse(approval=_message(decided)).SerializeToString()

        return await self._edge.guarded(context, work)

    async def watch_approvals(self, _request: Any, context: Context) -> AsyncIterator[bytes]:
        """WatchApprovals, for a quarter of an hour."""

        async def work(person: Principal) -> AsyncIterator[Message]:
            await self._edge.admission.admit(person)
            with self._counted(person):
                async for approval in self._changes(person):
                    yield pb.WatchApprovalsResponse(approval=_message(approval))

        async for part in self._edge.streamed(context, work):
            yield part

    @contextlib.contextmanager
    def _counted(self, person: Principal) -> Iterator[None]:
        """One more watch of this person. Raises `Refusal(caller_rate)`."""
        whose = (person.tenant, person.id)
        if self._watches[whose] >= MOST_WATCHES:
            message = "You watch approvals too many times at once. End a watch, or list them now and then."
            raise Refusal(Reason.CALLER_RATE, message, retry_after_ms=1000)
        self._watches[whose] += 1
        try:
            yield
        finally:
            self._watches[whose] -= 1
            if not self._watches[whose]:
                del self._watches[whose]

    async def _changes(self, person: Principal) -> AsyncIterator[Approval]:
        """Those that are open, then each that changes, without what is private."""
        over_at = self._clock.monotonic() + WATCH_SECONDS
        marks: dict[str, Mark] = {}
        is_first = True
        while self._clock.monotonic() < over_at:
            waiting = {approval.approval_id: approval for approval in await self._waiting(person)}
            for approval_id, approval in waiting.items():
                is_told = approval.state is ApprovalState.OPEN or not is_first
                if marks.get(approval_id) != _mark(approval) and is_told:
                    yield approval
                marks[approval_id] = _mark(approval)
            for approval_id in [each for each in marks if each not in waiting]:
                yield replace(await self._desk.get(person, approval_id), arguments_json=b"", preview_json=b"")
                del marks[approval_id]
            is_first = False
            await self._desk.changed()

    async def _waiting(self, person: Principal) -> list[Approval]:
        found, after = await self._desk.page(person, _WAITING, size=PAGE_SIZE, after="")
        while after:
            more, after = await self._desk.page(person, _WAITING, size=PAGE_SIZE, after=after)
            found += more
        return found


def _mark(approval: Approval) -> Mark:
    return approval.state, len(approval.decisions)


def _states(message: Any) -> tuple[ApprovalState, ...]:
    if any(number not in _NAMED for number in message.states):
        raise Refused(RefusedKind.INVALID, "There is no such state of an approval.")
    return tuple(dict.fromkeys(_NAMED[number] for number in message.states)) or (ApprovalState.OPEN,)


def _token(message: Any) -> str:
    token: str = message.page_token
    if not (token.isascii() and token.isprintable()):
        raise Refused(RefusedKind.INVALID, "This page_token is none that was given out.")
    return token


def _message(approval: Approval) -> pb.Approval:
    return pb.Approval(
        approval_id=approval.approval_id,
        call_id=approval.call_id,
        agent=approval.agent,
        requester=approval.requester,
        tool=approval.tool,
        tool_version=approval.tool_version,
        connection=approval.connection,
        arguments_digest=approval.arguments_digest,
        policy_revision=approval.policy_revision,
        state=_STATES[approval.state],
        needed=approval.terms.count,
        roles=approval.terms.roles,
        decisions=[
            pb.ApprovalDecision(
                person=one.person,
                approved=one.approves,
                role=" ".join(one.roles),
                reason=one.reason,
                decided_at=_moment(one.at),
            )
            for one in approval.decisions
        ],
        created_at=_moment(approval.created_at),
        expires_at=_moment(approval.expires_at),
        arguments_json=approval.arguments_json,
        preview_json=approval.preview_json,
        reasons=map(_reason, approval.reasons),
        risk=approval.risk,
    )


def _reason(reason: PolicyReason) -> str:
    return f"{reason.code}: {reason.message}" if reason.message else reason.code


def _moment(seconds: float) -> Timestamp:
    moment = Timestamp()
    moment.FromMicroseconds(round(seconds * 1_000_000))
    return moment
