"""Manifest rows become frozen rows, and what policy sees of them holds no secret and no schema."""

from typing import Any

import orjson
import pytest

from adapters.base import SideEffect
from gateway.registry.frozen import agent_of, connection_of, tool_of
from gateway.registry.manifest import AgentRow, ConnectionRow, ToolRow
from gateway.rows import Disposition, KeyRule, Kind, Price, Rate, Risk, Sensitivity, Trust

TOOL: dict[str, Any] = {
    "name": "mail_send",
    "description": "Sends.",
    "input_schema": {"type": "object"},
    "requires": ["mail:send"],
    "side_effect": "send",
    "binding": {"adapter": "email", "operation": "send", "connection": "mail"},
    "surfaces": ["grpc"],
}


def test_a_tool_gets_its_defaults() -> None:
    """The careful ones."""
    tool = tool_of(ToolRow.model_validate(TOOL), longest_ms=120_000)
    assert (tool.version, tool.title, tool.timeout_ms) == ("1", "Mail send", 30_000)
    assert (tool.risk, tool.kind, tool.disposition) == (Risk.LOW, Kind.EXTERNAL, Disposition.OPTIONAL)
    assert (tool.trust, tool.sensitivity) == (Trust.UNTRUSTED, Sensitivity.INTERNAL)
    assert (tool.max_leaves, tool.max_result_bytes, tool.rate) == (1000, 262_144, None)
    assert (tool.side_effect, tool.modes, tool.output_schema) == (SideEffect.SEND, frozenset(), None)
    assert (tool.input_schema_json, tool.output_schema_json) == (b'{"type":"object"}', b"")


def test_a_tool_keeps_what_its_row_says() -> None:
    """Field by field."""
    said = {
        "title": "Mail",
        "limits": {"rate": {"per_minute": 6, "burst": 2}, "max_leaves": 5},
        "idempotency": "required",
        "timeout_ms": 9,
        "output_schema": {"type": "string"},
        "redactions": ["/a/*/b"],
        "private_arguments": ["/text"],
        "field_trust": {"/a": "member"},
    }
    tool = tool_of(ToolRow.model_validate(TOOL | said), longest_ms=5)
    assert (tool.title, tool.rate, tool.max_leaves) == ("Mail", Rate(per_minute=6, burst=2), 5)
    assert (tool.key_rule, tool.timeout_ms) == (KeyRule.REQUIRED, 9)
    assert (tool.redactions, tool.private_arguments, tool.field_trust) == (("/a/*/b",), ("/text",), {"/a": "member"})
    assert tool.output_schema_json == b'{"type":"string"}'


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"path": "/b", "query": {}}},
        {"options": {"path": "/a"}},
        {"operation": "call"},
        {"adapter": "other"},
    ],
)
def test_a_tool_that_its_row_makes_is_another_version_when_it_does_something_else(change: dict[str, Any]) -> None:
    """Whatever version the row says: an approval is of one, and must not cover another request."""
    binding = {"adapter": "http_api", "operation": "request", "connection": "crm"}
    bound = {**binding, "options": {"path": "/a", "query": {}}}
    one = tool_of(ToolRow.model_validate(TOOL | {"binding": bound, "version": "1.2"}), longest_ms=5)
    same = {**bound, "options": {"query": {}, "path": "/a"}}
    assert (
        tool_of(ToolRow.model_validate(TOOL | {"binding": same, "version": "1.2"}), longest_ms=5).version == one.version
    )
    assert one.version.startswith("1.2+")
    other = tool_of(ToolRow.model_validate(TOOL | {"binding": {**bound, **change}, "version": "1.2"}), longest_ms=5)
    assert other.version != one.version
    assert orjson.loads(other.policy_json)["version"] == "1.2"


def test_policy_sees_what_it_may_judge_of_a_tool() -> None:
    """And no schema, connection or description."""
    seen = orjson.loads(tool_of(ToolRow.model_validate(TOOL | {"groups": ["b", "a"]}), longest_ms=5).policy_json)
    assert seen == {
        "name": "mail_send",
        "version": "1",
        "side_effect": "send",
        "risk": "low",
        "kind": "external",
        "vendor": "email",
        "operation": "send",
        "groups": ["a", "b"],
        "requires": ["mail:send"],
        "trust": "untrusted",
        "sensitivity": "internal",
        "cost": {},
        "preview": False,
    }


