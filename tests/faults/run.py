"""Break the gateway on loopback, suite by suite, and count what its promises were worth.

usage: python tests/faults/run.py [--only SUITE ...] [--recount]

Writes `.run/faults.json` and, below `.run/faults/`, the raw artifacts that the counts were taken from: audit files,
the vendor's own log of effects, what every caller was answered. `--recount` only counts them again. FAULTS_QUICK=1
is the short form: fewer cases, and without PgBouncer, tmpfs and strace. Ends with 1 when a promise was broken, when a
suite had fewer cases than it needs, or when a suite did not see that one of its guards had been removed.
"""

import argparse
import asyncio
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

# With PYTHONSAFEPATH nothing is found beside a script by itself.
sys.path.insert(0, str(Path(__file__).parent.parent))

from faults.suites.listed import SUITES
from faults.suites.suite import Counts, Report, Suite, Unable, recounted, report
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

OUT = Path(__file__).parent.parent.parent / ".run"
SHOWN = 8
"""How many problems of a suite are shown; all of them are in `faults.json`."""


def run(suites: list[Suite], console: Console, *, is_quick: bool) -> dict[str, Report | str]:
    """Each suite's report, or why this machine could not run it."""
    done: dict[str, Report | str] = {}
    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for suite in suites:
            task = progress.add_task(suite.name, total=_total(suite, is_quick=is_quick))
            try:
                done[suite.name] = asyncio.run(
                    report(suite, OUT / "faults" / suite.name, is_quick=is_quick, tick=partial(progress.advance, task))
                )
            except Unable as unable:
                done[suite.name] = str(unable)
            except Exception as error:  # noqa: BLE001 - the other suites run all the same
                console.print_exception()
                done[suite.name] = f"the suite itself failed: {error!r}"
            progress.update(task, completed=progress.tasks[task].total)
    return done


def _total(suite: Suite, *, is_quick: bool) -> int:
    """About as many cases as there will be."""
    own, quick = suite.needed(is_quick=is_quick), suite.needed(is_quick=True)
    return sum(own.values()) + len(suite.mutants) * sum(quick.values())


def count_again(suites: list[Suite], *, is_quick: bool) -> dict[str, Report | str]:
    """The reports from the artifacts that are there."""
    seconds = {entry["suite"]: entry["seconds"] for entry in _written()}
    folders = {suite.name: OUT / "faults" / suite.name for suite in suites}
    return {
        suite.name: recounted(suite, folders[suite.name], is_quick=is_quick, seconds=seconds.get(suite.name, 0.0))
        if folders[suite.name].is_dir()
        else "there are no artifacts of it; run: make faults"
        for suite in suites
    }


def write(done: dict[str, Report | str]) -> None:
    """`faults.json`; what was not run this time keeps its entry."""
    entries = {entry["suite"]: entry for entry in _written()}
    for name, one in done.items():
        entries[name] = one.as_json() if isinstance(one, Report) else _not_run(name, one)
    known = [suite.name for suite in SUITES if suite.name in entries]
    (OUT / "faults.json").write_text(json.dumps([entries[name] for name in known], indent=1) + "\n")


def _not_run(name: str, why: str) -> dict[str, Any]:
    counts = Counts(cases={}, violations=())
    return {**Report(suite=name, counts=counts, missing=(), seconds=0.0).as_json(), "problems": [why]}


def _written() -> list[dict[str, Any]]:
    file = OUT / "faults.json"
    entries: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
    return entries


def show(suites: list[Suite], done: dict[str, Report | str], console: Console) -> None:
    """A table for a person."""
    table = Table(title="What was broken, and what held")
    for column in ("suite", "must hold", "cases", "violations", "seconds", "without its guard"):
        table.add_column(column, justify="right" if column in {"cases", "violations", "seconds"} else "left")
    for suite in suites:
        table.add_row(*_row(suite, done[suite.name]))
    console.print(table)
    for name, one in done.items():
        for note in one.counts.notes if isinstance(one, Report) else ():
            console.print(f"{name}: {note}", style="dim", highlight=False, markup=False)
        problems = one.problems if isinstance(one, Report) else (one,)
        for problem in problems[:SHOWN]:
            console.print(f"{name}: {problem}", style="red", highlight=False, markup=False)
        if len(problems) > SHOWN:
            console.print(f"{name}: and {len(problems) - SHOWN} more in .run/faults.json", style="red")


def _row(suite: Suite, one: Report | str) -> tuple[str, ...]:
    if isinstance(one, str):
        return (suite.name, suite.title, "-", "-", "-", "not run")
    seen = "\n".join(f"{name}: {count} seen" for name, count in one.mutants.items())
    colour = "red" if one.problems else "green"
    cases = str(sum(one.counts.cases.values()))
    violations = f"[{colour}]{len(one.counts.violations)}[/]"
    return (suite.name, suite.title, cases, violations, f"{one.seconds:.1f}", seen)


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [suite.name for suite in SUITES]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--recount", action="store_true", help="count the artifacts of the last run again")
    options = parser.parse_args()
    suites = [suite for suite in SUITES if suite.name in options.only]
    is_quick, console = bool(os.environ.get("FAULTS_QUICK")), Console()
    OUT.mkdir(exist_ok=True)
    done = count_again(suites, is_quick=is_quick) if options.recount else run(suites, console, is_quick=is_quick)
    write(done)
    show(suites, done, console)
    is_good = all(isinstance(one, Report) and not one.problems for one in done.values())
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
