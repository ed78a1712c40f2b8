"""Fail-closed matrix: each part of a gateway is broken in each way while reads, writes and sends come in.

No effect is let through, every call has its one line, the lines tell in which way which part is broken, and when it
is mended all is well again at once.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from faults.suites import matrix_cells as cells
from faults.suites.matrix_account import cases_of, write_table, wrong_in
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
SHOWS = (cells.REFUSE, cells.RESET)
"""Ways that show the mutant; of the journal the first alone makes sense."""
QUICK, FULL = Course(rounds=1, calls=2), Course(rounds=ROUNDS, calls=4)
OPEN = Course(rounds=1, calls=1, felt_seconds=2.5)


class MatrixSuite:
    """See the module."""

    name = "matrix"
    title = "whatever part is broken in whatever way: no write is let through, and the line tells which and how"
    mutants: tuple[str, ...] = (FAIL_OPEN,)

    def needed(self, *, is_quick: bool) -> Mapping[str, int]:
        """Cells, by part."""
        return {part: len(cells.ways_of(part)) * (1 if is_quick else ROUNDS) for part in cells.PARTS}

    async def run(self, folder: Path, form: Form) -> None:
        """A gateway for each part, all at the same time."""
        if form.mutant:
            (folder / IS_OPEN).touch()
        course = OPEN if form.mutant else QUICK if form.is_quick else FULL
        histories = [fresh(folder / part) for part in cells.PARTS]
        async with servers(fresh(folder / "servers")) as beside, nursery(MODULE) as made, asyncio.TaskGroup() as group:
            for history in histories:
                ways = [way for way in cells.ways_of(history.name) if not form.mutant or way in SHOWS]
                group.create_task(broken_in_every_way(history, ways, beside, made, course, form))
        write_table(folder / "table.json", histories)

    def count(self, folder: Path) -> Counts:
        """Cells that were gone through, and whatever is wrong in them. Of the mutant nothing counts as seen as long
        as there is a part whose missing guard is not.
        """
        histories = [folder / part for part in cells.PARTS]
        wrong = {history.name: wrong_in(history) for history in histories}
        if (folder / IS_OPEN).exists() and not all(wrong.values()):
            wrong = {}
        return Counts(
            cases={history.name: cases_of(history) for history in histories},
            violations=tuple(sentence for found in wrong.values() for sentence in found),
            notes=cells.notes(),
        )
