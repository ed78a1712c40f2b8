"""What the artifacts of one gateway's history show to be wrong. Reads them and nothing else.

They are its state with the audit, `begun` with the id of every call that began, what callers were answered, how its
processes died, and the vendor's log of effects.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fakes.effects import effects_in
from fakes.served import lines_in
from faults.suites.answers import CUT, OK, WELL
from faults.suites.kill_points import BEFORE_CLAIM, BEGUN
from faults.suites.suite import records_in

from gateway.audit.open import audit_directory
from gateway.audit.verify import verify

EFFECTS, ANSWERS, DEATHS, STATE = "effects.jsonl", "answers.jsonl", "deaths.jsonl", "state"
STATED = {"outcome_unknown", "key_done", "key_in_progress"}
"""How a repeated key may be answered when it has had its effect and the first answer is not there."""


def violations_of(history: Path, log: Path, *, is_power_cut: bool = False) -> list[str]:
    """A sentence for each: effects and lines against answers, whatever was done to the gateway meanwhile."""
    deaths = list(records_in(history / DEATHS))
    found = [f"it did not serve again: {one['refused']}" for one in deaths if "refused" in one]
    audit = audit_directory(history / STATE)
    found += _of_what_is_there(history, log, deaths, is_power_cut=is_power_cut) if audit.is_dir() else ["no audit"]
    return [f"{history.parent.name}/{history.name}: {one}" for one in found]


def _of_what_is_there(history: Path, log: Path, deaths: list[dict[str, Any]], *, is_power_cut: bool) -> list[str]:
    answers = list(records_in(history / ANSWERS))
    keys = {one["key"] for one in answers}
    effects = [effect for effect in effects_in(log) if effect["key"] in keys]
    lines = [line for line in lines_in(history) if line["kind"] == "call"]
    begun = _begun(history)
    left = {one["call_id"] for one in answers if one["outcome"] == OK}
    sure = _sure(answers, effects, begun, deaths) if is_power_cut else set(begun)
    found = [*_effects(effects), *_lines(lines, begun, sure, left), *_told(answers, effects), *_stated(effects, lines)]
    bad = verify(audit_directory(history / STATE)).first_bad
    return [*found, f"the audit does not verify: {bad}"] if bad else found


def _begun(history: Path) -> dict[str, str]:
    """The key of every call that began, by its id; empty for none."""
    calls = (line.partition(" ") for line in (history / BEGUN).read_text().splitlines())
    return {call_id: key for call_id, _, key in calls}


def _sure(
    answers: list[dict[str, Any]], effects: list[dict[str, Any]], begun: dict[str, str], deaths: list[dict[str, Any]]
) -> set[str]:
    """After a power cut: calls that were answered, or had their intent on the disk. Any other may never have begun."""
    intended = {one["key"] for one in deaths if one["key"] and one["boundary"] not in BEFORE_CLAIM}
    known = {one["call_id"] for one in answers if one["call_id"]} | {one["effect_id"] for one in effects}
    return known | {call_id for call_id, key in begun.items() if key in intended}


def _effects(effects: list[dict[str, Any]]) -> Iterator[str]:
    for key, count in Counter(effect["key"] for effect in effects).items():
        if count > 1:
            yield f"the key {key} had {count} effects"


def _lines(lines: list[dict[str, Any]], begun: Iterable[str], sure: set[str], left: set[str]) -> Iterator[str]:
    counts = Counter(line["call_id"] for line in lines)
    undelivered = {line["call_id"] for line in lines if not line.get("delivered", True)}
    yield from (f"the answer of {call_id} left and its line says that it did not" for call_id in undelivered & left)
    for call_id in begun:
        if counts[call_id] > 1 or (call_id in sure and not counts[call_id]):
            yield f"the call {call_id} has {counts[call_id]} lines"
    for call_id in counts.keys() - set(begun):
        yield f"the call {call_id} has a line and never began"


def _told(answers: list[dict[str, Any]], effects: list[dict[str, Any]]) -> Iterator[str]:
    """Nothing is called done that was not, and nothing that was is called free."""
    done = Counter(effect["key"] for effect in effects)
    own = {effect["effect_id"] for effect in effects}
    for one in answers:
        if one["phase"] == WELL and one["outcome"] != OK:
            yield f"a call that nothing stood in the way of was told {one['outcome']}"
        if not one["key"] or one["outcome"] == CUT:
            continue
        if one["outcome"] == OK and not done[one["key"]]:
            yield f"the key {one['key']} was told done and had no effect"
        is_own = one["call_id"] in own
        is_stated = one["outcome"] in STATED or (one["outcome"] == OK and (one["replay"] or is_own))
        if done[one["key"]] and not is_stated:
            yield f"the key {one['key']} had its effect and was told {one['outcome']}"


def _stated(effects: list[dict[str, Any]], lines: list[dict[str, Any]]) -> Iterator[str]:
    """The line of a call that had an effect says so, or that nobody knows."""
    known = {line["call_id"]: line for line in lines}
    for effect in effects:
        line = known.get(effect["effect_id"], {})
        if line and line.get("happened") != "yes" and line["outcome"] != "unknown":
            yield f"the call {effect['effect_id']} had its effect and its line says {line['outcome']}"
