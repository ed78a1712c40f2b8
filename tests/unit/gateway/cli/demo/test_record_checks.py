"""Rules that every scene is judged by: each holds for a good record, and not for one that is spoiled."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fakes.demo_evidence import good_evidence

from gateway.cli.demo import record_checks as rules
from gateway.cli.demo.record import Record
from gateway.cli.demo.record_checks import Check, judged
from gateway.cli.demo.search import Hit

Spoil = Callable[[Record], Record]


def _with(**changes: Any) -> Spoil:
    return lambda record: replace(record, **changes)


def _other_line(record: Record) -> Record:
    first, *rest = record.lines
    return replace(record, lines=(first | {"outcome": "unknown"}, *rest))


def _other_revision(record: Record) -> Record:
    first, *rest = record.lines
    return replace(record, lines=(first | {"policy_revision": "yesterday's"}, *rest))


SPOILED: tuple[tuple[Callable[[Record], tuple[bool, str]], Spoil], ...] = (
    (rules.all_answered, lambda record: replace(record, answers=record.answers[:-1])),
    (rules.all_answered, _with(agent_exit=3)),
    (rules.one_line_each, lambda record: replace(record, lines=record.lines[1:])),
    (rules.one_line_each, lambda record: replace(record, lines=(*record.lines, record.lines[0]))),
    (rules.one_line_each, _with(answers=(), lines=())),
    (rules.lines_agree, _other_line),
    (rules.lines_agree, _with(answers=())),
    (rules.policy_decided, _other_revision),
    (rules.policy_decided, _with(engine="opa")),
    (rules.chain_verified, _with(chain_verified=False)),
    (rules.end_signed, _with(uncovered=1)),
    (rules.end_signed, _with(chain_verified=False)),
    (rules.no_secret, _with(secret_hits=(Hit(place="logs/x", encoding="hex"),))),
    (rules.no_secret, _with(control_hits=0)),
    (rules.no_secret, _with(searched=frozenset({"state/store.db"}))),
    (rules.stopped_cleanly, _with(gateway_exit=-9)),
)


@pytest.mark.parametrize(("rule", "spoil"), SPOILED)
def test_a_rule_holds_until_its_evidence_is_spoiled(rule: Callable[[Record], tuple[bool, str]], spoil: Spoil) -> None:
    """And says what was seen either way."""
    good, bad = rule(good_evidence()), rule(spoil(good_evidence()))
    assert (good[0], bad[0]) == (True, False)
    assert good[1]


def test_evidence_that_is_not_there_holds_nothing() -> None:
    """No rule's exception gets out."""

    def breaks(record: Record) -> tuple[bool, str]:
        raise KeyError(record.engine)

    assert judged([("a claim", breaks)], good_evidence()) == (
        Check(claim="a claim", holds=False, saw="no such evidence (KeyError)"),
    )
