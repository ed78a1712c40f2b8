"""`approvals list`, `show`, `approve`, `deny` and `watch`: where people decide."""

import json as json_module
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli.approval_screen import line_of, outlook, print_approval, print_table
from gateway.cli.calling import LARGEST_ARGUMENTS, AsJson
from gateway.cli.client import Where
from gateway.cli.control import Control, controlling
from gateway.cli.reaching import at_control
from gateway.cli.terminal import print_json, terminal
from gateway.errors import StartError
from gateway.v1 import approval_service_pb2 as pb
from gateway.v1.approval_service_pb2_grpc import ApprovalServiceStub

app = typer.Typer(help="Decide the calls that wait for a person.", no_args_is_help=True, rich_markup_mode=None)

Json = dict[str, Any]
Approval = Annotated[str, typer.Argument(metavar="APPROVAL", help="The approval's id, as `approvals list` shows it.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept, and goes to the audit.")]
Digest = Annotated[
    str, typer.Option("--digest", help="The digest that you saw; refused when it is for other arguments.")
]
Edit = Annotated[
    Path | None,
    typer.Option("--edit", help="Approve these arguments (a JSON file, or - for stdin) in place of those asked for."),
]
State = Annotated[list[str] | None, typer.Option("--state", help="open, approved, denied, expired, withdrawn, used.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether you are sure.")]

_STATES = {value.removeprefix("APPROVAL_STATE_").lower(): number for value, number in pb.ApprovalState.items()}
_PAGE_SIZE = 200


@app.command("list")
@at_control
def list_approvals(
    *,
    state: State = None,
    to: Where,
    json: AsJson = False,
) -> None:
    """List the approvals that wait for a decision and that you may see, the oldest first.

    Example: tollhouse approvals list --state open --state approved
    """
    states = [_state(name) for name in state or ["open"]]
    with controlling(to, ApprovalServiceStub) as asking:
        found = [_json(each) for each in _pages(*asking, states)]
    if json:
        print_json({"approvals": found})
    elif found:
        print_table(terminal(), found)
    else:
        terminal().print("No approval waits for you.")


@app.command()
@at_control
def show(
    approval: Approval,
    *,
    to: Where,
    json: AsJson = False,
) -> None:
    """Show one approval whole: the arguments that would run, what they would change, and why policy asks.

    Example: tollhouse approvals show apr_019a8c2f4b10aa
    """
    with controlling(to, ApprovalServiceStub) as asking:
        found = _json(_get(*asking, approval))
    if json:
        print_json(found)
    else:
        print_approval(terminal(), found)


@app.command()
@at_control
def approve(  # noqa: PLR0913 - an option each
    approval: Approval,
    *,
    reason: Reason,
    edit: Edit = None,
    digest: Digest = "",
    yes: Yes = False,
    to: Where,
    json: AsJson = False,
) -> None:
    """Approve a call. With the last approval that is needed it runs, once, exactly as it was shown.

    With --edit the old approval is withdrawn, policy judges the new arguments, and your approval counts for them.

    Example: tollhouse approvals approve apr_019a8c2f4b10aa --reason "Agreed with the customer."
    """
    edited = b"" if edit is None else _read(edit)
    request = pb.DecideApprovalRequest(
        approval_id=approval, approve=True, reason=reason, arguments_digest=digest, edited_arguments_json=edited
    )
    _decide(to, request, is_sure=yes or json, is_json=json)


@app.command()
@at_control
def deny(
    approval: Approval,
    *,
    reason: Reason,
    digest: Digest = "",
    yes: Yes = False,
    to: Where,
    json: AsJson = False,
) -> None:
    """Deny a call. One denial is enough; the agent is told the reason, and not by whom.

    Example: tollhouse approvals deny apr_019a8c2f4b10aa --reason "Ask the customer first."
    """
    request = pb.DecideApprovalRequest(approval_id=approval, approve=False, reason=reason, arguments_digest=digest)
    _decide(to, request, is_sure=yes or json, is_json=json)


@app.command()
@at_control
def watch(
    *,
    to: Where,
    json: AsJson = False,
) -> None:
    """Follow the approvals that you may see: those that are open, then each one that changes. Ctrl-C ends it.

    Example: tollhouse approvals watch --json
    """
    with controlling(to, ApprovalServiceStub) as asking:
        for found in _changes(*asking):
            if json:
                print_json(found)
            else:
                terminal().print(line_of(found))


