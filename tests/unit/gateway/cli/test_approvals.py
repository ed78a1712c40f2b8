"""The commands of approvers: what they ask, what they show, and that nothing is approved that nobody saw."""

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
import typer
from fakes.approval_service import DIGEST, CannedApprovals, approvals_at, canned

from gateway.cli import approvals
from gateway.errors import StartError
from gateway.v1 import approval_service_pb2 as pb

Told = pytest.CaptureFixture[str]


@pytest.fixture
def service() -> CannedApprovals:
    """Two approvals."""
    return CannedApprovals([canned(), canned("apr_2", tool="pay")])


@pytest.fixture
def socket(tmp_path: Path, service: CannedApprovals) -> Iterator[Path]:
    """Where it answers."""
    with approvals_at(tmp_path / "s", service):
        yield tmp_path / "s"


class Attended(io.StringIO):
    """A terminal with somebody at it."""

    def isatty(self) -> bool:
        """Somebody looks."""
        return True


def _attended(monkeypatch: pytest.MonkeyPatch, answer: str) -> Attended:
    screen = Attended()
    monkeypatch.setattr(sys, "stdin", Attended(answer))
    monkeypatch.setattr(sys, "stdout", screen)
    return screen


def test_every_page_is_listed(socket: Path, service: CannedApprovals, capsys: Told) -> None:
    """Those that are open, unless states are named."""
    approvals.list_approvals(socket=socket)
    told = capsys.readouterr().out
    assert "apr_1" in told
    assert "apr_2" in told
    assert list(service.asked[0].states) == [pb.APPROVAL_STATE_OPEN]
    approvals.list_approvals(socket=socket, state=["denied", "used"], json=True)
    assert [each["tool"] for each in json.loads(capsys.readouterr().out)["approvals"]] == ["email_send", "pay"]
    assert list(service.asked[2].states) == [pb.APPROVAL_STATE_DENIED, pb.APPROVAL_STATE_USED]


def test_an_empty_list_says_so(socket: Path, service: CannedApprovals, capsys: Told) -> None:
    """In words, and as JSON."""
    service.approvals = []
    approvals.list_approvals(socket=socket)
    assert "No approval waits for you" in capsys.readouterr().out
    approvals.list_approvals(socket=socket, json=True)
    assert json.loads(capsys.readouterr().out) == {"approvals": []}


@pytest.mark.parametrize("name", ["closed", "unspecified", ""])
def test_a_state_that_is_none_is_a_sentence(socket: Path, name: str) -> None:
    """With those that there are."""
    with pytest.raises(StartError, match="name open, approved"):
        approvals.list_approvals(socket=socket, state=[name])


def test_one_is_shown_whole(socket: Path, capsys: Told) -> None:
    """Arguments, what they change, why policy asks, who agreed, and the digest."""
    approvals.show("apr_1", socket=socket)
    told = capsys.readouterr().out
    for part in ("open", "email_send", "helper-1", DIGEST, "It costs money", "bob as boss", "ann@corp.example"):
        assert part in told
    assert re.search(r'-\s+"b": 2', told)
    assert re.search(r'\+\s+"b": 3', told)
    approvals.show("apr_1", socket=socket, json=True)
    shown = json.loads(capsys.readouterr().out)
    assert shown["arguments"] == {"subject": "Hello", "to": ["ann@corp.example"]}
    assert shown["preview"] == {"was": {"a": 1, "b": 2}, "will_be": {"a": 1, "b": 3}}
    assert (shown["state"], shown["needed"], shown["roles"]) == ("open", 2, ["approver", "boss"])
    assert shown["decisions"][0]["person"] == "bob"


def test_approving_sends_the_digest_of_what_was_fetched(socket: Path, service: CannedApprovals, capsys: Told) -> None:
    """And the reason; what comes next is told."""
    approvals.approve("apr_1", reason="Agreed.", socket=socket, yes=True)
    request = service.asked[-1]
    assert (request.approval_id, request.approve, request.reason) == ("apr_1", True, "Agreed.")
    assert (request.arguments_digest, request.edited_arguments_json) == (DIGEST, b"")
    assert "it runs now" in capsys.readouterr().out


