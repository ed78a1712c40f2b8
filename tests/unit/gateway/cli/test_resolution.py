"""`calls list` and `calls resolve`: what an operator sees, harmlessly, and what goes over the wire."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
import typer
from typer.testing import CliRunner, Result

from gateway.cli.resolution import list_unresolved, resolve
from gateway.errors import StartError
from gateway.v1 import call_service_pb2 as pb
from gateway.v1.call_service_pb2_grpc import CallServiceServicer, add_CallServiceServicer_to_server

HOSTILE = "\x1b[2J[bold]x[/bold]\u202e\r"
ARGUMENTS = '{"to":"ann"}'


@dataclass(slots=True)
class CannedCalls(CallServiceServicer):
    """Answers what a test put into it, one call a page, or ends with the status that it asks for."""

    calls: list[pb.UnresolvedCall] = field(default_factory=list)
    status: grpc.StatusCode | None = None
    details: str = ""
    asked: list[Any] = field(default_factory=list)

    def ListUnresolved(self, request: Any, context: Any) -> pb.ListUnresolvedResponse:  # noqa: N802 - gRPC's name
        """The next of them."""
        self._note(request, context)
        at = int(request.page_token or 0)
        token = str(at + 1) if at + 1 < len(self.calls) else ""
        return pb.ListUnresolvedResponse(calls=self.calls[at : at + 1], next_page_token=token)

    def ResolveCall(self, request: Any, context: Any) -> pb.ResolveCallResponse:  # noqa: N802 - gRPC's name
        """The first of them."""
        self._note(request, context)
        return pb.ResolveCallResponse(call=self.calls[0])

    def _note(self, request: Any, context: Any) -> None:
        self.asked.append(request)
        if self.status is not None:
            context.abort(self.status, self.details)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CannedCalls]:
    """A canned service, found by TOLLHOUSE_CONTROL_SOCKET."""
    made = CannedCalls(calls=[_call("c1", reconcilable=True), _call("c2")])
    monkeypatch.setenv("TOLLHOUSE_CONTROL_SOCKET", str(tmp_path / "s"))
    monkeypatch.setenv("COLUMNS", "200")
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    add_CallServiceServicer_to_server(made, server)
    server.add_insecure_port(f"unix:{tmp_path / 's'}")
    server.start()
    yield made
    server.stop(grace=None).wait()


def _call(call_id: str, **changes: Any) -> pb.UnresolvedCall:
    usual = {"call_id": call_id, "effect_id": call_id, "agent": "helper", "tool": "pay", "connection": "bank"}
    call = pb.UnresolvedCall(**usual | {"arguments_digest": "sha256:aa", "arguments": ARGUMENTS} | changes)
    call.claimed_at.FromJsonString("2026-01-01T00:00:00.000001Z")
    return call


def _run(*arguments: str) -> Result:
    app = typer.Typer(rich_markup_mode=None)
    app.command("list")(list_unresolved)
    app.command("resolve")(resolve)
    return CliRunner().invoke(app, list(arguments))


def test_a_table_says_what_and_since_when_and_who_finds_out(service: CannedCalls) -> None:
    """Of every page."""
    done = _run("list")
    assert done.exit_code == 0
    for words in ("c1", "c2", "2026-01-01T00:00:00Z", "helper", "pay", ARGUMENTS, "the gateway asks", "a person"):
        assert words in done.output
    assert [request.page_token for request in service.asked] == ["", "1"]


def test_without_arguments_to_show_their_digest_is(service: CannedCalls) -> None:
    """All of them may be private."""
    service.calls = [_call("c1", arguments="")]
    assert "sha256:aa" in _run("list").output


def test_when_there_is_none_it_says_so(service: CannedCalls) -> None:
    """In one sentence."""
    service.calls = []
    assert _run("list").output == "Every outcome is known.\n"


def test_a_script_gets_all_of_it(service: CannedCalls) -> None:
    """As JSON."""
    calls = json.loads(_run("list", "--json").output)["calls"]
    assert [call["call_id"] for call in calls] == ["c1", "c2"]
    assert calls[0]["since"] == "2026-01-01T00:00:00.000001Z"
    assert (calls[0]["reconcilable"], calls[0]["arguments"]) == (True, ARGUMENTS)


@pytest.mark.parametrize(
    ("option", "resolution", "words"),
    [
        ("--done", pb.RESOLUTION_DONE, "was done; its key stays taken"),
        ("--not-done", pb.RESOLUTION_NOT_DONE, "was not done; its key is free again"),
    ],
)
def test_a_person_says_what_became_of_one(service: CannedCalls, option: str, resolution: int, words: str) -> None:
    """And learns what follows from it."""
    done = _run("resolve", "c1", option, "--reason", "I looked.")
    assert done.exit_code == 0
    assert words in done.output
    (request,) = service.asked
    assert (request.call_id, request.resolution, request.reason) == ("c1", resolution, "I looked.")


def test_a_script_learns_what_was_settled(service: CannedCalls) -> None:
    """As JSON."""
    found = json.loads(_run("resolve", "c1", "--not-done", "--reason", "I looked.", "--json").output)
    assert (found["call"]["call_id"], found["resolution"]) == ("c1", "not_done")


@pytest.mark.parametrize("left_out", ["--done", "--reason"])
def test_nothing_is_guessed(service: CannedCalls, left_out: str) -> None:
    """What became of it and how one knows have both to be said."""
    options = {"--done": ["--done"], "--reason": ["--reason", "I looked."]}
    del options[left_out]
    assert _run("resolve", "c1", *(word for words in options.values() for word in words)).exit_code == 2
    assert service.asked == []


def test_a_reason_is_more_than_white_space(service: CannedCalls) -> None:
    """The sentence says what to do."""
    done = _run("resolve", "c1", "--done", "--reason", " ")
    assert isinstance(done.exception, StartError)
    assert "--reason" in done.exception.message
    assert service.asked == []


def test_what_the_service_says_is_passed_on(service: CannedCalls) -> None:
    """In its own sentence."""
    service.status, service.details = grpc.StatusCode.NOT_FOUND, "No call of this id has an unknown outcome."
    done = _run("resolve", "c9", "--done", "--reason", "I looked.")
    assert isinstance(done.exception, StartError)
    assert "No call of this id" in done.exception.message


def test_what_is_shown_cannot_act(service: CannedCalls) -> None:
    """Arguments are strangers' words."""
    service.calls = [_call("c1", arguments=HOSTILE, tool=HOSTILE, agent=HOSTILE)]
    for done in (_run("list"), _run("list", "--json"), _run("resolve", "c1", "--done", "--reason", "x")):
        assert done.exit_code == 0
        assert not {"\x1b", "\u202e", "\r"} & set(done.output)
