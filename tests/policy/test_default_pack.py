"""The built-in pack: its own tests pass, reach every rule, and it allows nothing by accident."""

import json
import time

import pytest
from fakes.packs import BASE, document, document_json

from gateway.call import DecisionEffect
from gateway.policy.embedded import EmbeddedEngine
from gateway.policy.pack import read_pack
from gateway.policy.testing import run_tests


def test_every_test_of_the_pack_passes_and_every_rule_fires() -> None:
    """A rule without a test that makes it fire fails here."""
    report = run_tests(read_pack([BASE]), time.perf_counter)
    assert [(each.file, each.name, each.error) for each in report.results if not each.is_passed] == []
    assert len(report.results) >= 60
    assert report.not_reached == ()


PARTS = ["principal", "agent", "tool", "arguments", "call"]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_missing_or_odd_never_widens(part: str) -> None:
    """A write that is denied stays denied whatever else is wrong with the document."""
    engine = EmbeddedEngine(read_pack([BASE]))
    denied = document(tool={"side_effect": "write"})
    for odd in ({}, None, [], "x", 1):
        assert _effect(engine, {**denied, part: odd}) != DecisionEffect.ALLOW
    without = {name: value for name, value in denied.items() if name != part}
    assert _effect(engine, without) != DecisionEffect.ALLOW


def _effect(engine: EmbeddedEngine, made: dict[str, object]) -> DecisionEffect | str:
    from gateway.errors import Refusal

    try:
        return engine.decide_now(json.dumps(made).encode()).effect
    except Refusal as refusal:
        return refusal.reason


@pytest.mark.parametrize("recipients", ["eve@evil.example", {"a": "eve@evil.example"}, [1], [None], [["a"]], 7, True])
def test_odd_recipients_never_pass_a_grant(recipients: object) -> None:
    """What an adapter never makes is not let through either."""
    engine = EmbeddedEngine(read_pack([BASE]))
    grant = {"grants": {"echo": {"recipients": {"domains": ["corp.example"]}}}}
    made = document(tool={"side_effect": "send"}, agent=grant, arguments={"recipients": recipients})
    assert _effect(engine, made) != DecisionEffect.ALLOW
    assert (
        _effect(
            engine,
            document(
                tool={"side_effect": "send"}, agent={"grants": {"echo": {}}}, arguments={"recipients": recipients}
            ),
        )
        != DecisionEffect.ALLOW
    )


def test_a_harmless_read_is_allowed() -> None:
    """The other side: what should pass does."""
    engine = EmbeddedEngine(read_pack([BASE]))
    assert engine.decide_now(document_json()).effect is DecisionEffect.ALLOW
