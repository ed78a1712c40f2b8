"""Tampering: whatever is changed in an audit afterwards, verification says where."""

import dataclasses
import json
import random
from collections.abc import Callable
from pathlib import Path

from fakes.tampering import Lines, anchors_every, tamperings, verified
from faults.suites.suite import Counts, Records, records_in

from gateway.audit.anchors import NONE, Anchors
from gateway.audit.chain import BadLine, unseal
from gateway.audit.verify import Bad, Verdict

FOUND, LOCATED = "tamperings.jsonl", "tamperings.json"
"""What verification said of each, and which of them it did not find where they are."""
SEED = 6
CHECKPOINT_LINES = 25
"""A checkpoint after every so many lines."""

Check = Callable[[Lines, Anchors], Verdict]


def with_chain(lines: Lines, anchors: Anchors) -> Verdict:
    """The product's own verification."""
    return verified(lines, anchors)


def without_chain(lines: Lines, _anchors: Anchors) -> Verdict:
    """The mutant: every line is looked at by itself."""
    verdict = verified({}, NONE)
    for name in sorted(lines):
        for number, raw in enumerate(lines[name], 1):
            try:
                unseal(raw)
            except BadLine as error:
                return dataclasses.replace(verdict, first_bad=Bad(file=name, line=number, why=error.why))
    return verdict


def tamper(audit: Path, folder: Path, *, cases: int, check: Check, tick: Callable[[], None]) -> None:
    """Tamper so many times with copies of the audit, the same way every time; both artifacts are in the folder."""
    content = {path.name: path.read_bytes() for path in sorted(audit.glob("*.jsonl"))}
    anchors = anchors_every(content, CHECKPOINT_LINES)
    with Records(folder / FOUND) as records:

        def checked(lines: Lines, anchors: Anchors) -> Verdict:
            verdict = check(lines, anchors)
            records.add(found=str(verdict.first_bad or ""))
            tick()
            return verdict

        report = tamperings(content, anchors, cases=cases, chance=random.Random(SEED), check=checked)
    located = {"seed": SEED, "kinds": report.kinds, "not_located": report.violations}
    (folder / LOCATED).write_text(json.dumps(located, indent=1))


def tampering_counts(folder: Path, part: str) -> Counts:
    """How many tamperings there were, and those that were not located."""
    if not (folder / LOCATED).exists():
        return Counts(cases={}, violations=())
    located = json.loads((folder / LOCATED).read_text())
    cases = sum(1 for _ in records_in(folder / FOUND))
    return Counts(cases={part: cases}, violations=tuple(f"{part}: {one}" for one in located["not_located"]))
