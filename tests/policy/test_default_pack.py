"""The built-in pack: its own tests pass, reach every rule, and it allows nothing by accident."""

import itertools
import json
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from fakes.opa_bundles import RealOpa, binary, built, engine_on, real_opa, until
from fakes.packs import BASE, admin_document, document, document_json

from gateway.call import Decision, DecisionEffect
from gateway.errors import Refusal
from gateway.policy.admin import AdminAction
from gateway.policy.base import Engine
from gateway.policy.embedded import EmbeddedEngine
from gateway.policy.pack import read_pack
from gateway.policy.testing import run_tests


def test_every_test_of_the_pack_passes_and_every_rule_fires() -> None:
    """A rule without a test that makes it fire fails here."""
    report = run_tests(read_pack([BASE]), time.perf_counter)
    assert [(each.file, each.name, each.error) for each in report.results if not each.is_passed] == []
    assert len(report.results) >= 60
    assert report.not_reached == ()


def test_every_test_of_the_pack_passes_in_opa_too() -> None:
    """The same tests, as many of them, by the other engine; strict checks and the formatter are content."""
    ran = subprocess.run([binary(), "test", "--format=json", str(BASE)], check=False, capture_output=True, timeout=60)
    results = json.loads(ran.stdout)
    assert [each for each in results if each.get("fail") or each.get("error") or each.get("skip")] == []
    assert len(results) == len(run_tests(read_pack([BASE]), time.perf_counter).results)
    for command in (["check", "--strict"], ["fmt", "--fail", "--list"]):
        subprocess.run([binary(), *command, str(BASE)], check=True, timeout=60)


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


TOOLS: list[dict[str, Any]] = [
    {"side_effect": side_effect, "risk": risk}
    for side_effect, risk in itertools.product(("read", "write", "send"), ("low", "high"))
]
GRANTS: list[dict[str, Any]] = [
    {},
    {"recipients": {"domains": ["corp.example"]}},
    {"recipients": {"addresses": ["bob@other.example"]}, "obligations": [{"type": "require_key", "value": True}]},
    {"hosts": ["api.example.com"], "paths": ["/reports/"]},
    {"max_amount": {"EUR": 50.5}},
    {"unknown": 1},
]
ARGUMENTS: list[Any] = [
    {},
    {"recipients": ["amy@corp.example"]},
    {"recipients": ["Bob@Other.Example", "eve@evil.example"]},
    {"recipients": [1]},
    {"host": "api.example.com", "path": "/reports/q3.pdf"},
    {"host": "x.localhost", "path": "/reports/../etc"},
    {"path": "/etc/passwd", "amount": 50.5, "currency": "EUR"},
    {"amount": 1000.01, "currency": "EUR"},
    {"amount": 20000, "currency": "USD"},
    {"amount": -1, "currency": "USD"},
    {"amount": 1, "currency": "XXX"},
    {"amount": "much"},
    [],
    "x",
]
CALLS: list[dict[str, Any]] = [{}, {"replay": True, "key_given": True}, {"time": "2026-01-04T23:59:59.999Z"}]
APPROVALS: list[Any] = [None, {"same_revision": True}, {"same_revision": False}]
DOCUMENTS = [
    document(tool=tool, agent={"grants": {"echo": grant}}, arguments=arguments, call=call, approval=approval)
    for tool, grant, arguments, call, approval in itertools.product(TOOLS, GRANTS, ARGUMENTS, CALLS, APPROVALS)
]
ODD = [
    *({**document(tool={"side_effect": "write"}), part: odd} for part in PARTS for odd in ({}, None, [], "x", 1)),
    *({name: value for name, value in document().items() if name != part} for part in PARTS),
]


@pytest.fixture(scope="module")
def opa() -> Iterator[RealOpa]:
    """A real OPA with the pack."""
    with real_opa(built(BASE, "r1")) as running:
        yield running


