"""Fail-closed matrix: each part of a gateway is broken in each way while reads, writes and sends come in.

No effect is let through, every call has its one line, the lines tell in which way which part is broken, and when it
is mended all is well again at once.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from faults.suites import matrix_cells as cells
from faults.suites.matrix_account import cases_of, is_open_in, write_table, wrong_in
from faults.suites.matrix_child import MODULE
from faults.suites.matrix_history import Course, broken_in_every_way
from faults.suites.matrix_parts import servers
from faults.suites.nursery import nursery
from faults.suites.suite import Counts, Form, fresh

FAIL_OPEN = "fail_open"
"""What a part's failure refuses is let pass, in all eight of them."""
IS_OPEN = "fails_open"
"""The artifact that says that these are the gateways of the mutant."""
ROUNDS = 5
SHOWS = {cells.ADAPTER: (cells.RESET,)}
"""The way that shows the mutant, where it is not that the part is gone: a vendor that is gone was asked nothing."""
NOT_QUICK = (cells.SLOW,)
"""It is told as what hangs is, and takes as long."""
QUICK, FULL = Course(rounds=1, calls=1), Course(rounds=ROUNDS, calls=4)
OPEN = Course(rounds=1, calls=1, felt_seconds=1.5)
STARTING = (cells.VAULT, cells.DATABASE, cells.APPROVALS, cells.REGISTRY)
"""Those that take longest begin first."""


class MatrixSuite:
    """See the module."""

    name = "matrix"
    title = "whatever part is broken in whatever way: no write is let through, and the line tells which and how"
    mutants: tuple[str, ...] = (FAIL_OPEN,)

    def needed(self, *, is_quick: bool) -> Mapping[str, int]:
        """Cells, by part."""
        rounds = 1 if is_quick else ROUNDS
        return {part: rounds * len(_ways(part, Form(is_quick=is_quick))) for part in cells.PARTS}

    async def run(self, folder: Path, form: Form) -> None:
        """A gateway for each part, several at the same time."""
        if form.mutant:
            (folder / IS_OPEN).touch()
        course = OPEN if form.mutant else QUICK if form.is_quick else FULL
        histories = [fresh(folder / part) for part in cells.PARTS]
        async with servers(folder) as beside, nursery(MODULE) as made, asyncio.TaskGroup() as group:
            for history in sorted(histories, key=lambda history: history.name not in STARTING):
                ways = _ways(history.name, form)
                group.create_task(broken_in_every_way(history, ways, beside, made, course, form))
        write_table(folder / "table.json", histories)

    def count(self, folder: Path) -> Counts:
        """Cells that were gone through, and whatever is wrong in them. Of the mutant nothing counts as seen as long
        as there is a part of which nobody sees that it let something through, or told a doubt as certain.
        """
        histories = [folder / part for part in cells.PARTS]
        wrong = {history.name: wrong_in(history) for history in histories}
        if (folder / IS_OPEN).exists() and not all(map(is_open_in, wrong.values())):
            wrong = {}
        return Counts(
            cases={history.name: cases_of(history) for history in histories},
            violations=tuple(sentence for found in wrong.values() for sentence in found),
            notes=cells.notes(),
        )


def _ways(part: str, form: Form) -> tuple[str, ...]:
    """In which the part is broken in this form."""
    if form.mutant:
        return SHOWS.get(part, (cells.REFUSE,))
    return tuple(way for way in cells.ways_of(part) if not (form.is_quick and way in NOT_QUICK))
