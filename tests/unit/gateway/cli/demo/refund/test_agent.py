"""The second scene's agent acts on what it is told, and goes no further than that leads."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes.tool_service import CannedToolService, canned_gateway

from gateway.cli.demo.refund.agent import main
from gateway.cli.demo.refund.steps import COMPLAINT, CUSTOMER, SAYS, Step
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb

CHARGE = {"customer": "cus_1", "amount": 2000, "currency": "usd", "status": "succeeded", "amount_refunded": 0}
FIRST = {**CHARGE, "id": "ch_1", "created": "2026-01-01T00:00:00Z"}
SECOND = {**CHARGE, "id": "ch_2", "created": "2026-01-01T00:00:05Z"}
GOOD: dict[str, Any] = {
    "stripe_list_customers": {"customers": [{"id": "cus_1", "email": CUSTOMER}]},
    "stripe_list_charges": {"charges": [FIRST, SECOND, {**FIRST, "id": "ch_0", "amount": 900}]},
    "linear_list_teams": {"teams": [{"id": "t1", "key": "ENG"}, {"id": "t2", "key": "SUP"}]},
    "linear_create_issue": {"identifier": "SUP-1"},
    "stripe_create_refund": {"id": "re_1", "charge": "ch_2"},
    "slack_list_channels": {"channels": [{"id": "C1", "name": "general"}, {"id": "C2", "name": "support"}]},
    "slack_post_message": {"ts": "1.1"},
    "email_send": {"accepted": 1},
}


class Vendors:
    """Answers by tool; the first refund waits for a person."""

    def __init__(self, **changes: Any) -> None:
        self._answers = GOOD | changes
        self._has_waited = False

    def __call__(self, request: pb.CallToolRequest) -> pb.CallToolResponse:
        """The answer."""
        if request.tool == "stripe_create_refund" and not self._has_waited:
            self._has_waited = True
            return pb.CallToolResponse(call_id="c-refund", pending=pb.PendingCall(approval_id="apr_1"))
        answer = self._answers[request.tool]
        if answer is None:
            error = pb.ToolError(code=codes_pb2.CODE_UNAVAILABLE, message="no")
            return pb.CallToolResponse(call_id=request.tool, error=error)
        return pb.CallToolResponse(call_id=request.tool, result=_result(answer))


def _result(structured: Any) -> pb.ToolResult:
    return pb.ToolResult(receipt="Done.", structured_json=json.dumps(structured).encode())


def _run(
    vendors: Vendors, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[Any], list[Any], str]:
    """Exit code, what it told, what it asked, and its complaints."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(COMPLAINT)))
    ended = pb.CallToolResponse(call_id="c-refund", result=_result(GOOD["stripe_create_refund"]))
    service = CannedToolService(answer=vendors, seen=[pb.WatchCallResponse(call=ended)])
    with canned_gateway(service, folder / "s"):
        code = main([str(folder / "s")])
    said = capsys.readouterr()
    calls = [one for one in service.asked if isinstance(one, pb.CallToolRequest)]
    return code, [json.loads(line) for line in said.out.splitlines()], calls, said.err


def test_it_closes_the_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Step by step, with the ids that it was told, and each effect by a key of its own."""
    code, told, calls, complaint = _run(Vendors(), tmp_path, monkeypatch, capsys)
    assert (code, complaint) == (0, "")
    assert [one["label"] for one in told if one["kind"] != "tools"] == [label for label, _ in SAYS]
    asked = [(call.tool, json.loads(call.arguments_json)) for call in calls]
    refund = ("stripe_create_refund", {"payment": "ch_2", "amount_minor": 2000, "currency": "usd"})
    assert asked[0] == ("stripe_list_customers", {"email": CUSTOMER})
    assert asked[1] == ("stripe_list_charges", {"customer": "cus_1"})
    assert asked[3][1]["team_id"] == "t2"
    assert asked[4] == asked[5] == refund
    assert calls[4].idempotency_key == calls[5].idempotency_key != ""
    assert asked[7][1]["channel"] == "C2"
    assert "SUP-1" in asked[7][1]["text"]
    assert asked[8][1]["to"] == [CUSTOMER]
    keys = [call.idempotency_key for call in calls if call.idempotency_key]
    assert len(set(keys)) == 4


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        ({"stripe_list_customers": {"customers": []}}, Step.CUSTOMER),
        ({"stripe_list_customers": {"customers": [{"id": "a"}, {"id": "b"}]}}, Step.CUSTOMER),
        ({"stripe_list_charges": {"charges": []}}, Step.CHARGES),
        ({"stripe_list_charges": {"charges": [FIRST]}}, Step.CHARGES),
        ({"stripe_list_charges": {"charges": [FIRST, {**SECOND, "amount_refunded": 2000}]}}, Step.CHARGES),
        ({"stripe_list_charges": {"charges": [FIRST, {**SECOND, "status": "failed"}]}}, Step.CHARGES),
        ({"stripe_list_charges": {"charges": [FIRST, {**SECOND, "currency": "eur"}]}}, Step.CHARGES),
        ({"linear_list_teams": {"teams": []}}, Step.TEAMS),
        ({"linear_create_issue": None}, Step.ISSUE),
        ({"stripe_create_refund": None}, Step.REFUND_AGAIN),
        ({"email_send": None}, Step.MAIL),
    ],
)
def test_it_gives_up_where_it_cannot_go_on(
    changes: dict[str, Any],
    last: Step,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It refunds nothing on a guess, and says why it stops."""
    code, told, calls, complaint = _run(Vendors(**changes), tmp_path, monkeypatch, capsys)
    assert (code, told[-1]["label"]) == (3, last)
    assert complaint
    is_early = last in (Step.CUSTOMER, Step.CHARGES, Step.TEAMS, Step.ISSUE)
    assert bool([call for call in calls if call.tool == "stripe_create_refund"]) is not is_early


def test_without_a_gateway_it_says_so_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence on standard error and exit code 1."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(COMPLAINT)))
    assert main([str(tmp_path / "nothing")]) == 1
    assert capsys.readouterr().err.startswith("no gateway answers")