@pytest.fixture
async def both(opa: RealOpa) -> AsyncIterator[tuple[Engine, Engine]]:
    """Both engines with the pack."""
    async with engine_on(opa, timeout_ms=5000) as other:
        await until(lambda: other.status().is_ready)
        yield EmbeddedEngine(read_pack([BASE])), other


async def test_both_engines_decide_alike(both: tuple[Engine, Engine]) -> None:
    """Effect, reasons and obligations are equal for every document of the form that a gateway makes."""
    seen = set()
    for made in DOCUMENTS[::7]:
        embedded, other = [await _outcome(engine, json.dumps(made).encode()) for engine in both]
        assert embedded == other, made
        seen.add(embedded[0])
    assert seen >= set(DecisionEffect)


async def test_both_engines_refuse_alike_what_no_gateway_makes(both: tuple[Engine, Engine]) -> None:
    """The effect is equal. Reasons may differ: `not` of what is missing is true to one and undefined to the other."""
    for made in ODD:
        embedded, other = [await _outcome(engine, json.dumps(made).encode()) for engine in both]
        assert embedded[0] == other[0], made


async def test_both_engines_refuse_an_amount_that_they_write_differently(both: tuple[Engine, Engine]) -> None:
    """Of a number without measure they make other words, and the same decision."""
    grant = {"grants": {"echo": {}}}
    made = document(tool={"side_effect": "send"}, agent=grant, arguments={"amount": 1e300, "currency": "EUR"})
    decisions = [await engine.decide(json.dumps(made).encode()) for engine in both]
    assert {decision.effect for decision in decisions} == {DecisionEffect.DENY}
    assert [[each.code for each in decision.reasons] for decision in decisions] == 2 * [["amount_over_limit"]]


async def _outcome(engine: Engine, raw: bytes) -> tuple[Any, ...]:
    try:
        decision: Decision = await engine.decide(raw)
    except Refusal as refusal:
        return (refusal.reason,)
    reasons = sorted((each.code, each.message, each.advice) for each in decision.reasons)
    return decision.effect, reasons, sorted((each.type, json.dumps(each.value)) for each in decision.obligations)


ADMIN_DOCUMENTS = [
    admin_document(principal={"kind": kind, "scopes": scopes}, admin={"action": action})
    for kind in ("human", "workflow", "agent")
    for scopes in ([], ["registry:write"], ["registry:read", "stop:write", "stop:read", "calls:resolve"])
    for action in (*AdminAction, "calls.resolve", "registry.burn")
]


async def test_both_engines_decide_alike_on_operators(both: tuple[Engine, Engine]) -> None:
    """An agent may nothing, and everybody else what their scopes say."""
    allowed = set()
    for made in ADMIN_DOCUMENTS:
        embedded, other = [await engine.decide_admin(json.dumps(made).encode()) for engine in both]
        assert (embedded.effect, embedded.reasons) == (other.effect, other.reasons), made
        if embedded.effect is DecisionEffect.ALLOW:
            allowed.add((made["principal"]["kind"], made["admin"]["action"]))
    assert allowed == {(kind, action) for kind in ("human", "workflow") for action in (*AdminAction, "calls.resolve")}


@pytest.mark.parametrize("part", ["principal", "admin", "call"])
async def test_an_odd_document_never_widens_what_operators_may(both: tuple[Engine, Engine], part: str) -> None:
    """What is denied stays denied whatever else is wrong with it."""
    denied = admin_document(principal={"kind": "agent"})
    for odd in ({}, None, [], "x", 1):
        for engine in both:
            assert await _admin_effect(engine, {**denied, part: odd}) is not DecisionEffect.ALLOW


async def _admin_effect(engine: Engine, made: dict[str, Any]) -> DecisionEffect | str:
    try:
        return (await engine.decide_admin(json.dumps(made).encode())).effect
    except Refusal as refusal:
        return refusal.reason
