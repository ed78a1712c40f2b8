"""The embedded engine: it refuses at load what cannot work, and afterwards never allows by accident."""

import asyncio
import gc
import json
import threading
from dataclasses import replace

import pytest
import regorus
from fakes.packs import ALLOW_ALL, BASE, DENY_ALL, admin_json, document_json, pack

from adapters.base import Fault
from gateway.call import DecisionEffect
from gateway.errors import Reason, Refusal
from gateway.policy.base import PolicyUnusable
from gateway.policy.builtins import EXTENSIONS
from gateway.policy.embedded import EmbeddedEngine, RuleRunner, builtin_functions, packages_of
from gateway.policy.pack import Module, Pack, read_pack


def _problem(text: str, data: dict[str, object] | None = None) -> tuple[str, str]:
    with pytest.raises(PolicyUnusable) as caught:
        EmbeddedEngine(pack(text, data))
    (problem,) = caught.value.problems
    return problem.file, problem.rule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("decision :=", ("policy.rego:3:12", "syntax")),
        ("other := 1", ("-", "no_decision")),
        ("decision := 1", ("-", "policy_invalid")),
        ("decision := 1 / 0", ("policy.rego:3:15", "evaluation")),
        ("decision := nowhere", ("policy.rego:3:13", "evaluation")),
        ("decision := 1\n\ndecision := 2", ("policy.rego:5:1", "evaluation")),
    ],
)
def test_what_cannot_decide_does_not_load(text: str, expected: tuple[str, str]) -> None:
    """Each mistake is told with its place before any call is decided."""
    assert _problem(text) == expected


@pytest.mark.parametrize("data", [{"gateway": {"authz": {"decision": 1}}}, {"gateway": {"authz": {}}}, {"gateway": 1}])
def test_data_does_not_stand_in_for_rules(data: dict[str, object]) -> None:
    """Data at the package's own place is refused."""
    assert _problem(ALLOW_ALL, data) == ("data", "hides_rules")


@pytest.mark.parametrize("name", sorted(builtin_functions() - EXTENSIONS.keys()))
def test_a_builtin_that_is_listed_is_there(name: str) -> None:
    """Calling it without arguments may fail, but not because nobody knows it."""
    engine = regorus.Engine()
    engine.add_policy("a.rego", f"package a\n\nx := {name}()")
    error = ""
    try:
        engine.eval_rule_as_json("data.a.x")
    except RuntimeError as raised:
        error = str(raised)
    assert "could not find function" not in error


async def test_a_panic_refuses_and_the_next_call_is_decided() -> None:
    """A panic is no `Exception`; it must neither escape nor leave a broken engine behind."""
    heard: list[str] = []
    engine = EmbeddedEngine(pack(ALLOW_ALL), heard.append)
    caught: list[Refusal] = []

    def elsewhere() -> None:
        try:
            engine.decide_now(document_json())
        except Refusal as refusal:
            caught.append(refusal)

    thread = threading.Thread(target=elsewhere)  # an engine that is used from another thread panics
    thread.start()
    await asyncio.to_thread(thread.join)
    assert [(refusal.reason, refusal.fault) for refusal in caught] == [(Reason.POLICY_UNAVAILABLE, Fault.ERROR)]
    assert heard == ["the policy engine panicked and is built anew"]
    assert (await engine.decide(document_json())).effect is DecisionEffect.ALLOW


def test_a_failure_is_told_without_the_input() -> None:
    """The place is told; the engine's text, which quotes values, is not."""
    heard: list[str] = []
    engine = EmbeddedEngine(pack("decision := to_number(input.arguments.secret)"), heard.append)
    with pytest.raises(Refusal) as caught:
        engine.decide_now(document_json(arguments={"secret": "hunter2"}))
    assert heard == ["policy evaluation failed at policy.rego:3:38"]
    assert "hunter2" not in caught.value.message


def test_what_is_not_ours_passes_through() -> None:
    """Ctrl-C and the end of the process are not failures of a policy."""

    class Interrupting:
        def set_input_json(self, _text: str) -> None:
            raise KeyboardInterrupt

    engine = EmbeddedEngine(pack(ALLOW_ALL))
    assert engine._engine is not None
    engine._engine.rego = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        engine.decide_now(b"{}")


def test_one_call_leaves_nothing_to_the_next() -> None:
    """Any order of inputs gives each the decision that a new engine gives it."""
    rules = "xs contains y if some y in input.arguments.ys\n\nis_in if input.arguments.n in xs"
    text = f"{ALLOW_ALL} if is_in\n\n{DENY_ALL} if not is_in\n\n{rules}"
    engine = EmbeddedEngine(pack(text))
    documents = [document_json(arguments={"n": n, "ys": ys}) for n in (1, 2) for ys in ([], [1], [2], [1, 2])] + [
        document_json()
    ]
    for document in documents * 2 + documents[::-1]:
        assert engine.decide_now(document) == EmbeddedEngine(pack(text)).decide_now(document)


