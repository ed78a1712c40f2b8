"""The demo's agent does its errand in order and tells every answer as it comes."""

import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fakes.tool_service import CannedToolService, canned_gateway

from gateway.cli.demo.agent import main
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb


def _task(label: str, *, waits: bool = False, way: str = "call", about: str = "") -> dict[str, object]:
    usual = {"label": label, "tool": f"tool_{label}", "arguments": {"a": 1}, "key": "k"}
    return usual | {"waits": waits, "way": way, "about": about}


def _limited(request: pb.CallToolRequest) -> pb.CallToolResponse:
    error = pb.ToolError(code=codes_pb2.CODE_RATE_LIMITED, message="no", retry_after_ms=60)
    return pb.CallToolResponse(call_id=request.tool, error=error)


def _run(
    tasks: list[dict[str, object]], socket: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[dict[str, Any]], str]:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(tasks)))
    code = main([str(socket)])
    told = capsys.readouterr()
    return code, [json.loads(line) for line in told.out.splitlines()], told.err


def test_tools_first_and_then_every_task_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line of JSON each, with the answer and the digest of its bytes."""
    service = CannedToolService(tools=[pb.Tool(name="one")], answer=_limited)
    with canned_gateway(service, tmp_path / "s"):
        code, told, _ = _run([_task("a"), _task("b")], tmp_path / "s", monkeypatch, capsys)
    assert code == 0
    assert [line["kind"] for line in told] == ["tools", "call", "call"]
    assert [line.get("label") for line in told] == [None, "a", "b"]
    assert told[1]["outcome_sha256"] == told[2]["outcome_sha256"]
    assert [request.arguments_json for request in service.asked[1:]] == [b'{"a": 1}'] * 2


def test_it_waits_for_as_long_as_it_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A task that waits is begun no earlier than the refusal before it asked for."""
    times: list[float] = []

    def answer(request: pb.CallToolRequest) -> pb.CallToolResponse:
        times.append(time.monotonic())
        return _limited(request)

    with canned_gateway(CannedToolService(answer=answer), tmp_path / "s"):
        _run([_task("a"), _task("b", waits=True)], tmp_path / "s", monkeypatch, capsys)
    assert times[1] - times[0] >= 0.06


def test_it_follows_and_asks_for_a_call_that_it_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the id that the call's answer had; of what it followed it tells the end."""
    done = pb.CallToolResponse(call_id="tool_a", result=pb.ToolResult(receipt="Done."))
    waiting = pb.CallToolResponse(call_id="tool_a", pending=pb.PendingCall(approval_id="apr_1"))
    service = CannedToolService(answer=_limited, seen=[pb.WatchCallResponse(call=call) for call in (waiting, done)])
    tasks = [_task("a"), _task("b", way="watch", about="a"), _task("c", way="get", about="a")]
    with canned_gateway(service, tmp_path / "s"):
        code, told, _ = _run(tasks, tmp_path / "s", monkeypatch, capsys)
    assert code == 0
    assert [line["kind"] for line in told] == ["tools", "call", "watch", "get"]
    assert [request.call_id for request in service.asked[2:]] == ["tool_a", "tool_a"]
    assert [line["value"]["result"]["receipt"] for line in told[2:]] == ["Done.", "Done."]


def test_without_a_gateway_it_says_so_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence on standard error and exit code 1."""
    code, told, error = _run([_task("a")], tmp_path / "nothing", monkeypatch, capsys)
    assert (code, told) == (1, [])
    assert error.startswith("no gateway answers")
