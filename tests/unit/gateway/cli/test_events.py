"""`events watch`: what happens at vendors, for a person and for a script."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from fakes.tool_service import CannedToolService, canned_gateway
from google.protobuf.timestamp_pb2 import Timestamp

from gateway.cli.events import app
from gateway.errors import StartError
from gateway.v1 import tool_service_pb2 as pb

Told = pytest.CaptureFixture[str]
AT = Timestamp(seconds=1_767_225_600, nanos=250_000_000)
LIFE = pb.WatchEventsResponse(cursor="c0")
DIGEST = "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CannedToolService]:
    """A canned gateway, found by TOLLHOUSE_SOCKET, whose stream ends when it is asked for what is after a cursor."""
    made = CannedToolService()
    monkeypatch.setenv("TOLLHOUSE_SOCKET", str(tmp_path / "s"))
    monkeypatch.setenv("COLUMNS", "120")
    with canned_gateway(made, tmp_path / "s"):
        yield made


def _run(*arguments: str) -> int:
    """The exit code of the command, which goes on after a cursor."""
    with pytest.raises(SystemExit) as ended:
        app(["watch", "--after", "c", *arguments], prog_name="events")
    return int(ended.value.code or 0)


def _seen(*, missed: bool = False, **changes: Any) -> pb.WatchEventsResponse:
    usual: dict[str, Any] = {
        "id": DIGEST,
        "connection": "github",
        "vendor": "github",
        "kind": "issue.opened",
        "subject": "acme/shop#12",
        "received_at": AT,
        "data_json": b'{"title":"It is broken"}',
        "labels": ["untrusted", "private"],
    }
    return pb.WatchEventsResponse(event=pb.Event(**{**usual, **changes}), cursor="c1", missed=missed)


def test_an_event_is_a_line(service: CannedToolService, capsys: Told) -> None:
    """Of one table, whose names stand above; a sign of life is none."""
    service.happened = [LIFE, _seen(), LIFE, _seen(kind="push", subject="acme/shop", id="short")]
    assert _run() == 0
    names, first, second = capsys.readouterr().out.splitlines()
    assert names.split() == ["received", "connection", "kind", "subject", "id"]
    assert first.split() == ["2026-01-01", "00:00:00Z", "github", "issue.opened", "acme/shop#12", f"{DIGEST[:15]}…"]
    assert second.split()[2:] == ["github", "push", "acme/shop", "short"]
    assert first.index("acme/shop") == second.index("acme/shop") == names.index("subject")


def test_what_is_missed_is_said(service: CannedToolService, capsys: Told) -> None:
    """Before the event that comes after it."""
    service.happened = [_seen(missed=True)]
    assert _run() == 0
    assert capsys.readouterr().out.splitlines()[1] == "some events before these are not kept any more"


def test_a_strangers_text_cannot_act(service: CannedToolService, capsys: Told) -> None:
    """It is shown as what it is, on the terminal and as JSON."""
    service.happened = [_seen(subject="\x1b]0;owned\x07[red]x\u202e", data_json='{"title":"\u202e\x7f"}'.encode())]
    assert _run() == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(capsys.readouterr().out)
    assert _run("--json") == 0
    assert capsys.readouterr().out.isascii()


def test_a_script_gets_each_answer_as_a_line_of_json(service: CannedToolService, capsys: Told) -> None:
    """With the cursor that it goes on from, and signs of life too: they move it on."""
    service.happened = [LIFE, _seen(missed=True, occurred_at=Timestamp(seconds=AT.seconds))]
    assert _run("--json") == 0
    life, told = map(json.loads, capsys.readouterr().out.splitlines())
    assert life == {"event": None, "cursor": "c0", "missed": False}
    assert told == {
        "event": {
            "id": DIGEST,
            "connection": "github",
            "vendor": "github",
            "kind": "issue.opened",
            "subject": "acme/shop#12",
            "occurred_at": "2026-01-01T00:00:00Z",
            "received_at": "2026-01-01T00:00:00.250000Z",
            "data": {"title": "It is broken"},
            "labels": ["untrusted", "private"],
        },
        "cursor": "c1",
        "missed": True,
    }


def test_without_a_time_there_is_none(service: CannedToolService, capsys: Told) -> None:
    """Which is not the year 1970."""
    service.happened = [_seen()]
    assert _run("--json") == 0
    assert json.loads(capsys.readouterr().out)["event"]["occurred_at"] is None


def test_what_is_asked_for_is_sent(service: CannedToolService) -> None:
    """Each filter as often as it is given."""
    assert _run("--connection", "a", "--connection", "b", "--kind", "issue.*", "--kind", "push") == 0
    (asked,) = service.asked
    assert (asked.after, list(asked.connections), list(asked.kinds)) == ("c", ["a", "b"], ["issue.*", "push"])
    assert not asked.from_oldest


def test_one_beginning_is_enough(service: CannedToolService) -> None:
    """The sentence says which there are."""
    with pytest.raises(StartError, match="name --after or --from-oldest, not both"):
        app(["watch", "--after", "c", "--from-oldest"], prog_name="events")
    assert service.asked == []


def test_the_end_of_a_stream_is_said(service: CannedToolService) -> None:
    """In the gateway's own sentence."""
    service.status, service.details = grpc.StatusCode.UNAVAILABLE, "The gateway ends. Watch again in a moment."
    service.trailing = (("tollhouse-reason", "unavailable"),)
    with pytest.raises(StartError, match="The gateway ends"):
        app(["watch", "--from-oldest"], prog_name="events")


def test_ctrl_c_ends_it_cleanly(service: CannedToolService) -> None:
    """With exit code 0, and nothing on standard error; each event was there as soon as it came."""
    service.happened = [_seen()]
    command = [sys.executable, "-m", "gateway", "events", "watch", "--from-oldest"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        assert "received" in watching.stdout.readline()
        assert "issue.opened" in watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        assert (watching.wait(10), watching.stderr.read()) == (0, "")
    assert service.asked[0].from_oldest
