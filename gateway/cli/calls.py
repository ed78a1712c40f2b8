"""`calls`: how a call stands that did not end while its caller waited, following it, stopping it, and what was too
large to be sent. `calls list` and `calls resolve` are for operators (see `gateway.cli.resolution`).
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from gateway.cli import resolution
from gateway.cli.calling import AsJson, print_answer
from gateway.cli.client import Where, answered, failure
from gateway.cli.control import Control, controlling
from gateway.cli.outcomes import style_of
from gateway.cli.reaching import at_gateway
from gateway.cli.terminal import print_json, shown, terminal
from gateway.errors import StartError
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1.tool_service_pb2_grpc import ToolServiceStub

Json = dict[str, Any]
CallId = Annotated[str, typer.Argument(metavar="CALL_ID", help="The call, as its answer named it.")]

_STYLES = {"nothing_done": "ok", "too_late": "pending", "may_have_happened": "unknown"}

app = typer.Typer(no_args_is_help=True, help="Ask how calls stand, follow and stop them, settle unknown outcomes.")
app.command("list")(resolution.list_unresolved)
app.command("resolve")(resolution.resolve)


@app.command()
@at_gateway
def get(
    call_id: Annotated[str, typer.Argument(metavar="[CALL_ID]", help="The call, as its answer named it.")] = "",
    *,
    tool: Annotated[str, typer.Option("--tool", help="Its tool, with --key instead of a call id.")] = "",
    key: Annotated[str, typer.Option("--key", help="The idempotency key that it was made with.")] = "",
    to: Where,
    json: AsJson = False,
) -> None:
    """Say how one of your calls stands. The exit code is 0 only when it was carried out.

    Example: tollhouse calls get --tool email_send --key order-17
    """
    if bool(call_id) == bool(tool and key):
        raise StartError("name the call's id, or --tool and --key of it")
    request = pb.GetCallRequest(call_id=call_id, tool=tool, idempotency_key=key)
    with controlling(to, ToolServiceStub) as (asking, stub):
        value = answered(asking.ask(stub.GetCall, request).call).value
    _print(value, as_json=json)
    raise typer.Exit(0 if "result" in value else 1)


@app.command()
@at_gateway
def watch(
    call_id: CallId,
    *,
    to: Where,
    json: AsJson = False,
) -> None:
    """Follow one of your calls to its end. The exit code is 0 only when it was carried out.

    Example: tollhouse calls watch 019a4c2e7f10b1c2d3e4f5a6b7c8d9e0
    """
    value: Json = {}
    with controlling(to, ToolServiceStub) as (asking, stub):
        for seen in asking.follow(stub.WatchCall, pb.WatchCallRequest(call_id=call_id)):
            value = answered(seen.call).value
            _print_seen(value, seen, as_json=json)
    raise typer.Exit(0 if "result" in value else 1)


@app.command()
@at_gateway
def cancel(
    call_id: CallId,
    *,
    to: Where,
    json: AsJson = False,
) -> None:
    """Stop one of your calls. The exit code is 0 only when it is certain that nothing was done.

    Example: tollhouse calls cancel 019a4c2e7f10b1c2d3e4f5a6b7c8d9e0
    """
    with controlling(to, ToolServiceStub) as (asking, stub):
        stopped = asking.ask(stub.CancelCall, pb.CancelCallRequest(call_id=call_id))
    word = pb.Cancelled.Name(stopped.cancelled).removeprefix("CANCELLED_").lower()
    if json:
        print_json({"call_id": call_id, "cancelled": word, "message": stopped.message})
    else:
        style = style_of(_STYLES.get(word, word))
        terminal().print(Text(word.replace("_", " "), style=style), shown(stopped.message))
    raise typer.Exit(0 if stopped.cancelled == pb.CANCELLED_NOTHING_DONE else 1)


@app.command()
@at_gateway
def artifact(
    artifact_id: Annotated[str, typer.Argument(metavar="ARTIFACT_ID", help="As the evidence of a cut names it.")],
    *,
    to: Annotated[
        Path | None, typer.Option("--to", help="The new file to write it to; standard output when left out.")
    ] = None,
    at: Where,
) -> None:
    """Read the whole of a result that was too large to be sent.

    Example: tollhouse calls artifact PxV4kq0Y2b8nJm1R --to report.json
    """
    with controlling(at, ToolServiceStub) as (asking, stub):
        whole = _whole(asking, stub, artifact_id)
    if to is None:
        sys.stdout.buffer.write(whole)
        sys.stdout.buffer.flush()
        return
    try:
        with to.open("xb") as file:
            file.write(whole)
    except OSError as error:
        raise StartError(f"{to} cannot be written ({error.strerror}); name a file that is not there yet") from error


def _whole(asking: Control, stub: ToolServiceStub, artifact_id: str) -> bytes:
    """Every part of it. Raises `StartError`."""
    parts: list[bytes] = []
    read = 0
    while True:
        request = pb.ReadArtifactRequest(artifact_id=artifact_id, offset=read)
        piece = asking.ask(stub.ReadArtifact, request)
        if piece.HasField("error"):
            raise StartError(failure(piece.error)["message"])
        parts.append(piece.data)
        read += len(piece.data)
        if read >= piece.total_bytes or not piece.data:
            return b"".join(parts)


def _print(value: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(value)
    else:
        print_answer(terminal(), value)


def _print_seen(value: Json, seen: Any, *, as_json: bool) -> None:
    if as_json:
        progress = {"done": seen.progress.done, "total": seen.progress.total} if seen.HasField("progress") else None
        print_json({**value, "step": seen.step, "elapsed_ms": seen.elapsed_ms, "progress": progress})
    elif value.get("pending", {}).get("state") == "running":
        at = f"at {seen.step}" if seen.step else "at work"
        told = f"{at}, {seen.elapsed_ms / 1000:.1f} s{_progress(seen)}"
        terminal().print(Text("running", style=style_of("pending")), shown(told))
    else:
        print_answer(terminal(), value)


def _progress(seen: Any) -> str:
    if not seen.HasField("progress"):
        return ""
    total = f" of {seen.progress.total:g}" if seen.progress.total else ""
    return f", {seen.progress.done:g}{total} done"