def test_policy_sees_no_credential_and_no_options_of_a_connection() -> None:
    """Only name, vendor, scopes and hosts."""
    row = ConnectionRow(
        name="mail",
        tenant="acme",
        vendor="email",
        hosts=("b", "a"),
        options={"user": "u"},
        credential="env:A_TOKEN",
    )
    connection = connection_of(row)
    assert orjson.loads(connection.policy_json) == {
        "name": "mail",
        "vendor": "email",
        "scopes": [],
        "hosts": ["a", "b"],
    }
    assert (connection.credential, connection.target.options) == ("env:A_TOKEN", {"user": "u"})


def test_policy_sees_an_agents_grants() -> None:
    """Sorted, so that one row has one form."""
    row = AgentRow.model_validate(
        {"name": "a", "tenant": "t", "scopes": ["y", "x"], "grants": {"tool": {"max": 5}}, "rate": {"per_minute": 1}}
    )
    agent = agent_of(row)
    seen = orjson.loads(agent.policy_json)
    assert (seen["scopes"], seen["grants"], seen["name"]) == (["x", "y"], {"tool": {"max": 5}}, "a")
    assert agent.rate == Rate(per_minute=1, burst=1)


def test_what_is_spent_is_counted_as_it_is_written() -> None:
    """Over windows in seconds; what policy sees is the row's own words."""
    row = AgentRow.model_validate(
        {
            "name": "a",
            "tenant": "t",
            "budgets": [
                {"unit": "EUR", "limit": 9, "scope": "agent_day"},
                {"unit": "EUR", "limit": 9, "scope": "tool", "per": "90s"},
            ],
            "caps": [
                {"limit": 1, "per": "run", "tools": ["file_edit"]},
                {"limit": 2, "per": "day", "side_effect": "send"},
                {"limit": 3, "per": "hour", "unit": "recipients"},
                {"limit": 4, "per": "total"},
            ],
        }
    )
    agent = agent_of(row)
    assert [(one.share, one.seconds, one.is_cap) for one in agent.budgets] == [
        ("agent_day", 86400, False),
        ("tool", 90, False),
    ]
    assert [(one.share, one.seconds, one.unit, one.is_cap) for one in agent.caps] == [
        ("run", None, "calls", True),
        ("agent_day", 86400, "calls", True),
        ("agent", 3600, "recipients", True),
        ("agent", None, "calls", True),
    ]
    assert (agent.caps[0].tools, agent.caps[1].side_effect) == (frozenset({"file_edit"}), SideEffect.SEND)
    seen = orjson.loads(agent.policy_json)
    assert seen["budgets"][1] == {"unit": "EUR", "limit": 9, "scope": "tool", "per": "90s", "tools": []}
    assert seen["caps"][0] == {"unit": "calls", "limit": 1, "per": "run", "tools": ["file_edit"]}


@pytest.mark.parametrize(
    ("cost", "want"),
    [
        ({}, ()),
        ({"money": {"currency": "EUR", "amount": 0}}, (Price(unit="EUR"),)),
        ({"money": {"currency": "EUR", "path": "/a"}}, (Price(unit="EUR", pointers=("/a",)),)),
        (
            {"counts": {"rows": 5, "people": "/to", "all": ["/to", "/cc"]}},
            (
                Price(unit="rows", amount=5),
                Price(unit="people", pointers=("/to",)),
                Price(unit="all", pointers=("/to", "/cc")),
            ),
        ),
    ],
)
def test_what_a_call_costs_is_a_price_for_each_unit(cost: dict[str, Any], want: tuple[Price, ...]) -> None:
    """And policy sees it as it is written."""
    tool = tool_of(ToolRow.model_validate(TOOL | {"cost": cost}), longest_ms=5)
    assert tool.prices == want
    assert tool.cost == orjson.loads(tool.policy_json)["cost"] == cost


def test_rows_are_frozen() -> None:
    """Nobody changes one after it was checked."""
    tool = tool_of(ToolRow.model_validate(TOOL), longest_ms=5)
    with pytest.raises(AttributeError):
        tool.name = "other"  # type: ignore[misc]
