"""What has to hold of every scene's record: rules for the checks of each."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from gateway.cli.demo.record import Record, outcome_of

Json = dict[str, Any]
R = TypeVar("R", bound=Record)
Rule = Callable[[R], tuple[bool, str]]
"""Whether it holds, and what was seen, in a few words."""

REVISIONS = {"embedded": re.compile(r"sha256:[0-9a-f]{64}"), "opa": re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{12}")}
"""What a revision looks like, by the engine: of folders a digest, of a bundle its time and digest."""
STORE = "state/store.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A claim, and whether it held. `saw` is what was seen, in a few words."""

    claim: str
    holds: bool
    saw: str


def judged(claims: Iterable[tuple[str, Rule[R]]], record: R) -> tuple[Check, ...]:
    """Every claim, judged. A claim whose evidence is malformed does not hold."""
    return tuple(_judge(claim, rule, record) for claim, rule in claims)


def _judge(claim: str, rule: Rule[R], record: R) -> Check:
    try:
        holds, saw = rule(record)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        return Check(claim=claim, holds=False, saw=f"no such evidence ({type(error).__name__})")
    return Check(claim=claim, holds=holds, saw=saw)


def all_answered(record: Record) -> tuple[bool, str]:
    """In order, and the agent ended well."""
    told = [answer["label"] for answer in record.answers]
    is_whole = told == [label for label, _ in record.says] and record.agent_exit == 0
    return is_whole, f"{len(told)} answers to {len(record.says)} questions"


def one_line_each(record: Record) -> tuple[bool, str]:
    """No call without a line, no line without a call."""
    asked = sorted(call["value"]["call_id"] for call in record.calls)
    written = sorted(line["call_id"] for line in record.lines_of("call"))
    return bool(asked) and asked == written, f"{len(written)} lines for {len(asked)} calls"


def lines_agree(record: Record) -> tuple[bool, str]:
    """With what the agent was told."""
    lines = {line["call_id"]: line for line in record.lines_of("call")}
    wrong = [call["label"] for call in record.calls if not _agrees(call["value"], lines[call["value"]["call_id"]])]
    return bool(record.calls) and not wrong, ", ".join(wrong) or "every outcome"


def _agrees(value: Json, line: Json) -> bool:
    outcome = outcome_of(value)
    wanted = ("ok" if outcome == "replay" else outcome, value["replay"])
    return (line["outcome"], line.get("replay", False)) == wanted


def policy_decided(record: Record) -> tuple[bool, str]:
    """The engine that should, under one revision."""
    decided = [line for line in record.lines if line.get("decision") and line["kind"] in ("call", "execution")]
    revisions = {line["policy_revision"] for line in decided}
    is_one = len(revisions) == 1 and all(map(REVISIONS[record.engine].fullmatch, revisions))
    is_engine = {line["policy_engine"] for line in decided} == {record.engine}
    return is_one and is_engine, f"{len(decided)} decisions by {record.engine} under {len(revisions)} revision"


def chain_verified(record: Record) -> tuple[bool, str]:
    """From its first line to its last."""
    return record.chain_verified, record.chain_words


def end_signed(record: Record) -> tuple[bool, str]:
    """By a checkpoint after the last line."""
    return record.chain_verified and record.uncovered == 0, f"{record.uncovered} lines after the last checkpoint"


def no_secret(record: Record) -> tuple[bool, str]:
    """In no file, by a search that finds them where they are."""
    places = ", ".join(sorted({f"{hit.place} ({hit.encoding})" for hit in record.secret_hits}))
    is_searched = record.control_hits > 0 and {STORE, f"{STORE}-wal"} <= record.searched
    is_clean = not record.secret_hits and is_searched
    nowhere = f"nowhere in {len(record.searched)} files" if is_clean else "the search itself does not work"
    return is_clean, places or nowhere


def stopped_cleanly(record: Record) -> tuple[bool, str]:
    """With 0."""
    return record.gateway_exit == 0, f"exit code {record.gateway_exit}"
