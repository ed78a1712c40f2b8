"""`policy check`, `policy test` and `policy eval`: a policy before it decides anything."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from json import loads as parse_json
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import typer
from rich.text import Text

from gateway.cli import bundle
from gateway.cli.bundle import ended_by_ctrl_c, problems_shown
from gateway.cli.terminal import complain, print_json, shown, terminal
from gateway.errors import Refusal, StartError
from gateway.policy.base import PolicyProblem, PolicyUnusable
from gateway.policy.candidate import Trials, tried_pack
from gateway.policy.embedded import EmbeddedEngine
from gateway.policy.opa_tool import Difference, OpaTestResult, OpaTool, OpaToolFailed, differences, find_opa
from gateway.policy.pack import Pack, read_pack
from gateway.policy.reload import ALLOWS_ANYBODY
from gateway.policy.testing import TestReport, TestResult, run_tests
from gateway.settings.policy import PolicySettings

DOES_NOT_LOAD = "the policy does not load; correct what is listed"
LARGEST_INPUT = 8 * 1024 * 1024

app = typer.Typer(help="Check, test and try out a policy.", no_args_is_help=True, rich_markup_mode=None)

app.add_typer(bundle.app, name="bundle")

Folders = Annotated[
    list[Path] | None, typer.Argument(metavar="[DIR]...", help="Folders of Rego; the built-in pack when left out.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OpaPath = Annotated[
    Path | None, typer.Option("--opa", metavar="PATH", help="The opa to ask as well; found by itself when left out.")
]
IsWithoutOpa = Annotated[bool, typer.Option("--no-opa", help="Ask the embedded engine alone.")]

T = TypeVar("T")


@app.command()
def check(folders: Folders = None, *, opa: OpaPath = None, no_opa: IsWithoutOpa = False, json: AsJson = False) -> None:
    """Load a policy as the gateway would, and say everything that is wrong with it. When opa is there, its strict
    check and its formatter are asked as well. A policy that would allow a call of nobody is a warning.

    Example: tollhouse policy check policies/

    Example: tollhouse policy check --opa /usr/local/bin/opa policies/
    """
    binary = _binary(opa, is_without=no_opa)
    named = _folders(folders)
    loaded = _loaded(named)
    asked = _asked(binary, lambda tool: tool.check(named))
    is_good = isinstance(loaded, Pack) and not (asked and asked.problems)
    warnings = _warnings(loaded)
    if json:
        print_json({"ok": is_good, **_load_json(loaded), "warnings": warnings, "opa": _checked_json(asked)})
    else:
        _print_loaded(loaded)
        for warning in warnings:
            terminal().print(Text("warning", style="bold yellow"), shown(warning), soft_wrap=True)
        _print_checked(asked, is_without=no_opa)
    raise typer.Exit(0 if is_good else 1)


@app.command(name="test")
def run(folders: Folders = None, *, opa: OpaPath = None, no_opa: IsWithoutOpa = False, json: AsJson = False) -> None:
    """Run the tests that come with a policy: every rule test_* of every *_test.rego. When opa is there it runs them
    too, and every test of which the two engines say different things is listed.

    Example: tollhouse policy test policies/

    Example: tollhouse policy test --no-opa policies/
    """
    binary = _binary(opa, is_without=no_opa)
    named = _folders(folders)
    with problems_shown(DOES_NOT_LOAD, json=json), ended_by_ctrl_c():
        report = run_tests(read_pack(named), time.perf_counter)
    asked = _asked(binary, lambda tool: tool.test(named))
    differing = differences(report.results, asked.found) if asked and asked.found is not None else ()
    is_good = report.is_passed and not differing and not (asked and asked.problems)
    if json:
        more = {"opa": _tested_json(asked), "differences": [asdict(each) for each in differing]}
        print_json({"ok": is_good, **asdict(report), **more})
    else:
        _print_report(report)
        _print_tested(asked, differing, is_without=no_opa)
    raise typer.Exit(0 if is_good else 1)


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
    with problems_shown(DOES_NOT_LOAD, json=False), ended_by_ctrl_c():
        engine = EmbeddedEngine(read_pack(_folders(folders)), on_failure=complain)
    try:
        with ended_by_ctrl_c():
            decision = engine.decide_now(raw)
    except Refusal as refusal:
        print_json({"effect": "deny", "reason": refusal.reason.value, "message": refusal.message})
        raise typer.Exit(1) from refusal
    print_json(asdict(decision))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked(Generic[T]):
    """What one `opa` found, or why it could not be asked."""

    binary: Path
    found: tuple[T, ...] | None
    problems: tuple[PolicyProblem, ...]
    """What speaks against the policy: what a check found, or that OPA did not answer."""


def _binary(opa: Path | None, *, is_without: bool) -> Path | None:
    if opa is not None and is_without:
        raise StartError("--opa and --no-opa exclude each other; leave one out")
    return None if is_without else opa or find_opa()


def _asked(binary: Path | None, ask: Callable[[OpaTool], Awaitable[tuple[T, ...]]]) -> _Asked[T] | None:
    """What OPA says; None when there is none to ask."""
    if binary is None:
        return None

    async def answer() -> tuple[T, ...]:
        return await ask(OpaTool(binary))

    try:
        found = asyncio.run(answer())
    except OpaToolFailed as failed:
        problem = PolicyProblem(file="-", rule="opa", message=str(failed))
        return _Asked(binary=binary, found=None, problems=(problem,))
    problems = tuple(each for each in found if isinstance(each, PolicyProblem))
    return _Asked(binary=binary, found=found, problems=problems)


def _loaded(folders: list[Path]) -> Pack | tuple[PolicyProblem, ...]:
    """The policy as the embedded engine loads it, or everything that is wrong with it."""
    try:
        return asyncio.run(tried_pack(folders, Trials(max_ms=PolicySettings().max_decision_ms)))
    except PolicyUnusable as unusable:
        return unusable.problems


def _warnings(loaded: Pack | tuple[PolicyProblem, ...]) -> list[str]:
    """What is no mistake and hardly meant."""
    if isinstance(loaded, Pack) and EmbeddedEngine(loaded).allows_anybody:
        return [f"{ALLOWS_ANYBODY}; behind OPA the gateway would not use it"]
    return []


def _load_json(loaded: Pack | tuple[PolicyProblem, ...]) -> dict[str, Any]:
    if isinstance(loaded, Pack):
        return {"revision": loaded.revision, "problems": []}
    return {"problems": [asdict(problem) for problem in loaded]}


def _checked_json(asked: _Asked[PolicyProblem] | None) -> dict[str, Any] | None:
    if asked is None:
        return None
    return {"path": str(asked.binary), "problems": [asdict(each) for each in asked.problems]}


def _tested_json(asked: _Asked[OpaTestResult] | None) -> dict[str, Any] | None:
    if asked is None:
        return None
    results = [asdict(each) for each in asked.found or ()]
    return {"path": str(asked.binary), "results": results, "problems": [asdict(each) for each in asked.problems]}


def _print_loaded(loaded: Pack | tuple[PolicyProblem, ...]) -> None:
    if isinstance(loaded, Pack):
        _print_word(f"embedded engine: {len(loaded.modules)} modules, revision {loaded.revision}", is_good=True)
    else:
        complain(DOES_NOT_LOAD, (f"embedded engine: {each}" for each in loaded))


def _print_checked(asked: _Asked[PolicyProblem] | None, *, is_without: bool) -> None:
    if asked is None:
        _print_without(is_without=is_without)
    elif asked.problems:
        complain("opa finds fault with the policy; correct what is listed", (f"opa: {each}" for each in asked.problems))
    else:
        _print_word("opa: check --strict and fmt find nothing wrong", is_good=True)


def _print_tested(asked: _Asked[OpaTestResult] | None, differing: Sequence[Difference], *, is_without: bool) -> None:
    if asked is None:
        _print_without(is_without=is_without)
        return
    if asked.problems:
        complain("opa could not run the tests", (f"opa: {each}" for each in asked.problems))
        return
    found = asked.found or ()
    failed = sum(not each.is_passed for each in found)
    _print_word(f"opa: {len(found) - failed} passed, {failed} failed", is_good=bool(found) and not failed)
    for each in differing:
        words = f"{each.file}: {each.name}: embedded engine: {each.embedded}, opa: {each.opa}"
        terminal().print(Text("differs", style="bold red"), shown(words), soft_wrap=True)


def _print_without(*, is_without: bool) -> None:
    why = "was not asked" if is_without else "was not found; put it on PATH, or name it with --opa"
    terminal().print(shown(f"  opa {why}: the embedded engine alone was asked", style="yellow"), soft_wrap=True)


def _print_word(words: str, *, is_good: bool) -> None:
    word = Text("ok", style="green") if is_good else Text("not ok", style="bold red")
    terminal().print(word, words, soft_wrap=True)


def _folders(folders: list[Path] | None) -> list[Path]:
    if folders:
        return folders
    from gateway.judging import default_pack  # noqa: PLC0415 - it loads every engine, and is needed only here

    return [default_pack()]


def _print_report(report: TestReport) -> None:
    console = terminal()
    for result in report.results:
        if not result.is_passed:
            console.print(Text("failed", style="bold red"), shown(_failure(result)))
    failed = sum(not result.is_passed for result in report.results)
    passed = len(report.results) - failed
    if not report.results:
        complain("there is no test; write a rule whose name begins with test_ in a file that ends in _test.rego")
    _print_word(f"embedded engine: {passed} passed, {failed} failed", is_good=report.is_passed)
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
        parse_json(raw)
    except OSError as error:
        raise StartError(f"{name} cannot be read: {error.strerror}; name a file with an input document") from error
    except UnicodeDecodeError as error:
        raise StartError(f"{name} is not UTF-8; an input document is JSON") from error
    except (ValueError, RecursionError) as error:
        raise StartError(f"{name} is not JSON; an input document is (see policies/input.schema.json)") from error
    return raw