def test_a_digest_that_was_seen_elsewhere_is_sent_as_it_is(socket: Path, service: CannedApprovals) -> None:
    """The gateway refuses it when it is for other arguments."""
    approvals.approve("apr_1", reason="Agreed.", digest="sha256:b", socket=socket, yes=True)
    assert service.asked[-1].arguments_digest == "sha256:b"


def test_denying_is_no_approval(socket: Path, service: CannedApprovals, capsys: Told) -> None:
    """As JSON the approval comes back."""
    approvals.deny("apr_1", reason="No.", socket=socket, json=True)
    assert (service.asked[-1].approve, service.asked[-1].reason) == (False, "No.")
    assert json.loads(capsys.readouterr().out)["state"] == "denied"


def test_somebody_at_a_terminal_is_asked_first(
    socket: Path, service: CannedApprovals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all of it on the screen; a no decides nothing."""
    screen = _attended(monkeypatch, "n\n")
    with pytest.raises(typer.Abort):
        approvals.approve("apr_1", reason="Agreed.", socket=socket)
    assert "ann@corp.example" in screen.getvalue()
    assert all(not isinstance(each, pb.DecideApprovalRequest) for each in service.asked)
    screen = _attended(monkeypatch, "y\n")
    approvals.deny("apr_1", reason="No.", socket=socket)
    assert "Deny this?" in screen.getvalue()
    assert isinstance(service.asked[-1], pb.DecideApprovalRequest)


def test_edited_arguments_are_sent_as_they_are(
    socket: Path, service: CannedApprovals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a file, and from standard input: the gateway is strict about them."""
    file = tmp_path / "edited.json"
    file.write_bytes(b'{"n": 9007199254740993}\n')
    approvals.approve("apr_1", reason="Less.", edit=file, socket=socket, yes=True)
    assert service.asked[-1].edited_arguments_json == b'{"n": 9007199254740993}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    approvals.approve("apr_1", reason="Less.", edit=Path("-"), socket=socket, yes=True)
    assert service.asked[-1].edited_arguments_json == b"{}"


def test_edits_that_are_not_there_are_a_sentence(socket: Path, service: CannedApprovals, tmp_path: Path) -> None:
    """A missing file, and an empty one: an approval of the original is not what was meant."""
    with pytest.raises(StartError, match="cannot be read"):
        approvals.approve("apr_1", reason="x", edit=tmp_path / "none", socket=socket)
    (tmp_path / "empty").write_text(" \n")
    with pytest.raises(StartError, match="holds no arguments"):
        approvals.approve("apr_1", reason="x", edit=tmp_path / "empty", socket=socket)
    assert service.asked == []


def test_a_decision_has_a_reason(socket: Path, service: CannedApprovals) -> None:
    """Nothing is asked of the gateway without one."""
    with pytest.raises(StartError, match="say why"):
        approvals.deny("apr_1", reason="  ", socket=socket)
    assert service.asked == []


def test_a_refusal_is_a_sentence(socket: Path, service: CannedApprovals) -> None:
    """The gateway's own."""
    service.status = grpc.StatusCode.PERMISSION_DENIED
    with pytest.raises(StartError, match="Because"):
        approvals.show("apr_1", socket=socket)


def test_an_answer_that_is_not_json_is_a_sentence(socket: Path, service: CannedApprovals) -> None:
    """And no empty arguments."""
    service.approvals = [canned(arguments_json=b"{")]
    with pytest.raises(StartError, match="not JSON"):
        approvals.show("apr_1", socket=socket)


def test_a_watch_tells_each_change_once(socket: Path, service: CannedApprovals, capsys: Told) -> None:
    """Though the gateway ends a watch from time to time; it goes on until the gateway refuses it."""
    used = canned("apr_2", state=pb.APPROVAL_STATE_USED)
    service.watched = [[canned(), canned("apr_2")], [canned(), used]]
    with pytest.raises(StartError):
        approvals.watch(socket=socket, json=True)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["approval_id"], each["state"]) for each in told] == [
        ("apr_1", "open"),
        ("apr_2", "open"),
        ("apr_2", "used"),
    ]
    service.watched = [[canned()]]
    with pytest.raises(StartError):
        approvals.watch(socket=socket)
    assert "open  apr_1  email_send for helper" in capsys.readouterr().out
