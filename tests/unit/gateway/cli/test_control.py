"""A command that asks a control service gets an answer, or one sentence that says why there is none."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from fakes.tool_service import CannedToolService, canned_gateway

from gateway.cli.client import Where
from gateway.cli.control import Control, controlling
from gateway.errors import RefusedKind, StartError
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1.tool_service_pb2_grpc import ToolServiceStub

TOOLS = [pb.Tool(name="t")]
SEEN = [pb.WatchCallResponse(call=pb.CallToolResponse(call_id=name)) for name in ("c1", "c2")]


def ask(control: Control, stub: Any) -> list[str]:
    """One request."""
    return [tool.name for tool in control.ask(stub.ListTools, pb.ListToolsRequest()).tools]


def follow(control: Control, stub: Any) -> list[str]:
    """One that is answered in parts."""
    return [part.call.call_id for part in control.follow(stub.WatchCall, pb.WatchCallRequest())]


BOTH = pytest.mark.parametrize("asking", [ask, follow])


def _told(
    service: CannedToolService, socket: Path, asking: Callable[[Control, Any], list[str]], **to: str
) -> list[str]:
    where = Where(target=f"unix:{socket}", **to)
    with canned_gateway(service, socket), controlling(where, ToolServiceStub, timeout_seconds=10) as (control, stub):
        return asking(control, stub)


@pytest.mark.parametrize(("asking", "told"), [(ask, ["t"]), (follow, ["c1", "c2"])])
def test_an_answer_is_handed_over_as_it_came(
    tmp_path: Path, asking: Callable[[Control, Any], list[str]], told: list[str]
) -> None:
    """In one, or in every part."""
    assert _told(CannedToolService(tools=TOOLS, seen=SEEN), tmp_path / "s", asking) == told


@BOTH
@pytest.mark.parametrize(("token", "shown"), [("", None), ("tok-1", "Bearer tok-1")])
def test_a_token_is_shown_with_every_request(
    tmp_path: Path, asking: Callable[[Control, Any], list[str]], token: str, shown: str | None
) -> None:
    """And none where there is none."""
    service = CannedToolService(tools=TOOLS, seen=SEEN)
    _told(service, tmp_path / "s", asking, token=token)
    (metadata,) = service.metadata
    assert metadata.get("authorization") == shown


@BOTH
@pytest.mark.parametrize("kind", [RefusedKind.CONFLICT, RefusedKind.UNAVAILABLE])
def test_what_a_service_says_is_what_the_operator_reads(
    tmp_path: Path, asking: Callable[[Control, Any], list[str]], kind: RefusedKind
) -> None:
    """Its sentence, also when the status is one that a connection without an answer has."""
    status = {RefusedKind.CONFLICT: grpc.StatusCode.ABORTED, RefusedKind.UNAVAILABLE: grpc.StatusCode.UNAVAILABLE}
    service = CannedToolService(
        status=status[kind],
        details="Somebody has changed it. Look again.",
        trailing=(("tollhouse-reason", kind.value),),
    )
    with pytest.raises(StartError, match=r"Somebody has changed it\. Look again\."):
        _told(service, tmp_path / "s", asking)


@BOTH
def test_where_nobody_answers_a_sentence_says_so(tmp_path: Path, asking: Callable[[Control, Any], list[str]]) -> None:
    """And names the place."""
    where = Where(target=f"unix:{tmp_path / 'nobody'}")
    with (
        controlling(where, ToolServiceStub, timeout_seconds=10) as (control, stub),
        pytest.raises(StartError, match="nobody"),
    ):
        asking(control, stub)


def test_a_service_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    """No longer than was said."""
    never = threading.Event()
    service = CannedToolService(answer=lambda _: never.wait(5) and pb.CallToolResponse())
    where = Where(target=f"unix:{tmp_path / 's'}")
    with (
        canned_gateway(service, tmp_path / "s"),
        controlling(where, ToolServiceStub, timeout_seconds=0.1) as (control, stub),
    ):
        with pytest.raises(StartError, match="in time"):
            control.ask(stub.CallTool, pb.CallToolRequest())
        never.set()
