"""What the artifacts of one gateway of the matrix show. Reads them and nothing else."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fakes.effects import effects_in
from fakes.served import lines_in
from faults.suites import matrix_cells as cells
from faults.suites.accounts import ANSWERS, EFFECTS, violations_of
from faults.suites.answers import CUT
from faults.suites.matrix_cells import Told
from faults.suites.matrix_history import BROKEN, CELLS, READ, TURNING
from faults.suites.suite import records_in

BACK_SECONDS = 5.0
"""How long after its repair a part may be missed."""
NO_LINE, THROUGH = "no line", "was let through"

Seen = Mapping[str, Mapping[bool, Counter[Told]]]
"""By way, and whether it was a read: how calls were told while the part was broken."""


def cases_of(history: Path) -> int:
    """Cells that were gone through."""
    return sum(1 for _ in records_in(history / CELLS))


def seen_in(history: Path) -> Seen:
    """How every call was told that came while the part was broken."""
    lines = _lines(history)
    seen: dict[str, dict[bool, Counter[Told]]] = defaultdict(lambda: {True: Counter(), False: Counter()})
    for answer in records_in(history / ANSWERS):
        if answer["phase"] == BROKEN:
            seen[answer["way"]][answer["kind"] == READ][_told(answer, lines)] += 1
    return seen


def wrong_in(history: Path) -> list[str]:
    """A sentence for each violation."""
    part = history.name
    found = [
        *_let_through(part, history),
        *_otherwise_told(part, seen_in(history)),
        *_not_felt_or_well(history),
        *_answered_otherwise(history),
    ]
    return [*violations_of(history, history.parent / EFFECTS), *(f"{part}: {sentence}" for sentence in found)]


def is_open_in(wrong: Iterable[str]) -> bool:
    """Whether the violations say that an effect came about that should not have, or was told wrong."""
    return any(THROUGH in sentence or "had its effect and was told" in sentence for sentence in wrong)


def table_of(history: Path) -> Iterator[dict[str, Any]]:
    """The part's row of the matrix, cell by cell: what was expected, and what was seen how often."""
    part, seen = history.name, seen_in(history)
    for way in cells.WAYS:
        if (part, way) in cells.SENSELESS:
            yield {"part": part, "way": way, "no_case": cells.SENSELESS[part, way]}
            continue
        if way not in seen:
            continue  # the quick form and the mutant have some cells alone
        effects, reads = ({str(told): n for told, n in seen[way][is_read].items()} for is_read in (False, True))
        expected = str(cells.expected(part, way).effect)
        yield {"part": part, "way": way, "expected": expected, "effects": effects, "reads": reads}


def _lines(history: Path) -> dict[str, dict[str, Any]]:
    return {line["call_id"]: line for line in lines_in(history) if line["kind"] == "call"}


def _told(answer: dict[str, Any], lines: Mapping[str, dict[str, Any]]) -> Told:
    line = lines.get(answer["call_id"])
    if line is None:
        return Told(answer["outcome"], NO_LINE)
    return Told(line.get("reason") or line["outcome"], line.get("fault", ""), line.get("delivered", True))


def _let_through(part: str, history: Path) -> Iterator[str]:
    """An effect of a call that came while the part was broken.

    1. A credential that was read before the vault broke is used for its time.
    2. What a broken vendor does of what it was asked, once, and nobody can tell: that it is told so is for others.
    """
    if part == cells.ADAPTER:
        return
    phases = {BROKEN} if part == cells.VAULT else {TURNING, BROKEN}
    ways = {one["key"]: one["way"] for one in records_in(history / ANSWERS) if one["phase"] in phases and one["key"]}
    for effect in effects_in(history.parent / EFFECTS):
        if effect["key"] in ways:
            yield f"{ways[effect['key']]}: the call with the key {effect['key']} {THROUGH}"


def _otherwise_told(part: str, seen: Seen) -> Iterator[str]:
    for way, by_kind in seen.items():
        cell = cells.expected(part, way)
        for is_read, allowed in ((False, {cell.effect} | cell.effects), (True, cell.reads)):
            for told in by_kind[is_read].keys() - allowed:
                yield f"{way}: {'a read' if is_read else 'an effect'} was told {told}"
        if not by_kind[False][cell.effect]:
            yield f"{way}: no effect was told {cell.effect}"
    for one, other in ((one, other) for of, one, other in cells.pairs_to_tell_apart() if of == part):
        if one in seen and other in seen and _marks(seen, part, one) & _marks(seen, part, other):
            yield f"{one} and {other} are not told apart"


def _marks(seen: Seen, part: str, way: str) -> set[Told]:
    """What effects were told that tells of the way."""
    return set(seen[way][False]) - cells.expected(part, way).effects


def _not_felt_or_well(history: Path) -> Iterator[str]:
    for cell in records_in(history / CELLS):
        if cell["felt_seconds"] is None:
            yield f"{cell['way']}: nothing was refused for it"
        if cell["well_seconds"] is None or cell["well_seconds"] > BACK_SECONDS:
            yield f"{cell['way']}: all was well again after {cell['well_seconds'] or 'too many'} seconds"


def _answered_otherwise(history: Path) -> Iterator[str]:
    """What a caller is told and what its line says are one."""
    lines = _lines(history)
    for answer in records_in(history / ANSWERS):
        told = _told(answer, lines)
        if answer["outcome"] == CUT or (told.delivered and told.reason != answer["outcome"]):
            yield f"the call {answer['call_id']} was answered {answer['outcome']} and its line says {told}"
        if told.fault == NO_LINE and told != cells.UNBEGUN:
            yield f"the call {answer['call_id']} was answered {answer['outcome']} and has no line"


def write_table(path: Path, histories: Iterable[Path]) -> None:
    """All cells, in one artifact."""
    rows = [row for history in histories for row in table_of(history)]
    path.write_text(json.dumps(rows, indent=1) + "\n")
