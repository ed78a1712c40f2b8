"""`events`: what happens at vendors, as the agents get it that it is for."""

from datetime import UTC, datetime
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway.cli.calling import AsJson
from gateway.cli.client import Where
from gateway.cli.control import controlling
from gateway.cli.reaching import at_gateway
from gateway.cli.terminal import print_json, shown, terminal
from gateway.errors import StartError
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1.tool_service_pb2_grpc import ToolServiceStub

Json = dict[str, Any]

_TIME_CHARACTERS, _ID_CHARACTERS = 20, 16
_COLUMNS = ("received", "connection", "kind", "subject", "id")

app = typer.Typer(no_args_is_help=True, help="Watch what happens at vendors.", rich_markup_mode=None)


@app.callback()
def events() -> None:
    """Watch what happens at vendors."""


@app.command()
@at_gateway
def watch(
    *,
    from_oldest: Annotated[
        bool, typer.Option("--from-oldest", help="Begin with the oldest event that is kept, instead of from now on.")
    ] = False,
    after: Annotated[
        str, typer.Option("--after", help="Go on behind this cursor, of an earlier --json.", metavar="CURSOR")
    ] = "",
    connection: Annotated[
        list[str] | None,
        typer.Option("--connection", help="Only of this connection; may be given again.", metavar="NAME"),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", help="Only of this kind: issue.opened, issue.* or *; may be given again.", metavar="KIND"
        ),
    ] = None,
    to: Where,
    json: AsJson = False,
) -> None:
    """Show events as they come in, those that the row of this listener's agent names, until Ctrl-C.

    With --json there is a line for each answer of the gateway: an event, or a sign of life, and a cursor to go on from.

    Example: tollhouse events watch --from-oldest --connection github --kind "issue.*"

    Example: tollhouse events watch --json --after "$CURSOR" | jq -c .event.data
    """
    if after and from_oldest:
        raise StartError("name --after or --from-oldest, not both")
    asked = pb.WatchEventsRequest(after=after, from_oldest=from_oldest, connections=connection or (), kinds=kind or ())
    show = _print_json if json else _Lines(terminal()).show
    try:
        with controlling(to, ToolServiceStub) as (asking, stub):
            for seen in asking.follow(stub.WatchEvents, asked):
                show(seen)
    except KeyboardInterrupt:  # it is how one watches no longer
        raise typer.Exit(0) from None


class _Lines:
    """Events as the lines of one table, whose end nobody knows."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._has_begun = False

    def show(self, seen: Any) -> None:
        """An event is a line. A sign of life is none."""
        if not self._has_begun:
            self._print(*(Text(name, style="bold") for name in _COLUMNS))
            self._has_begun = True
        if seen.missed:
            self._console.print(Text("some events before these are not kept any more", style="yellow"))
        if seen.HasField("event"):
            event = seen.event
            at = event.received_at.ToDatetime(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
            told = (at, event.connection, event.kind, event.subject, _short(event.id))
            self._print(*(shown(word) for word in told))

    def _print(self, *words: Text) -> None:
        line = Table.grid(padding=(0, 2), expand=True)
        line.add_column(width=_TIME_CHARACTERS, no_wrap=True)
        for ratio in (2, 3, 4):
            line.add_column(ratio=ratio, overflow="fold")
        line.add_column(width=_ID_CHARACTERS, no_wrap=True)
        line.add_row(*words)
        self._console.print(line)


def _print_json(seen: Any) -> None:
    event = _event(seen.event) if seen.HasField("event") else None
    print_json({"event": event, "cursor": seen.cursor, "missed": seen.missed})


def _event(event: Any) -> Json:
    return {
        "id": event.id,
        "connection": event.connection,
        "vendor": event.vendor,
        "kind": event.kind,
        "subject": event.subject,
        "occurred_at": _moment(event.occurred_at) if event.HasField("occurred_at") else None,
        "received_at": _moment(event.received_at),
        "data": orjson.loads(event.data_json),
        "labels": list(event.labels),
    }


def _moment(at: Any) -> str:
    moment: datetime = at.ToDatetime(UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _short(event_id: str) -> str:
    return event_id if len(event_id) <= _ID_CHARACTERS else f"{event_id[: _ID_CHARACTERS - 1]}…"
