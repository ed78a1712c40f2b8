"""`audit`: what happened, whether anybody changed it since, and what it takes to be sure."""

import collections
import json as json_module
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from gateway.audit.anchors import FILE_NAME, NONE, Anchors, anchors_of
from gateway.audit.reading import ReadLine
from gateway.audit.reading import tail as read_lines
from gateway.audit.verify import verify as verify_directory
from gateway.audit.verify_tenant import verify_tenant
from gateway.cli import audit_keys
from gateway.cli.audit_keys import read_keys
from gateway.cli.audit_verdicts import looked_at, print_tenant_verdict, print_verdict
from gateway.cli.outcomes import style_of
from gateway.cli.terminal import print_json, print_json_text, shown, terminal
from gateway.errors import StartError

DEFAULT_DIRECTORY = Path(".tollhouse/audit")
LOOK_SECONDS = 0.25

app = typer.Typer(help="Read and verify the audit.", no_args_is_help=True, rich_markup_mode=None)
app.command()(audit_keys.key)
app.command()(audit_keys.export)
app.command()(audit_keys.checkpoints)

Directory = Annotated[Path, typer.Argument(metavar="[DIR]", help="The audit directory of a state directory.")]


@app.command()
def tail(
    directory: Directory = DEFAULT_DIRECTORY,
    *,
    count: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many lines from the end.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new lines until Ctrl-C.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the lines as JSON, one a line.")] = False,
) -> None:
    """Show the last audit lines, oldest first.

    Example: tollhouse audit tail -n 50 --follow
    """
    show = _shower(json=json)
    last: collections.deque[ReadLine] = collections.deque(maxlen=count)
    is_caught_up = False

    def wait() -> bool:
        nonlocal is_caught_up
        if not is_caught_up:
            is_caught_up = True
            _show_all(last, show)
        threading.Event().wait(LOOK_SECONDS)
        return True

    for line in read_lines(directory, wait if follow else None):
        if is_caught_up:
            show(line)
        else:
            last.append(line)
    _show_all(last, show)


@app.command()
def verify(
    directory: Directory = DEFAULT_DIRECTORY,
    *,
    key: Annotated[
        list[str] | None, typer.Option("--key", help="A verification key (NAME+ID+KEY), or a file of them; repeatable.")
    ] = None,
    checkpoints: Annotated[
        list[Path] | None,
        typer.Option("--checkpoints", help="Exported checkpoints: a file, or a directory of .notes files; repeatable."),
    ] = None,
    tenant: Annotated[
        str, typer.Option("--tenant", help="Verify this tenant's lines alone; DIR may be a file of them, too.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Check that every line stands where and as it was written; name the first that does not.

    With --key it is checked against signed checkpoints as well, which shows lines that were cut off the end or
    replaced up to it. Without --checkpoints those beside the audit are taken: name copies that were kept elsewhere.

    Example: tollhouse audit verify /var/lib/tollhouse/audit --key tollhouse.vkey --checkpoints /mnt/witness
    """
    anchors = _anchors(directory, key or [], checkpoints or [])
    with looked_at(directory, is_shown=not json) as progress:
        if tenant:
            print_tenant_verdict(verify_tenant(directory, tenant, anchors, progress), json=json)
        else:
            print_verdict(verify_directory(directory, anchors, progress), directory, json=json)


def _anchors(directory: Path, keys: list[str], checkpoints: list[Path]) -> Anchors:
    if not keys and checkpoints:
        raise StartError("name by --key whose checkpoints count; `tollhouse audit key --show FILE` prints it")
    if not keys:
        return NONE
    beside = (directory if directory.is_dir() else directory.parent) / FILE_NAME
    if not checkpoints and not beside.exists():
        raise StartError(f"there are no checkpoints beside {directory}; name those that were kept by --checkpoints")
    return anchors_of(checkpoints or [beside], read_keys(keys))


def _show_all(lines: Iterable[ReadLine], show: Callable[[ReadLine], None]) -> None:
    for line in lines:
        show(line)


def _shower(*, json: bool) -> Callable[[ReadLine], None]:
    console = terminal()
    return _show_json if json else lambda line: _show(console, line)


def _show_json(line: ReadLine) -> None:
    """A line that cannot be read is one that says so: a script must not take it for an empty one."""
    if line.value is None:
        print_json({"file": line.file, "line": line.number, "unreadable": line.why})
    else:
        print_json_text(json_module.dumps(line.value))


def _show(console: Console, line: ReadLine) -> None:
    value = line.value
    if value is None:
        console.print(Text("unreadable", style="bold red"), shown(f"{line.file}:{line.number}: {line.why}"))
        return
    outcome = "replay" if value.get("replay") else str(value.get("outcome", ""))
    console.print(
        shown(f"{value.get('seq', '')!s:>6}", style="dim"),
        shown(str(value.get("time", ""))[:23]),
        shown(f"{outcome:<17}", style=style_of(outcome)),
        shown(_words(value)),
        soft_wrap=True,
    )


def _words(value: dict[str, Any]) -> str:
    """Who called what and, when it was stopped, where and why."""
    who = f"{value.get('tenant', '')}/{value.get('agent', '')}"
    kind = value.get("kind", "call")
    what = str(value.get("tool", "")) if kind == "call" else f"{kind} {value.get('tool', '')}"
    why = ", ".join([str(value.get("reason", "")), *map(str, value.get("policy_reasons") or ())]).strip(", ")
    stopped = f" at {value['stopped_at']}: {why}" if value.get("stopped_at") else ""
    return f"{who} {what}{stopped} [{value.get('call_id', '')}]"
