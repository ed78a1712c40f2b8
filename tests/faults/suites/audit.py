"""Audit: exactly one line for a call on a disk that is full or fails, and over rotation; no tampering goes unseen."""

import asyncio
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

from fakes.child import calling
from fakes.effects import vendor
from faults.suites import disk
from faults.suites.accounts import ANSWERS, EFFECTS, STATE, violations_of
from faults.suites.answers import OK, WELL, Caller
from faults.suites.disk_trouble import FAULTY, Length, full_tmpfs, trouble_in
from faults.suites.kill_points import NO_SYNC
from faults.suites.nursery import GATEWAY, Nursery, nursery
from faults.suites.suite import Counts, Form, Records, fresh, records_in
from faults.suites.tampering import tamper, tampering_counts, with_chain, without_chain
from faults.suites.trouble import FailingSync, Switch, Trouble

from gateway.audit.open import audit_directory

NO_CHAIN = "no_chain"
FULL_DISK, FAILING_SYNC, ROTATION, TAMPERING = "full_disk", "failing_sync", "rotation", "tampering"
AT_ONCE = 32
FILES = 4
"""How many audit files rotation must have made at least, for it to count."""


class AuditSuite:
    """See the module."""

    name = "audit"
    title = "one line for a call on a full or failing disk; every tampering is located"
    mutants: tuple[str, ...] = (NO_SYNC, NO_CHAIN)

    def needed(self, *, is_quick: bool) -> Mapping[str, int]:
        """Calls on the disk that gives trouble, calls over rotation, tamperings."""
        if is_quick:
            return {FULL_DISK: 60, FAILING_SYNC: 60, ROTATION: 400, TAMPERING: 100}
        return {FULL_DISK: 400, FAILING_SYNC: 400, ROTATION: 3000, TAMPERING: 1000}

    async def run(self, folder: Path, form: Form) -> None:
        """Part by part; a mutant has those alone in which its guard is missed."""
        counts = self.needed(is_quick=form.is_quick)
        for part in (FAILING_SYNC, FULL_DISK, ROTATION):
            fresh(folder / part)
        async with nursery(GATEWAY) as made:
            if form.mutant in ("", NO_SYNC):
                await _failing_sync(folder / FAILING_SYNC, form, made)
            if not form.mutant:
                await _full_disk(folder / FULL_DISK, form, made)
            if form.mutant in ("", NO_CHAIN):
                await _rotation(folder / ROTATION, form, made, counts[ROTATION])
        if form.mutant in ("", NO_CHAIN):
            await asyncio.to_thread(_tampering, folder, form, counts[TAMPERING])

    def count(self, folder: Path) -> Counts:
        """Calls that were answered, and what lines, answers and effects show to be wrong."""
        cases, violations = {}, []
        for part in sorted(path for path in folder.iterdir() if (path / ANSWERS).exists()):
            answers = list(records_in(part / ANSWERS))
            cases[part.name] = len(answers)
            found = violations_of(part, part / EFFECTS)
            if part.name == FAILING_SYNC:
                found += [f"{one['call_id']} was answered though no sync was done" for one in answers if _is_wrong(one)]
            if part.name == ROTATION and len(list(audit_directory(part / STATE).glob("*.jsonl"))) < FILES:
                cases[part.name] = 0
            violations += found
        tampered = tampering_counts(folder, TAMPERING)
        return Counts(cases=cases | dict(tampered.cases), violations=(*violations, *tampered.violations))


def _is_wrong(answer: dict[str, object]) -> bool:
    return answer["phase"] == FAULTY and answer["outcome"] == OK


async def _failing_sync(folder: Path, form: Form, made: Nursery) -> None:
    trouble: Trouble = Switch(folder / disk.BROKEN) if form.is_quick else FailingSync()
    options = {"is_disk_faulty": form.is_quick, "mutant": form.mutant}
    await trouble_in(folder, made, trouble, _length(form), **options)
    _tick(form, folder)


async def _full_disk(folder: Path, form: Form, made: Nursery) -> None:
    if form.is_quick:
        await trouble_in(folder, made, Switch(folder / disk.FULL), _length(form), is_disk_faulty=True)
    else:
        await full_tmpfs(folder, _length(form))
    _tick(form, folder)


def _length(form: Form) -> Length:
    return Length(rounds=2, calls=12) if form.is_quick else Length(rounds=10, calls=20)


def _tick(form: Form, folder: Path) -> None:
    for _ in records_in(folder / ANSWERS):
        form.tick()


async def _rotation(folder: Path, form: Form, made: Nursery, count: int) -> None:
    """Many callers at once, over files so small that they are full all the time."""
    numbers, socket = iter(range(count)), folder / "v.sock"
    with Records(folder / ANSWERS) as records:
        async with vendor(socket, folder / EFFECTS):
            child = await made.start(folder, vendor=str(socket))
            async with calling(folder) as stub:
                caller = Caller(stub, records)
                await asyncio.gather(*(_work(caller, numbers, form) for _ in range(AT_ONCE)))
            await child.stop()


async def _work(caller: Caller, numbers: Iterator[int], form: Form) -> None:
    """One of many: a send for every three reads."""
    for number in numbers:
        await (caller.read(WELL) if number % 4 else caller.send(f"k{number}", WELL))
        form.tick()


def _tampering(folder: Path, form: Form, count: int) -> None:
    """With the first files of what rotation left: a thousand times over all of them would take long."""
    base = folder / "tampered_with"
    base.mkdir()
    names = sorted(audit_directory(folder / ROTATION / STATE).glob("*.jsonl"))
    for path in itertools.islice(names, FILES):
        (base / path.name).write_bytes(path.read_bytes())
    check = without_chain if form.mutant == NO_CHAIN else with_chain
    tamper(base, folder, cases=count, check=check, tick=form.tick)
