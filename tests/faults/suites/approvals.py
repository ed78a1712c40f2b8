"""Approval races: everybody decides, and everybody runs what was decided, at the same time, on two gateways.

Never more than one execution, none with a bound field changed, none after its time, none by who asked for it.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from fakes.approval_races import approval_races, violations_in, without_binding
from faults.suites.suite import Counts, Form, Records, fresh, records_in
from real.postgres import postgres
from real.stores import opened, postgres_settings, sqlite_settings

from gateway.store.database import Database

NO_BINDING = "no_binding"
SQLITE, POSTGRESQL = PARTS = ("sqlite", "postgresql")
LONG_MS = 20_000
SEEDS = {SQLITE: 1, POSTGRESQL: 2}


class ApprovalSuite:
    """See the module."""

    name = "approvals"
    title = "an approval runs once at most, as it was approved, in its time, and never by who asked"
    mutants: tuple[str, ...] = (NO_BINDING,)

    def needed(self, *, is_quick: bool) -> Mapping[str, int]:
        """Calls that wait, on each database."""
        return {SQLITE: 40, POSTGRESQL: 20} if is_quick else {SQLITE: 1000, POSTGRESQL: 1000}

    async def run(self, folder: Path, form: Form) -> None:
        """What happened to each goes into the artifact of its database; the mutant runs on the first alone."""
        counts = self.needed(is_quick=form.is_quick)
        with without_binding() if form.mutant == NO_BINDING else contextlib.nullcontext():
            for part in (SQLITE,) if form.mutant else PARTS:
                async with _database(part, folder) as database:
                    await _race(database, folder / f"{part}.jsonl", counts[part], SEEDS[part], form)

    def count(self, folder: Path) -> Counts:
        """Calls that raced, and whatever did not hold for one."""
        found = {path.stem: list(records_in(path)) for path in sorted(folder.glob("*.jsonl"))}
        return Counts(
            cases={part: len(records) for part, records in found.items()},
            violations=tuple(
                f"{part}: {sentence}" for part, records in found.items() for sentence in _violations(records)
            ),
        )


def _violations(records: list[dict[str, Any]]) -> list[str]:
    """A part in which nothing ever ran has proved nothing."""
    sentences = [sentence for record in records for sentence in violations_in(record)]
    return sentences if any(record["ran"] for record in records) else [*sentences, "nothing ever ran"]


async def _race(database: Database, artifact: Path, cases: int, seed: int, form: Form) -> None:
    with Records(artifact) as records:

        def keep(record: dict[str, Any]) -> None:
            records.add(**record)
            form.tick()

        await approval_races(database, cases=cases, seed=seed, keep=keep)


@contextlib.asynccontextmanager
async def _database(part: str, folder: Path) -> AsyncIterator[Database]:
    if part == SQLITE:
        async with opened(await sqlite_settings(fresh(folder / "db"), timeout_ms=LONG_MS)) as database:
            yield database
        return
    with postgres() as server:
        async with opened(await postgres_settings(server, timeout_ms=LONG_MS)) as database:
            yield database
