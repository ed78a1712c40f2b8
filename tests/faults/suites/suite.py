"""What a fault suite is: it breaks something, keeps raw artifacts of what came of it, and counts from those alone."""

import asyncio
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

GUARDED = "guarded"
"""The folder of the product as it is; every mutant has one of its own name."""
LIMIT_SECONDS = 1800.0
"""How long one suite may take, with its mutants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a suite is to be run."""

    is_quick: bool
    """Without what a machine may lack, and with fewer cases."""
    mutant: str = ""
    """Which of the suite's guards is removed; empty for none."""
    tick: Callable[[], None] = lambda: None
    """To be called after every case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the artifacts of one run say."""

    cases: Mapping[str, int]
    """By the suite's parts."""
    violations: tuple[str, ...]
    """A sentence each."""
    notes: tuple[str, ...] = ()
    """What a reader has to know beside, a sentence each: what is no case and why."""


class Suite(Protocol):
    """One of the suites of `listed.py`."""

    name: str
    title: str
    """What must hold, for the table."""
    mutants: tuple[str, ...]
    """The guards that can be removed; without any of them there must be violations."""

    def needed(self, *, is_quick: bool) -> Mapping[str, int]:
        """The least number of cases, by part."""
        ...

    async def run(self, folder: Path, form: Form) -> None:
        """Break things, and leave artifacts in the empty folder. Raises `Unable` when the machine lacks something.

        A mutant removes its guard by what it hands in or patches in a child; the product knows of none.
        """
        ...

    def count(self, folder: Path) -> Counts:
        """What the artifacts in the folder say. Reads them alone."""
        ...


class Unable(Exception):  # noqa: N818 - named for what it is
    """This machine lacks something that the suite needs; says what, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of one suite, with its mutants."""

    suite: str
    counts: Counts
    missing: tuple[str, ...]
    """Parts with fewer cases than are needed, a sentence each."""
    seconds: float
    mutants: Mapping[str, int] = field(default_factory=dict)
    """How many violations there were without each of the guards."""

    @property
    def problems(self) -> tuple[str, ...]:
        """All that makes the suite fail, a sentence each."""
        blind = [f"without its guard ({name}) the suite sees no violation" for name, n in self.mutants.items() if not n]
        return (*self.counts.violations, *self.missing, *blind)

    def as_json(self) -> dict[str, Any]:
        """One entry of `faults.json`."""
        return {
            "suite": self.suite,
            "cases": sum(self.counts.cases.values()),
            "violations": len(self.counts.violations),
            "seconds": round(self.seconds, 1),
            "mutant": ", ".join(self.mutants),
            "mutant_violations": sum(self.mutants.values()),
            "parts": dict(self.counts.cases),
            "mutants": dict(self.mutants),
            "problems": list(self.problems),
            "notes": list(self.counts.notes),
        }


async def report(suite: Suite, folder: Path, *, is_quick: bool, tick: Callable[[], None] = lambda: None) -> Report:
    """Run the suite in the folder, then again without each of its guards; the mutants always in the quick form."""
    began = time.monotonic()
    async with asyncio.timeout(LIMIT_SECONDS):
        await suite.run(fresh(folder / GUARDED), Form(is_quick=is_quick, tick=tick))
        for mutant in suite.mutants:
            await suite.run(fresh(folder / mutant), Form(is_quick=True, mutant=mutant, tick=tick))
    return recounted(suite, folder, is_quick=is_quick, seconds=time.monotonic() - began)


def recounted(suite: Suite, folder: Path, *, is_quick: bool, seconds: float) -> Report:
    """The same report from what a run left behind."""
    counts = suite.count(folder / GUARDED)
    short = {part: n for part, n in suite.needed(is_quick=is_quick).items() if counts.cases.get(part, 0) < n}
    return Report(
        suite=suite.name,
        counts=counts,
        missing=tuple(f"{part}: {counts.cases.get(part, 0)} cases of {n}" for part, n in short.items()),
        seconds=seconds,
        mutants={mutant: len(suite.count(folder / mutant).violations) for mutant in suite.mutants},
    )


def fresh(folder: Path) -> Path:
    """The folder, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


class Records:
    """An artifact of JSON lines, each handed to the system before the next thing is done. For a `with` block."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self.is_empty = True

    def add(self, **fields: Any) -> None:
        """One more."""
        self._file.write(json.dumps(fields) + "\n")
        self.is_empty = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def records_in(path: Path) -> Iterator[dict[str, Any]]:
    """What was recorded; nothing when there is no such file."""
    if path.exists():
        with path.open() as file:
            yield from map(json.loads, file)
