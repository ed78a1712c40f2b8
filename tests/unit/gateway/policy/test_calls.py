"""Calls that a policy makes, judged when it loads."""

import pytest
from fakes.packs import ALLOW_ALL, pack

from gateway.policy.base import PolicyUnusable
from gateway.policy.embedded import EmbeddedEngine, RuleRunner


def _problems(text: str) -> list[tuple[str, str]]:
    try:
        EmbeddedEngine(pack(f"{ALLOW_ALL}\n\n{text}"))
    except PolicyUnusable as unusable:
        return [(problem.file, problem.rule) for problem in unusable.problems]
    return []


POSITIONS = [
    "x := CALL",
    "x if CALL",
    "x if not CALL",
    "x := [y | y := CALL]",
    "x := {y | y := CALL}",
    "x := {CALL: 1 | true}",
    "x := {1: CALL | true}",
    "x := [CALL]",
    'x := {"a": CALL}',
    "x := {CALL}",
    "x if some y in CALL",
    "x if every y in CALL { y }",
    "x if every y in [1] { CALL == y }",
    "x := 1 if false else := CALL",
    "x := 1 if false else := 2 if CALL",
    "x := 1 + CALL",
    "x := -1 * CALL",
    "x := count([CALL])",
    "x contains CALL",
    "x contains 1 if CALL",
    "x[CALL] := 1",
    "f(a) := CALL if a",
    "f(a) := 1 if a == CALL",
    "x := input[CALL]",
    "x := 1 in [CALL]",
    "x := {1} | {CALL}",
    "x if 1 < CALL",
]


@pytest.mark.parametrize("position", POSITIONS)
def test_an_unknown_call_is_found_wherever_it_stands(position: str) -> None:
    """No part of the language hides a call that would fail when a call of an agent waits for it."""
    assert _problems(position.replace("CALL", "nosuch.thing(1)")) == [("policy.rego:5", "unknown_call")]


@pytest.mark.parametrize("position", POSITIONS)
def test_a_forbidden_call_is_found_wherever_it_stands(position: str) -> None:
    """Nor one that reaches outside."""
    assert _problems(position.replace("CALL", 'http.send({"url": "http://127.0.0.1"})')) == [
        ("policy.rego:5", "forbidden_call")
    ]


@pytest.mark.parametrize(
    "call",
    [
        "http.send({})",
        "opa.runtime()",
        "time.now_ns()",
        'net.lookup_ip_addr("a")',
        'rand.intn("a", 2)',
        'uuid.rfc4122("a")',
        'http["send"]({})',
    ],
)
def test_what_is_not_in_the_input_is_forbidden(call: str) -> None:
    """The network, the process, the clock and chance would make a decision that cannot be repeated."""
    assert _problems(f"x := {call}") == [("policy.rego:5", "forbidden_call")]


def test_own_functions_may_be_called() -> None:
    """By name, by full path and by import; with several definitions and a default."""
    assert (
        _problems(
            "default f(_) := 0\n\nf(a) := a if a > 1\n\n"
            "x := f(1) + data.gateway.authz.f(2)\n\nlib.g(a) := a\n\ny := lib.g(1)\n\nz if print(x)"
        )
        == []
    )


def test_every_problem_is_told_with_its_line() -> None:
    """The author corrects all of them in one go."""
    assert sorted(_problems("x := a(1)\n\ny := b(1)\n\nz := time.now_ns()")) == [
        ("policy.rego:5", "unknown_call"),
        ("policy.rego:7", "unknown_call"),
        ("policy.rego:9", "forbidden_call"),
    ]


def test_with_is_for_tests_only() -> None:
    """A rule must not judge an input of its own making."""
    assert _problems('x if input.a with input as {"a": 1}') == [("policy.rego:5", "with")]


def test_a_test_may_not_put_a_forbidden_call_in_place_of_another() -> None:
    """`with f as http.send` calls it without looking like a call."""
    tests = 'package t\n\ntest_x if { data.gateway.authz.f("a") with data.gateway.authz.f as http.send }'
    with pytest.raises(PolicyUnusable, match=r"http\.send may not be called"):
        RuleRunner(pack(f"{ALLOW_ALL}\n\nf(a) := a", tests=tests))


def test_a_test_may_not_import_what_it_replaces_the_input_of() -> None:
    """The engine would evaluate the import before it replaces anything."""
    tests = 'package t\n\nimport data.gateway.authz\n\ntest_x if { authz.decision with input as {"a": 1} }'
    with pytest.raises(PolicyUnusable, match=r"write data\.gateway\.authz in full"):
        RuleRunner(pack(ALLOW_ALL, tests=tests))


@pytest.mark.parametrize(
    "call", ["numbers.range(1, 2)", "numbers.range_step(1, 9, 2)", 'net.cidr_expand("10.0.0.0/8")']
)
def test_a_call_that_makes_any_number_of_values_is_for_tests_only(call: str) -> None:
    """One that an agent's argument leads to would stop every other call."""
    assert _problems(f"x := {call}") == [("policy.rego:5", "unbounded_call")]
