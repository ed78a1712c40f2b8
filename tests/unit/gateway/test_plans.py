"""What is worked out once per tool."""

import pytest
from fakes.adapter import FakeAdapter
from fakes.principals import principal
from fakes.rows import agent, connection, tool

from adapters.base import Secret
from gateway.arguments.canonical import canonical
from gateway.arguments.schema import compile_schema
from gateway.audit.base import LineKind
from gateway.audit.trail import Trail
from gateway.call import Arguments, Decision, DecisionEffect, Obligation, Request
from gateway.plans import Plans
from gateway.registry.catalogue import Entry


def entry(**changes):
    """An entry of the catalogue over the fake adapter."""
    row = tool(**changes)
    schema = compile_schema(row.input_schema)
    return Entry(agent(), row, connection(), FakeAdapter().operations["echo"], schema, None)


def trail(one, value, *secrets):
    """A trail that has come as far as the arguments."""
    request = Request(tool="echo", arguments_json=b"")
    made = Trail(kind=LineKind.CALL, call_id="c1", principal=principal(), request=request, now=0.0)
    made.tool = one.tool
    made.arguments = Arguments(value=value, canonical=canonical(value), digest="d")
    made.secrets = secrets
    return made


def test_a_plan_is_made_once_and_again_for_a_new_row():
    """The same row gives the same object, and another row of that name another one."""
    plans, first, second = Plans(), entry(), entry(max_result_bytes=1024)
    assert plans.of(first) is plans.of(first)
    assert plans.of(second).shaping.max_bytes == 1024
    assert plans.of(first).shaping.max_bytes == 262144


def test_obligations_make_a_result_stricter_for_this_call_alone():
    """The plan itself stays as the row says."""
    plans, one = Plans(), entry()
    obliged = Decision(
        effect=DecisionEffect.ALLOW,
        reasons=(),
        obligations=(Obligation(type="max_result_bytes", value=2000),),
        revision="r",
    )
    assert plans.shaping(one, obliged).max_bytes == 2000
    assert plans.of(one).shaping.max_bytes == 262144


@pytest.mark.parametrize("is_planned", [True, False])
def test_a_line_shows_neither_private_arguments_nor_credentials(is_planned):
    """Also when the call was stopped before its tool had a plan."""
    plans, one = Plans(), entry(private_arguments=("/text",))
    if is_planned:
        plans.of(one)
    shown = plans.shown_arguments(trail(one, {"text": "private words", "tag": "hunter-22"}, Secret("hunter-22")))
    assert "private words" not in shown
    assert "hunter-22" not in shown
    assert '"tag"' in shown


def test_a_line_shows_nothing_when_it_cannot_be_told_what_may_be_shown():
    """Too little rather than too much, and never an error."""
    one = entry(private_arguments=("not a pointer",))
    assert Plans().shown_arguments(trail(one, {"text": "private words"})) == ""


def test_a_call_without_arguments_shows_none():
    """It was stopped before they were read."""
    one = entry()
    stopped = trail(one, {})
    stopped.arguments = None
    assert Plans().shown_arguments(stopped) == ""
