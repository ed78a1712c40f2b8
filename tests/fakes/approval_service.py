"""A gRPC server with canned approvals in the place of a gateway, for tests of its commands."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from gateway.v1 import approval_service_pb2 as pb
from gateway.v1.approval_service_pb2_grpc import ApprovalServiceServicer, add_ApprovalServiceServicer_to_server

DIGEST = "sha256:" + "a" * 64


def canned(approval_id: str = "apr_1", **changes: Any) -> pb.Approval:
    """One that is open, changed as asked."""
    usual: dict[str, Any] = {
        "approval_id": approval_id,
        "call_id": "c1",
        "agent": "helper",
        "requester": "helper-1",
        "tool": "email_send",
        "tool_version": "1",
        "connection": "mail",
        "arguments_digest": DIGEST,
        "policy_revision": "sha256:1",
        "state": pb.APPROVAL_STATE_OPEN,
        "needed": 2,
        "roles": ["approver", "boss"],
        "reasons": ["high_risk: It costs money."],
        "risk": "high",
        "decisions": [pb.ApprovalDecision(person="bob", approved=True, role="boss", reason="Fine by me.")],
        "arguments_json": b'{"subject":"Hello","to":["ann@corp.example"]}',
        "preview_json": b'{"was":{"a":1,"b":2},"will_be":{"a":1,"b":3}}',
    }
    return pb.Approval(**{**usual, **changes})


@dataclass
class CannedApprovals(ApprovalServiceServicer):
    """Answers what a test put into it, or ends with the status that it asks for."""

    approvals: list[pb.Approval] = field(default_factory=lambda: [canned()])
    watched: list[list[pb.Approval]] = field(default_factory=list)
    """What each watch tells, in order; after the last one a watch ends with a status."""
    status: grpc.StatusCode | None = None
    asked: list[Any] = field(default_factory=list)

    def ListApprovals(self, request: Any, context: Any) -> pb.ListApprovalsResponse:  # noqa: N802 - gRPC's name
        """One to a page."""
        self._note(request, context)
        at = int(request.page_token or 0)
        token = str(at + 1) if at + 1 < len(self.approvals) else ""
        return pb.ListApprovalsResponse(approvals=self.approvals[at : at + 1], next_page_token=token)

    def GetApproval(self, request: Any, context: Any) -> pb.GetApprovalResponse:  # noqa: N802 - gRPC's name
        """The first."""
        self._note(request, context)
        return pb.GetApprovalResponse(approval=self.approvals[0])

    def DecideApproval(self, request: Any, context: Any) -> pb.DecideApprovalResponse:  # noqa: N802 - gRPC's name
        """The first, decided."""
        self._note(request, context)
        decided = pb.Approval()
        decided.CopyFrom(self.approvals[0])
        decided.state = pb.APPROVAL_STATE_APPROVED if request.approve else pb.APPROVAL_STATE_DENIED
        return pb.DecideApprovalResponse(approval=decided)

    def WatchApprovals(self, request: Any, context: Any) -> Iterator[pb.WatchApprovalsResponse]:  # noqa: N802
        """The next watch."""
        self._note(request, context)
        if not self.watched:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "no more")
        for each in self.watched.pop(0):
            yield pb.WatchApprovalsResponse(approval=each)

    def _note(self, request: Any, context: Any) -> None:
        self.asked.append(request)
        if self.status is not None:
            context.abort(self.status, "Because.")


@contextmanager
def approvals_at(socket: Path, service: CannedApprovals) -> Iterator[None]:
    """The service on a Unix socket."""
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    add_ApprovalServiceServicer_to_server(service, server)
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    try:
        yield
    finally:
        server.stop(grace=None).wait()
