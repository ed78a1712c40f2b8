"""`policy check`, `policy test` and `policy eval`: a policy before it decides anything."""

import asyncio
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from gateway.cli.terminal import complain, print_json, shown, terminal
from gateway.errors import Refusal, StartError
from gateway.policy.base import PolicyUnusable
from gateway.policy.candidate import Trials, tried_pack
from gateway.policy.embedded import EmbeddedEngine
from gateway.policy.pack import read_pack
from gateway.policy.testing import TestReport, TestResult, run_tests
from gateway.settings.policy import PolicySettings

LARGEST_INPUT = 8 * 1024 * 1024

app = typer.Typer(help="Check, test and try out a policy.", no_args_is_help=True, rich_markup_mode=None)

Folders = Annotated[
    list[Path] | None, typer.Argument(metavar="[DIR]...", help="Folders of Rego; the built-in pack when left out.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def check(folders: Folders = None, *, json: AsJson = False) -> None:
    """Load a policy as the gateway would, and say everything that is wrong with it.

    Example: tollhouse policy check policies/
    """
    with _problems_shown(json=json):
        trials = Trials(max_ms=PolicySettings().max_decision_ms)
        pack = asyncio.run(tried_pack(_folders(folders), trials))
    if json:
        print_json({"ok": True, "revision": pack.revision, "problems": []})
    else:
        words = f"{len(pack.modules)} modules, revision {pack.revision}"
        terminal().print(Text("ok", style="green"), words, soft_wrap=True)


@app.command(name="test")
def run(folders: Folders = None, *, json: AsJson = False) -> None:
    """Run the tests that come with a policy: every rule test_* of every *_test.rego.

    Example: tollhouse policy test policies/
    """
    with _problems_shown(json=json), _ended_by_ctrl_c():
        report = run_tests(read_pack(_folders(folders)), time.perf_counter)
    if json:
        print_json({"ok": report.is_passed, **asdict(report)})
    else:
        _print_report(report)
    raise typer.Exit(0 if report.is_passed else 1)


@app.command(name="eval")
def evaluate(
    folders: Folders = None,
    *,
    document: Annotated[
        str, typer.Option("--input", help="File with an input document (policies/input.schema.json), or -.")
    ],
) -> None:
    """Print the decision on one input document as JSON. The exit code is 1 when there is none.

    Example: tollhouse policy eval --input call.json policies/
    """
    raw = _read_input(document)
    with _problems_shown(json=False), _ended_by_ctrl_c():
        engine = EmbeddedEngine(read_pack(_folders(folders)), on_failure=complain)
    try:
        with _ended_by_ctrl_c():
            decision = engine.decide_now(raw)
    except Refusal as refusal:
        print_json({"effect": "deny", "reason": refusal.reason.value, "message": refusal.message})
        raise typer.Exit(1) from refusal
    print_json(asdict(decision))


def _folders(folders: list[Path] | None) -> list[Path]:
    if folders:
        return folders
    from gateway.app import default_pack  # noqa: PLC0415 - it loads every part, and is needed only here

    return [default_pack()]


@contextmanager
def _problems_shown(*, json: bool) -> Iterator[None]:
    """What makes a policy unusable is shown, and the command ends with 1."""
    try:
        yield
    except PolicyUnusable as unusable:
        if json:
            print_json({"ok": False, "problems": [asdict(problem) for problem in unusable.problems]})
        else:
            complain("the policy does not load; correct what is listed", map(str, unusable.problems))
        raise typer.Exit(1) from unusable


@contextmanager
def _ended_by_ctrl_c() -> Iterator[None]:
    """Ctrl-C ends the process at once: while the engine decides it holds the interpreter, and a policy
    without an end would never let Python hear of it.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _print_report(report: TestReport) -> None:
    console = terminal()
    for result in report.results:
        if not result.is_passed:
            console.print(Text("failed", style="bold red"), shown(_failure(result)))
    failed = sum(not result.is_passed for result in report.results)
    passed = len(report.results) - failed
    if not report.results:
        complain("there is no test; write a rule whose name begins with test_ in a file that ends in _test.rego")
    word = Text("ok", style="green") if report.is_passed else Text("not ok", style="bold red")
    console.print(word, f"{passed} passed, {failed} failed")
    for file, line in report.not_reached:
        console.print(shown(f"  no test reaches {file}:{line}", style="yellow"))


def _failure(result: TestResult) -> str:
    return f"{result.file}: {result.name}: {result.error}"


def _read_input(name: str) -> bytes:
    try:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as file:
            raw = file.read(LARGEST_INPUT + 1)
        if len(raw) > LARGEST_INPUT:
            raise StartError(f"{name} is larger than {LARGEST_INPUT} bytes; no call's input is")
        raw.decode("utf-8")
    except OSError as error:
        raise StartError(f"{name} cannot be read: {error.strerror}; name a file with an input document") from error
    except UnicodeDecodeError as error:
        raise StartError(f"{name} is not UTF-8; an input document is JSON") from error
    return raw
