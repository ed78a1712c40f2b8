"""Rows for tests."""

from typing import Any

import orjson

from adapters.base import SideEffect, Target
from gateway.rows import Agent, Binding, Connection, Disposition, KeyRule, Kind, Risk, Sensitivity, Tool, Trust


def tool(**changes: Any) -> Tool:
    """A read tool over the fake adapter, changed as asked."""
    usual: dict[str, Any] = {
        "name": "echo",
        "version": "1",
        "title": "Echo",
        "description": "Gives back what it gets.",
        "input_schema": {"type": "object", "additionalProperties": False, "properties": {"text": {"type": "string"}}},
        "output_schema": None,
        "requires": frozenset({"test:read"}),
        "required_claims": {},
        "allowed_roles": frozenset(),
        "modes": frozenset(),
        "side_effect": SideEffect.READ,
        "risk": Risk.LOW,
        "kind": Kind.INTERNAL,
        "binding": Binding(adapter="fake", operation="echo", connection="fake"),
        "groups": frozenset(),
        "disposition": Disposition.OPTIONAL,
        "surfaces": frozenset({"grpc"}),
        "key_rule": KeyRule.OPTIONAL,
        "trust": Trust.TRUSTED,
        "sensitivity": Sensitivity.INTERNAL,
        "field_trust": {},
        "field_sensitivity": {},
        "cost": {},
        "timeout_ms": 5000,
        "rate": None,
        "redactions": (),
        "max_leaves": 1000,
        "max_result_bytes": 262144,
        "preview": False,
    }
    fields = {**usual, **changes}
    fields.setdefault("policy_json", orjson.dumps({"name": fields["name"], "side_effect": fields["side_effect"]}))
    return Tool(**fields)


def connection(**changes: Any) -> Connection:
    """A connection of acme to the fake vendor, changed as asked."""
    usual: dict[str, Any] = {"name": "fake", "tenant": "acme", "vendor": "fake", "target": Target(name="fake")}
    fields = {**usual, **changes}
    fields.setdefault("policy_json", orjson.dumps({"name": fields["name"], "vendor": fields["vendor"]}))
    return Connection(**fields)


def agent(**changes: Any) -> Agent:
    """An agent of acme, changed as asked."""
    usual: dict[str, Any] = {
        "name": "helper",
        "tenant": "acme",
        "tools": frozenset({"echo"}),
        "groups": frozenset(),
        "scopes": frozenset({"test:read", "test:write"}),
        "roles": frozenset({"assistant"}),
        "rate": None,
        "budgets": (),
        "caps": (),
        "collaborators": frozenset(),
        "grants": {},
    }
    fields = {**usual, **changes}
    fields.setdefault("policy_json", orjson.dumps({"name": fields["name"]}))
    return Agent(**fields)