def test_an_engine_outlives_its_holder_in_any_thread() -> None:
    """When another thread is the last to hold it, its own thread drops it: nothing panics on the way."""
    held = [EmbeddedEngine(pack(ALLOW_ALL))]

    def drop() -> None:
        held.clear()
        gc.collect()

    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    gc.collect()
    assert EmbeddedEngine(pack(DENY_ALL)).decide_now(b"{}").effect is DecisionEffect.DENY


def test_print_goes_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    """What a policy prints may be an argument."""
    engine = EmbeddedEngine(pack(f"{ALLOW_ALL} if print(input.arguments)"))
    engine.decide_now(document_json(arguments={"secret": "hunter2"}))
    assert capfd.readouterr() == ("", "")


def test_the_builtin_pack_loads_and_denies_a_stranger() -> None:
    """Nobody is let in by default."""
    engine = EmbeddedEngine(read_pack([BASE]))
    decision = engine.decide_now(document_json(principal={"agent": "stranger"}))
    assert decision.effect is DecisionEffect.DENY
    assert engine.decide_now(document_json()).effect is DecisionEffect.ALLOW


def test_tests_run_one_by_one() -> None:
    """Each test has its own truth, whatever ran before it."""
    tests = (
        "package t\n\n"
        'test_a if data.gateway.authz.decision.effect == "allow" with input as {"a": 1}\n\n'
        'test_b if data.gateway.authz.decision.effect == "deny" with input as {"a": 2}\n\n'
        "test_c if 1 / 0 == 1\n\nother := 1"
    )
    text = f"{ALLOW_ALL} if input.a == 1\n\n{DENY_ALL} if input.a != 1"
    runner = RuleRunner(pack(text, tests=tests))
    assert [name for _, name, _ in runner.test_rules()] == ["test_a", "test_b", "test_c"]
    outcomes = [runner.run(f"data.t.test_{name}") for name in ("a", "b", "a", "b", "c")]
    assert outcomes == [(True, "")] * 4 + [(False, "divide by zero at policy_test.rego:7:13")]


def test_lines_that_no_test_reached_are_known() -> None:
    """A rule without a test that makes it fire is found."""
    text = f"{ALLOW_ALL}\n\nx contains 1 if {{\n\tinput.never\n}}"
    runner = RuleRunner(pack(text, tests="package t\n\ntest_a if count(data.gateway.authz.x) == 0"))
    assert runner.run("data.t.test_a") == (True, "")
    assert ("policy.rego", 5) in runner.lines_not_reached()


def test_data_reaches_the_rules() -> None:
    """What the data files say is `data` in Rego."""
    engine = EmbeddedEngine(pack(f"{ALLOW_ALL} if data.x.y == 1.5", {"x": {"y": 1.5}}))
    assert engine.decide_now(b"{}").effect is DecisionEffect.ALLOW
    assert json.loads(pack("", {"x": "ü"}).data_json) == {"x": "ü"}


async def test_it_is_ready_as_soon_as_it_is_built() -> None:
    """Starting and stopping change nothing."""
    engine = EmbeddedEngine(pack(ALLOW_ALL))
    await engine.start()
    await engine.stop()
    assert (engine.status().is_ready, engine.status().revision) == (True, engine.revision)


def test_the_packages_of_a_pack_are_known() -> None:
    """A bundle has to say which parts of `data` it owns."""
    assert packages_of(pack("")) == {"data.gateway.authz"}
    with pytest.raises(PolicyUnusable, match="syntax"):
        packages_of(pack("decision :="))


def with_admin(rules: str, data: dict[str, object] | None = None) -> Pack:
    """A pack that allows every call, and these rules on operators."""
    made = pack(ALLOW_ALL, data)
    return replace(made, modules=(*made.modules, Module(name="admin.rego", text=f"package gateway.admin\n\n{rules}")))


async def test_a_policy_without_a_rule_for_operators_lets_them_do_nothing() -> None:
    """Whatever it allows to agents, and whatever else stands in that package."""
    for made in (pack(ALLOW_ALL), with_admin("other := 1")):
        with pytest.raises(Refusal) as caught:
            await EmbeddedEngine(made).decide_admin(admin_json())
        assert caught.value.reason is Reason.POLICY_UNDEFINED


async def test_data_is_no_rule_for_operators() -> None:
    """Not even where the rule would be, with a package of rules or without one."""
    data: dict[str, object] = {"gateway": {"admin": {"decision": json.loads(ALLOW_ALL.partition(":=")[2])}}}
    with pytest.raises(Refusal) as caught:
        await EmbeddedEngine(pack(ALLOW_ALL, data)).decide_admin(admin_json())
    assert caught.value.reason is Reason.POLICY_UNDEFINED
    with pytest.raises(PolicyUnusable):
        EmbeddedEngine(with_admin(DENY_ALL, data))


def test_a_rule_for_operators_that_cannot_decide_does_not_load() -> None:
    """It is tried when the policy loads, as the other is; one that lets anybody in is named."""
    with pytest.raises(PolicyUnusable) as caught:
        EmbeddedEngine(with_admin("decision := 1"))
    (problem,) = caught.value.problems
    assert problem.rule == "policy_invalid"
    assert "gateway.admin" in problem.message
    assert EmbeddedEngine(with_admin(ALLOW_ALL)).allows_anybody
