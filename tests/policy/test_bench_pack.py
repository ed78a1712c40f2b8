"""The benchmark's pack decides like the frozen yardstick that it restates."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import regorus
from fakes.packs import document

from gateway.call import Decision
from gateway.policy.embedded import EmbeddedEngine
from gateway.policy.pack import read_pack

REFERENCE = Path(__file__).parent / "reference"
BENCH = Path(__file__).parent.parent / "bench" / "policy"
TIMES = {
    "2024-01-04T12:00:00.000Z": 1_704_369_600_000_000_000,
    "2024-01-04T19:00:00.000Z": 1_704_394_800_000_000_000,
    "2024-01-06T12:00:00.000Z": 1_704_542_400_000_000_000,
}
ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"to": ["alice@example.com"]},
    {"to": ["alice@example.com", "Bob@Partner.org"]},
    {"to": ["eve@evil.test", "alice@example.com"]},
    {"to": ["a@b@example.com", "none"]},
    {"amount": 10},
    {"amount": 1249.5, "to": ["alice@example.com"]},
    {"amount": 20_000},
    {"amount": "much"},
    {"path": "/reports/2026/q3.pdf"},
    {"path": "/reports/../etc"},
    {"path": "/etc/passwd"},
    {"path": "/reports/a b"},
    {"tags": ["finance", "q3"]},
    {"tags": ["Not OK"]},
    {"tags": []},
    {"amount": 20_000, "to": ["eve@evil.test"], "path": "/x", "tags": ["A"]},
]
CALLERS: list[dict[str, Any]] = [
    {"roles": ["finance", "reader"], "scopes": [], "ip": "10.1.2.3", "tenant": "acme"},
    {"roles": ["ops"], "scopes": ["mail:send", "v7:use"], "ip": "192.168.1.7", "tenant": "acme"},
    {"roles": ["ops", "nobody"], "scopes": [], "ip": "10.1.2.3", "tenant": "other"},
]
TOOLS = ["mail.send", "pay.create", "files.read", "deploy.run", "old.tool", "vendor7.act", "nosuch.tool"]
CASES = list(itertools.product(TOOLS, CALLERS, ARGUMENTS, TIMES))


@pytest.fixture(scope="module")
def reference() -> regorus.Engine:
    """The yardstick on the same engine."""
    engine = regorus.Engine()
    engine.add_policy("policy.rego", (REFERENCE / "policy.rego").read_text())
    engine.add_data_json((REFERENCE / "data.json").read_text())
    return engine


@pytest.fixture(scope="module")
def bench() -> EmbeddedEngine:
    """The product's pack."""
    return EmbeddedEngine(read_pack([BENCH]))


def _expected(reference: regorus.Engine, tool: str, caller: dict[str, Any], arguments: dict[str, Any], ns: int) -> Any:
    made = {"tool": {"name": tool}, "caller": caller, "resource": {"tenant": "acme"}, "args": arguments, "now_ns": ns}
    reference.set_input_json(json.dumps(made))
    answer = json.loads(reference.eval_rule_as_json("data.gateway.authz.decision"))
    obligations = {
        ("redact", tuple(sorted("/" + name for name in each["fields"])))
        if each["type"] == "redact"
        else ("log_level", each["value"])
        for each in answer["obligations"]
    }
    return answer["effect"], sorted(answer["reasons"]), obligations


def _given(bench: EmbeddedEngine, tool: str, caller: dict[str, Any], arguments: dict[str, Any], time: str) -> Any:
    made = document(
        principal={
            "tenant": caller["tenant"],
            "roles": caller["roles"],
            "scopes": caller["scopes"],
            "claims": {"ip": caller["ip"]},
        },
        tool={"name": tool.replace(".", "_")},
        connection={"name": "acme", "vendor": "any", "scopes": [], "hosts": []},
        arguments=arguments,
        call={"time": time},
    )
    return _flat(bench.decide_now(json.dumps(made).encode()))


def _flat(decision: Decision) -> Any:
    """The decision in the yardstick's terms: a message was glued onto its code."""
    reasons = sorted(f"{reason.code}:{reason.message}".removesuffix(":") for reason in decision.reasons)
    obligations = {
        ("redact", tuple(sorted(each.value["paths"]))) if each.type == "redact" else ("log_level", each.value)
        for each in decision.obligations
    }
    return decision.effect.value, reasons, obligations


@pytest.mark.parametrize("tool", TOOLS)
def test_it_decides_like_the_yardstick(reference: regorus.Engine, bench: EmbeddedEngine, tool: str) -> None:
    """Effect, reasons and obligations are equal over every caller, argument and hour."""
    cases = [case for case in CASES if case[0] == tool]
    assert len(cases) >= 60
    for _, caller, arguments, time in cases:
        expected = _expected(reference, tool, caller, arguments, TIMES[time])
        assert expected == _given(bench, tool, caller, arguments, time), (caller, arguments, time)


def test_the_table_has_every_answer(reference: regorus.Engine) -> None:
    """Otherwise equality would show little."""
    answers = [_expected(reference, tool, caller, arguments, TIMES[time]) for tool, caller, arguments, time in CASES]
    assert {effect for effect, _, _ in answers} == {"allow", "deny", "require_approval"}
    codes = {reason.split(":")[0] for _, reasons, _ in answers for reason in reasons}
    assert codes == {
        "unknown_tool",
        "missing_scope",
        "tenant_mismatch",
        "tool_disabled",
        "amount_over_hard_limit",
        "amount_over_soft_limit",
        "recipient_domain",
        "path_not_allowed",
        "network",
        "tags_invalid",
        "out_of_hours",
        "external_recipient",
    }


def test_it_has_the_yardsticks_tools() -> None:
    """All 205 of them, with the same rules."""
    ours = json.loads((BENCH / "data.json").read_text())["tools"]
    theirs = json.loads((REFERENCE / "data.json").read_text())["tools"]
    assert len(theirs) == 205
    assert {name.replace(".", "_") for name in theirs} <= ours.keys()
