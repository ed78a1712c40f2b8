"""`stop`: the kill switch, for operators."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from gateway.cli.calling import AsJson
from gateway.cli.client import Where
from gateway.cli.control import controlling
from gateway.cli.reaching import at_control
from gateway.cli.terminal import print_json, shown, table, terminal
from gateway.errors import StartError
from gateway.v1 import registry_service_pb2 as pb
from gateway.v1.registry_service_pb2_grpc import RegistryServiceStub


class Scope(StrEnum):
    """What can be stopped."""

    TENANT = "tenant"
    AGENT = "agent"
    TOOL = "tool"
    VENDOR = "vendor"


_NUMBERS = {
    Scope.TENANT: pb.STOP_SCOPE_TENANT,
    Scope.AGENT: pb.STOP_SCOPE_AGENT,
    Scope.TOOL: pb.STOP_SCOPE_TOOL,
    Scope.VENDOR: pb.STOP_SCOPE_VENDOR,
}
_SCOPES = {number: scope for scope, number in _NUMBERS.items()}

What = Annotated[Scope, typer.Argument(metavar="SCOPE", help="tenant (all of it), agent, tool or vendor.")]
Name = Annotated[str, typer.Argument(metavar="[NAME]", help="Which agent, tool or vendor; nothing for the tenant.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit.")]

app = typer.Typer(
    help="Stop a tenant, an agent, a tool or a vendor on every replica within a second.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(name="set")
@at_control
def set_stop(
    scope: What,
    name: Name = "",
    *,
    reason: Reason,
    to: Where,
    json: AsJson = False,
) -> None:
    """Stop something. What was sent already is not taken back.

    Example: tollhouse stop set tool email_send --reason "It mails the wrong people."
    """
    _check(scope, name, reason)
    with controlling(to, RegistryServiceStub) as (control, stub):
        request = pb.SetStopRequest(scope=_NUMBERS[scope], name=name, reason=reason)
        stop = _json(control.ask(stub.SetStop, request).stop)
    if json:
        print_json({"stop": stop})
    else:
        terminal().print(shown(f"{_label(scope, name)} is stopped on every replica within a second.", style="yellow"))


@app.command()
@at_control
def clear(
    scope: What,
    name: Name = "",
    *,
    reason: Reason,
    to: Where,
    json: AsJson = False,
) -> None:
    """Let something go on that is stopped.

    Example: tollhouse stop clear tool email_send --reason "The list of recipients is corrected."
    """
    _check(scope, name, reason)
    with controlling(to, RegistryServiceStub) as (control, stub):
        control.ask(stub.ClearStop, pb.ClearStopRequest(scope=_NUMBERS[scope], name=name, reason=reason))
    if json:
        print_json({"cleared": {"scope": scope.value, "name": name}})
    else:
        terminal().print(shown(f"{_label(scope, name)} is stopped no longer.", style="green"))


@app.command(name="list")
@at_control
def list_stops(
    *,
    to: Where,
    json: AsJson = False,
) -> None:
    """List what is stopped, since when, by whom and why.

    Example: tollhouse stop list
    """
    with controlling(to, RegistryServiceStub) as (control, stub):
        stops = [_json(stop) for stop in control.ask(stub.ListStops, pb.ListStopsRequest()).stops]
    if json:
        print_json({"stops": stops})
        return
    made = table("stopped", "since", "by", "why")
    for stop in stops:
        since = shown(stop["set_at"][:19] + "Z")
        label = shown(_label(stop["scope"], stop["name"]), style="bold red")
        made.add_row(label, since, shown(stop["set_by"]), shown(stop["reason"]))
    terminal().print(made if stops else "Nothing is stopped.")


def _check(scope: Scope, name: str, reason: str) -> None:
    """Raises `StartError` for what the gateway would refuse."""
    if not reason.strip():
        raise StartError('say why: --reason "…" is kept in the audit')
    if (scope is Scope.TENANT) == bool(name):
        raise StartError("the tenant takes no name, it is your own" if name else f"name the {scope}: {scope} NAME")


def _label(scope: str, name: str) -> str:
    return f"{scope} {name}" if name else "all of the tenant"


def _json(stop: Any) -> dict[str, Any]:
    return {
        "scope": _SCOPES[stop.scope].value,
        "name": stop.name,
        "reason": stop.reason,
        "set_by": stop.set_by,
        "set_at": stop.set_at.ToJsonString(),
    }
