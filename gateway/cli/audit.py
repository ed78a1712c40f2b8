"""`audit tail` and `audit verify`: what happened, and whether anybody changed it since."""

import collections
import json as json_module
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from gateway.audit.reading import ReadLine
from gateway.audit.reading import tail as read_lines
from gateway.audit.verify import Verdict
from gateway.audit.verify import verify as verify_directory
from gateway.cli.outcomes import style_of
from gateway.cli.terminal import complain, print_json, print_json_text, shown, terminal

DEFAULT_DIRECTORY = Path(".tollhouse/audit")
LOOK_SECONDS = 0.25

app = typer.Typer(help="Read and verify the audit.", no_args_is_help=True, rich_markup_mode=None)

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
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Check that every line stands where and as it was written; name the first that does not.

    Example: tollhouse audit verify /var/lib/tollhouse/audit
    """
    verdict = verify_directory(directory)
    # Where every file was taken away nothing contradicts anything, and nothing is verified either.
    is_verified = verdict.ok and verdict.files > 0
    if json:
        print_json(asdict(verdict) | {"ok": is_verified})
    elif is_verified:
        _print_verified(verdict)
    elif verdict.first_bad is None:
        complain(f"there is no audit file in {directory}, so nothing is verified; name the directory of a gateway")
    else:
        terminal().print(Text("not as it was written", style="bold red"), shown(verdict.first_bad), soft_wrap=True)
        terminal().print(shown(f"  {verdict.lines} lines before it are good"))
    raise typer.Exit(0 if is_verified else 1)


def _print_verified(verdict: Verdict) -> None:
    terminal().print(Text("verified", style="green"), _size(verdict.lines, verdict.files))
    if verdict.lines:
        terminal().print(shown(f"  head {verdict.head_seq} {verdict.head_hash}"), soft_wrap=True)
        terminal().print("  Keep the head elsewhere: with it, lines cut off the end show, too.", style="dim")


def _size(lines: int, files: int) -> str:
    return f"{lines} line{'' if lines == 1 else 's'} in {files} file{'' if files == 1 else 's'}"


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
