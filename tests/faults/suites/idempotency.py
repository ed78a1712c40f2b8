"""Idempotency: whatever happens to a key, on whichever replica, it has one effect.

Histories of calls that hypothesis makes up run over SQLite, and over PostgreSQL with a second tenant; then fifty calls
with one key at once.
"""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from faults.suites.key_histories import OTHER, OWN, World, duplicates, live
from faults.suites.suite import Counts, Form, Records, fresh, records_in
from real.postgres import postgres
from real.stores import opened, postgres_settings, sqlite_settings

from gateway.settings.store import StoreSettings

NO_CLAIM = "no_claim"
SQLITE, POSTGRESQL, DUPLICATES = "sqlite", "postgresql", "duplicates"
AT_ONCE = 50
KEPT_SECONDS = 24 * 3600.0
"""How long the effect of a key that is done counts at least."""
LONG_MS = 20_000


class IdempotencySuite:
    """See the module."""

    name = "idempotency"
    title = "a key has one effect, whoever repeats it, wherever, and whatever dies meanwhile"
    mutants: tuple[str, ...] = (NO_CLAIM,)

    def needed(self, *, is_quick: bool) -> Mapping[str, int]:
        """Histories on each database, and rounds of fifty duplicates."""
        return {SQLITE: 40, DUPLICATES: 2} if is_quick else {SQLITE: 2000, POSTGRESQL: 500, DUPLICATES: 20}

    async def run(self, folder: Path, form: Form) -> None:
        """In a thread: hypothesis knows of no loop."""
        await asyncio.to_thread(_run, folder, form, self.needed(is_quick=form.is_quick))

    def count(self, folder: Path) -> Counts:
        """Histories that ended, and every key that had an effect too many or was told wrong."""
        cases, violations = {}, []
        for path in sorted(folder.glob("*.jsonl")):
            found = list(records_in(path))
            cases[path.stem] = sum("ended" in one for one in found)
            calls = [one for one in found if "ended" not in one]
            violations += [f"{path.stem}: {sentence}" for sentence in (*_doubles(calls), *_told_wrong(calls))]
            if path.stem == DUPLICATES:
                violations += _not_once(calls)
        return Counts(cases=cases, violations=tuple(violations))


def _run(folder: Path, form: Form, counts: Mapping[str, int]) -> None:
    with asyncio.Runner() as runner:
        database = runner.run(sqlite_settings(fresh(folder / "db"), timeout_ms=LONG_MS))
        with _world(runner, database, folder / f"{SQLITE}.jsonl", form) as world:
            live(world, (OWN,), counts[SQLITE])
        with _world(runner, database, folder / f"{DUPLICATES}.jsonl", form) as world:
            for _ in range(counts[DUPLICATES]):
                runner.run(duplicates(world, AT_ONCE))
        if POSTGRESQL in counts:
            with postgres() as server:
                settings = runner.run(postgres_settings(server, timeout_ms=LONG_MS))
                with _world(runner, settings, folder / f"{POSTGRESQL}.jsonl", form) as world:
                    live(world, (OWN, OTHER), counts[POSTGRESQL])


@contextlib.contextmanager
def _world(runner: asyncio.Runner, settings: StoreSettings, artifact: Path, form: Form) -> Iterator[World]:
    stack = contextlib.AsyncExitStack()
    database = runner.run(stack.enter_async_context(opened(settings)))
    try:
        with Records(artifact) as records:
            yield World(database, records, runner.run, form.tick, claims=form.mutant != NO_CLAIM)
    finally:
        runner.run(stack.aclose())


def _by_key(calls: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The calls of each key of each tenant, in order."""
    keys: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for call in calls:
        keys.setdefault((call["tenant"], call["key"]), []).append(call)
    yield from keys.values()


def _doubles(calls: Iterable[dict[str, Any]]) -> Iterator[str]:
    """An effect while an earlier one of the key counts: for a day when it is done, for ever when it is not."""
    for of_key in _by_key(calls):
        effects = [call for call in of_key if call["effect"]]
        for first, second in itertools.pairwise(effects):
            if first["outcome"] != "done" or second["at"] < first["at"] + KEPT_SECONDS:
                yield f"the key {second['key']} had another effect in the call {second['call_id']}"


def _told_wrong(calls: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Called done again when nothing was done with these arguments."""
    for of_key in _by_key(calls):
        done: set[str] = set()
        for call in of_key:
            if call["outcome"] == "done":
                done.add(call["arguments"])
            elif call["outcome"] == "again" and call["arguments"] not in done:
                yield f"the key {call['key']} was told done in the call {call['call_id']} and was not"


def _not_once(calls: Iterable[dict[str, Any]]) -> Iterator[str]:
    for history, count in Counter(call["history"] for call in calls if call["effect"]).items():
        if count != 1:
            yield f"{AT_ONCE} calls with one key had {count} effects (history {history})"
