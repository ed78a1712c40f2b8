"""`calls list` and `calls resolve`: what became of calls whose outcome nobody knows, for operators."""

from typing import Annotated, Any

import typer

from gateway.cli.calling import AsJson
from gateway.cli.client import Where
from gateway.cli.control import controlling
from gateway.cli.reaching import at_control
from gateway.cli.terminal import print_json, shown, table, terminal
from gateway.errors import StartError
from gateway.v1 import call_service_pb2 as pb
from gateway.v1.call_service_pb2_grpc import CallServiceStub

Json = dict[str, Any]

_PAGE_SIZE = 100
_SHOWN_CHARACTERS = 200
"""Of a call's arguments in the table; --json prints all that the gateway tells."""


@at_control
def list_unresolved(
    *,
    to: Where,
    json: AsJson = False,
) -> None:
    """List the calls of which nobody knows whether they did what they were to do, oldest first.

    Example: tollhouse calls list --socket .tollhouse/control.sock
    """
    found = _listed(to)
    if json:
        print_json({"calls": found})
    elif found:
        _print(found)
    else:
        terminal().print("Every outcome is known.")


@at_control
def resolve(
    call_id: Annotated[str, typer.Argument(metavar="CALL_ID", help="The call, as `tollhouse calls list` shows it.")],
    *,
    done: Annotated[
        bool, typer.Option("--done/--not-done", help="Whether it happened. --not-done lets its key be used again.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="How you know; it is kept in the audit.")],
    to: Where,
    json: AsJson = False,
) -> None:
    """Say what became of a call whose outcome is unknown. Look at the vendor first: nobody asks it again.

    Example: tollhouse calls resolve 019a8c2f4b10aa --done --reason "It is in the mailbox of the recipient."
    """
    if not reason.strip():
        raise StartError('say how you know: --reason "…" is kept in the audit')
    resolution = pb.RESOLUTION_DONE if done else pb.RESOLUTION_NOT_DONE
    with controlling(to, CallServiceStub) as (control, stub):
        request = pb.ResolveCallRequest(call_id=call_id, resolution=resolution, reason=reason)
        call = _json(control.ask(stub.ResolveCall, request).call)
    if json:
        print_json({"call": call, "resolution": "done" if done else "not_done"})
        return
    came = "was done; its key stays taken" if done else "was not done; its key is free again, and so is its budget"
    terminal().print(shown(f"{call['tool'] or 'the call'} of {call['agent'] or 'an agent'} {came}."))


def _listed(to: Where) -> list[Json]:
    """Every page of them."""
    found: list[Json] = []
    token = ""
    with controlling(to, CallServiceStub) as (control, stub):
        while True:
            request = pb.ListUnresolvedRequest(page_size=_PAGE_SIZE, page_token=token)
            page = control.ask(stub.ListUnresolved, request)
            found += [_json(call) for call in page.calls]
            token = page.next_page_token
            if not token:
                return found


def _json(call: Any) -> Json:
    return {
        "call_id": call.call_id,
        "effect_id": call.effect_id,
        "agent": call.agent,
        "tool": call.tool,
        "connection": call.connection,
        "arguments_digest": call.arguments_digest,
        "arguments": call.arguments,
        "since": call.claimed_at.ToJsonString(),
        "reconcilable": call.reconcilable,
    }


def _print(found: list[Json]) -> None:
    made = table("call", "since", "agent", "tool", "arguments", "who finds out")
    for call in found:
        made.add_row(
            shown(call["call_id"], style="cyan"),
            shown(call["since"][:19] + "Z"),
            shown(call["agent"]),
            shown(call["tool"]),
            shown((call["arguments"] or call["arguments_digest"])[:_SHOWN_CHARACTERS]),
            shown("the gateway asks" if call["reconcilable"] else "a person"),
        )
    terminal().print(made)
    terminal().print('Look at the vendor, then: tollhouse calls resolve CALL_ID --done|--not-done --reason "…"')