def _decide(to: Where, request: Any, *, is_sure: bool, is_json: bool) -> None:
    if not request.reason.strip():
        raise StartError('say why: --reason "…" is kept, and goes to the audit')
    with controlling(to, ApprovalServiceStub) as (control, stub):
        seen = _get(control, stub, request.approval_id)
        request.arguments_digest = request.arguments_digest or seen.arguments_digest
        if not is_sure and _is_attended():
            print_approval(terminal(), _json(seen))
            word = "Approve" if request.approve else "Deny"
            typer.confirm(f"{word} this{' with your edits' if request.edited_arguments_json else ''}?", abort=True)
        decided = _json(control.ask(stub.DecideApproval, request).approval)
    if is_json:
        print_json(decided)
    else:
        terminal().print(line_of(decided), outlook(decided))


def _changes(control: Control, stub: ApprovalServiceStub) -> Iterator[Json]:
    """Each change once, though the gateway ends a watch from time to time and then tells all that is open again."""
    marks: dict[str, tuple[str, int]] = {}
    while True:
        for part in control.follow(stub.WatchApprovals, pb.WatchApprovalsRequest()):
            found = _json(part.approval)
            mark = (found["state"], len(found["decisions"]))
            if marks.get(found["approval_id"]) != mark:
                yield found
            marks[found["approval_id"]] = mark


def _pages(control: Control, stub: ApprovalServiceStub, states: list[int]) -> Iterator[Any]:
    token = ""
    while True:
        request = pb.ListApprovalsRequest(states=states, page_size=_PAGE_SIZE, page_token=token)  # type: ignore[arg-type]
        page = control.ask(stub.ListApprovals, request)
        yield from page.approvals
        token = page.next_page_token
        if not token:
            return


def _get(control: Control, stub: ApprovalServiceStub, approval_id: str) -> Any:
    return control.ask(stub.GetApproval, pb.GetApprovalRequest(approval_id=approval_id)).approval


def _json(approval: Any) -> Json:
    value: Json = {
        name: getattr(approval, name)
        for name in (
            *("approval_id", "call_id", "agent", "requester", "tool", "tool_version", "connection", "risk"),
            *("arguments_digest", "policy_revision", "needed"),
        )
    }
    value |= {
        "state": pb.ApprovalState.Name(approval.state).removeprefix("APPROVAL_STATE_").lower(),
        "roles": list(approval.roles),
        "reasons": list(approval.reasons),
        "created_at": approval.created_at.ToJsonString(),
        "expires_at": approval.expires_at.ToJsonString(),
        "decisions": [_decision(each) for each in approval.decisions],
    }
    if approval.arguments_json:
        value["arguments"] = _parsed(approval.arguments_json)
    if approval.preview_json:
        value["preview"] = _parsed(approval.preview_json)
    return value


def _decision(decision: Any) -> Json:
    return {
        "person": decision.person,
        "approved": decision.approved,
        "role": decision.role,
        "reason": decision.reason,
        "decided_at": decision.decided_at.ToJsonString(),
    }


def _parsed(raw: bytes) -> Any:
    try:
        return json_module.loads(raw)
    except ValueError as error:
        raise StartError("the gateway's answer holds something that is not JSON") from error


def _read(path: Path) -> bytes:
    """The edited arguments as the gateway is to read them: it is strict, and says itself what is wrong with them."""
    try:
        raw = sys.stdin.buffer.read(LARGEST_ARGUMENTS + 1) if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise StartError(f"{path} cannot be read ({error.strerror}); name a file with the arguments as JSON") from error
    if not raw.strip() or len(raw) > LARGEST_ARGUMENTS:
        raise StartError(f"{path} holds no arguments that a gateway would take; write them there as one JSON object")
    return raw


def _state(name: str) -> int:
    if name not in _STATES or name == "unspecified":
        raise StartError(f"there is no state {name!r}; name open, approved, denied, expired, withdrawn or used")
    return _STATES[name]


def _is_attended() -> bool:
    """Whether somebody can see the question and answer it."""
    return sys.stdin.isatty() and sys.stdout.isatty()
