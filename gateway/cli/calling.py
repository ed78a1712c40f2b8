"""`tools`, `call` and `explain`: a person or a script in the place of an agent."""

import json as json_module
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from gateway.cli.client import Asked, Where, connected
from gateway.cli.outcomes import style_of
from gateway.cli.reaching import at_gateway
from gateway.cli.terminal import print_json, shown, table, terminal
from gateway.errors import StartError

LARGEST_ARGUMENTS = 8 * 1024 * 1024

Json = dict[str, Any]

AsJson = Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON, for a script.")]
Tool = Annotated[str, typer.Argument(help="The tool's name.")]
Arguments = Annotated[str, typer.Argument(help="Its arguments as a JSON object, or - to read them from stdin.")]
Key = Annotated[str, typer.Option("--key", help="Idempotency key: the same key again is the same effect.")]
YieldAfter = Annotated[
    int,
    typer.Option(
        "--yield-after",
        help="Milliseconds after which you want a handle instead of waiting on; 0 waits for the end.",
        min=0,
        max=2**31,
        metavar="MS",
    ),
]
Run = Annotated[str, typer.Option("--run", help="The run that the call belongs to.")]


@at_gateway
def tools(
    *,
    to: Where,
    json: AsJson = False,
) -> None:
    """List the tools that you may see at a running gateway.

    Example: tollhouse tools --socket .tollhouse/gateway.sock
    """
    with connected(to) as client:
        found = client.tools()
    if json:
        print_json({"tools": found})
        return
    made = table("tool", "arguments", "what it does")
    for tool in found:
        made.add_row(shown(tool["name"], style="cyan"), shown(_parameters(tool)), shown(tool["description"]))
    terminal().print(made if found else "You see no tool here; an agent's row in the registry says which it has.")


@at_gateway
def call(  # noqa: PLR0913 - an option each
    tool: Tool,
    arguments: Arguments = "{}",
    *,
    key: Key = "",
    run: Run = "",
    yield_after: YieldAfter = 0,
    to: Where,
    json: AsJson = False,
) -> None:
    """Call one tool at a running gateway. The exit code is 0 only when it was carried out.

    Example: tollhouse call time_now '{"zone": "Europe/Warsaw"}'
    """
    asked = Asked(tool=tool, arguments_json=_read(arguments), key=key, run=run, yield_after_ms=yield_after)
    with connected(to) as client:
        value = client.call(asked).value
    if json:
        print_json(value)
    else:
        print_answer(terminal(), value)
    raise typer.Exit(0 if "result" in value else 1)


@at_gateway
def explain(
    tool: Tool,
    arguments: Arguments = "{}",
    *,
    key: Key = "",
    run: Run = "",
    to: Where,
    json: AsJson = False,
) -> None:
    """Say what a call would come to, and why. Nothing is done. The exit code is 0 when it would be carried out.

    Example: tollhouse explain email_send '{"to": ["ann@corp.example"], "subject": "Hi", "text": "Hello"}'
    """
    asked = Asked(tool=tool, arguments_json=_read(arguments), key=key, run=run)
    with connected(to) as client:
        value = client.explain(asked)
    if json:
        print_json(value)
    else:
        print_explanation(terminal(), value)
    raise typer.Exit(0 if value["effect"] == "allow" and "error" not in value else 1)


def print_answer(console: Console, value: Json) -> None:
    """A call's answer for a person."""
    if "result" in value:
        _print_result(console, value)
    elif "pending" in value:
        console.print(Text("pending", style=style_of("pending")), shown(value["pending"]["message"]))
        if value["pending"]["approval_id"]:
            console.print(shown(f"  approval {value['pending']['approval_id']}"))
        else:
            console.print(shown(f"  follow it with `tollhouse calls watch {value['call_id']}`"))
        _print_reasons(console, value["pending"]["policy_reasons"])
    else:
        _print_error(console, value["error"])
    if value["call_id"]:
        console.print(shown(f"  call {value['call_id']}", style="dim"))


def print_explanation(console: Console, value: Json) -> None:
    """An explanation for a person."""
    effect = {"allow": "ok", "deny": "permission_denied", "require_approval": "pending"}.get(value["effect"], "")
    if value["effect"] != "unspecified":
        revision = value["policy_revision"][:19]
        console.print(Text(f"policy: {value['effect']}", style=style_of(effect)), shown(f"({revision}…)"))
    if "error" in value:
        _print_error(console, value["error"])
    else:
        _print_reasons(console, value["policy_reasons"])
        if value["effect"] == "allow":
            console.print("The call would be carried out.")


def _print_result(console: Console, value: Json) -> None:
    result = value["result"]
    word = "replay" if value["replay"] else "ok"
    console.print(Text(word, style=style_of(word)), shown(result["receipt"]))
    for block in result["content"]:
        text = block.get("text", f"[{block.get('mime_type')}: not shown; use --json]")
        console.print(shown(text, lines=True))
    if result["structured"] is not None:
        console.print(shown(json_module.dumps(result["structured"], indent=2, ensure_ascii=False), lines=True))
    if "truncation" in result:
        cut = result["truncation"]
        console.print(shown(f"  cut: {cut['kept_bytes']} of {cut['original_bytes']} bytes", style="yellow"))
        if cut["artifact_id"]:
            console.print(shown(f"  read the whole with `tollhouse calls artifact {cut['artifact_id']}`"))
    if result["labels"]:
        console.print(shown(f"  labels: {', '.join(result['labels'])}", style="yellow"))


def _print_error(console: Console, error: Json) -> None:
    console.print(Text(error["code"], style=style_of(error["code"])), shown(error["message"]))
    for issue in error["issues"]:
        console.print(shown(f"  {issue['path'] or '/'}: {issue['message']} ({issue['rule']})"))
    _print_reasons(console, error["policy_reasons"])
    if error["retry_after_ms"]:
        console.print(shown(f"  ask again in {error['retry_after_ms'] / 1000:.1f} s"))


def _print_reasons(console: Console, reasons: list[Json]) -> None:
    for reason in reasons:
        console.print(shown(f"  {reason['code']}: {reason['message']} {reason['advice']}".rstrip()))


def _parameters(tool: Json) -> str:
    schema = tool["input_schema"] or {}
    required = set(schema.get("required", ()))
    return ", ".join(name if name in required else f"{name}?" for name in schema.get("properties", {}))


def _read(arguments: str) -> bytes:
    """The arguments as the gateway is to read them: it is strict, and says itself what is wrong with them."""
    if arguments != "-":
        return arguments.encode("utf-8", "surrogateescape")
    raw = sys.stdin.buffer.read(LARGEST_ARGUMENTS + 1)
    if len(raw) > LARGEST_ARGUMENTS:
        raise StartError(f"more than {LARGEST_ARGUMENTS} bytes of arguments; no gateway takes so many")
    return raw
