"""`calls get`, `watch`, `cancel` and `artifact`: how a call stands, for a person and for a script."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.tool_service import CannedToolService, canned_gateway

from gateway.cli.calls import app
from gateway.errors import StartError
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb

Told = pytest.CaptureFixture[str]
RUNNING = pb.CallToolResponse(call_id="c1", pending=pb.PendingCall(message="Running.", state=pb.PENDING_STATE_RUNNING))
DONE = pb.CallToolResponse(call_id="c1", result=pb.ToolResult(receipt="Done."))
NOT_FOUND = pb.CallToolResponse(
    error=pb.ToolError(
        code=codes_pb2.CODE_NOT_FOUND, reason=codes_pb2.REASON_CALL_NOT_FOUND, message="There is no such call."
    )
)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CannedToolService]:
    """A canned gateway, found by TOLLHOUSE_SOCKET."""
    made = CannedToolService()
    monkeypatch.setenv("TOLLHOUSE_SOCKET", str(tmp_path / "s"))
    monkeypatch.setenv("COLUMNS", "160")
    with canned_gateway(made, tmp_path / "s"):
        yield made


def _run(*arguments: str) -> int:
    """The exit code of the command."""
    with pytest.raises(SystemExit) as ended:
        app(list(arguments), prog_name="calls")
    return int(ended.value.code or 0)


def _seen(call: pb.CallToolResponse, step: str = "", elapsed_ms: int = 0) -> pb.WatchCallResponse:
    return pb.WatchCallResponse(call=call, step=step, elapsed_ms=elapsed_ms)


def test_a_call_is_got_by_its_id(service: CannedToolService, capsys: Told) -> None:
    """As `call` would have shown it; 0 when it was carried out."""
    service.seen = [_seen(DONE)]
    assert _run("get", "c1") == 0
    shown = capsys.readouterr().out
    assert "ok Done." in shown
    assert "call c1" in shown
    assert service.asked[0].call_id == "c1"


def test_a_call_is_got_by_its_key(service: CannedToolService, capsys: Told) -> None:
    """With its tool; as JSON for a script. 1 while it runs."""
    service.seen = [_seen(RUNNING)]
    assert _run("get", "--tool", "t", "--key", "k", "--json") == 1
    assert json.loads(capsys.readouterr().out)["pending"]["state"] == "running"
    assert (service.asked[0].tool, service.asked[0].idempotency_key) == ("t", "k")


@pytest.mark.parametrize("arguments", [[], ["c1", "--tool", "t", "--key", "k"], ["--tool", "t"], ["--key", "k"]])
def test_one_way_to_name_a_call_is_enough_and_needed(service: CannedToolService, arguments: list[str]) -> None:
    """The sentence says which there are."""
    with pytest.raises(StartError, match="name the call's id, or --tool and --key"):
        app(["get", *arguments], prog_name="calls")


def test_a_call_that_is_not_there_is_said_so(service: CannedToolService, capsys: Told) -> None:
    """Without an id that nobody has."""
    service.seen = [_seen(NOT_FOUND)]
    assert _run("get", "c9") == 1
    shown = capsys.readouterr().out
    assert "There is no such call." in shown
    assert "  call" not in shown


def test_a_call_is_followed_to_its_end(service: CannedToolService, capsys: Told) -> None:
    """A line for each change, and its answer."""
    service.seen = [_seen(RUNNING, "policy", 100), _seen(RUNNING, "adapter", 1500), _seen(RUNNING), _seen(DONE)]
    assert _run("watch", "c1") == 0
    shown = capsys.readouterr().out
    for words in ("at policy, 0.1 s", "at adapter, 1.5 s", "at work", "ok Done."):
        assert words in shown


def test_a_script_gets_each_change_as_a_line_of_json(service: CannedToolService, capsys: Told) -> None:
    """With the step and how long it took."""
    service.seen = [_seen(RUNNING, "adapter", 1500), _seen(NOT_FOUND)]
    assert _run("watch", "c1", "--json") == 1
    first, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["step"], first["elapsed_ms"], last["error"]["reason"]) == ("adapter", 1500, "call_not_found")


@pytest.mark.parametrize(
    ("cancelled", "code"),
    [
        (pb.CANCELLED_NOTHING_DONE, 0),
        (pb.CANCELLED_MAY_HAVE_HAPPENED, 1),
        (pb.CANCELLED_TOO_LATE, 1),
        (pb.CANCELLED_NOT_FOUND, 1),
    ],
)
def test_what_came_of_stopping_a_call_is_said(
    service: CannedToolService, capsys: Told, cancelled: pb.Cancelled, code: int
) -> None:
    """0 only when it is certain that nothing was done."""
    service.cancelled = pb.CancelCallResponse(cancelled=cancelled, message="A sentence.")
    word = pb.Cancelled.Name(cancelled).removeprefix("CANCELLED_").lower()
    assert _run("cancel", "c1") == code
    assert f"{word.replace('_', ' ')} A sentence." in capsys.readouterr().out
    assert _run("cancel", "c1", "--json") == code
    assert json.loads(capsys.readouterr().out) == {"call_id": "c1", "cancelled": word, "message": "A sentence."}


def test_an_artifact_is_read_whole(service: CannedToolService, tmp_path: Path, capfdbinary: Told) -> None:
    """Part by part, into a new file or to standard output; a file that is there stays."""
    service.artifact = b"\x00 twelve bytes"
    assert _run("artifact", "a1", "--to", str(tmp_path / "whole")) == 0
    assert (tmp_path / "whole").read_bytes() == service.artifact
    assert [request.offset for request in service.asked] == [0, 3, 6, 9, 12]
    assert _run("artifact", "a1") == 0
    assert capfdbinary.readouterr().out == service.artifact
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(StartError, match="not there yet"):
        app(["artifact", "a1", "--to", str(tmp_path / "mine")], prog_name="calls")
    assert (tmp_path / "mine").read_text() == "mine"


def test_an_artifact_that_is_not_there_is_said_so(service: CannedToolService) -> None:
    """In the gateway's words."""
    with pytest.raises(StartError, match="no such artifact"):
        app(["artifact", "a1"], prog_name="calls")


def test_every_command_shows_an_example(capsys: Told) -> None:
    """In its help."""
    for command in ("get", "watch", "cancel", "artifact", "list", "resolve"):
        assert _run(command, "--help") == 0
        assert "Example: tollhouse calls " in capsys.readouterr().out
