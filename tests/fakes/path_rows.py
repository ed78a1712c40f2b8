"""The rows of the whole path's tests, over the fake adapter."""

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from fakes.adapter import FakeAdapter
from gateway.arguments.schema import compile_schema
from gateway.registry.catalogue import Catalogue
from gateway.registry.loader import load_registry
from gateway.settings.assertions import AssertionSettings, AudienceGrant
from gateway.settings.limits import LimitSettings, RateSettings
from gateway.settings.load import Settings
from gateway.settings.parts import CredentialGrant

GRANT = CredentialGrant(tenant="acme", references=("env:FAKE_TOKEN",), hosts=("api.fake.example",))
TOKEN = "tok-5d1c6a6e9b"
WIDE = LimitSettings(tenant=RateSettings(per_minute=60_000, burst=10_000))
"""A rate that nobody reaches, so that the limiter is always asked."""
ASSERTIONS = AssertionSettings(
    issuer="https://tollhouse.example",
    key_file=Path("key.pem"),
    audiences=(AudienceGrant(name="crm", hosts=("crm.example",)),),
)
"""Which audience a connection may name. The key is read by whoever signs, and not here."""


def _tool(name: str, operation: str = "echo", **changes: Any) -> dict[str, Any]:
    """A tool's row over one operation of the fake adapter."""
    properties: dict[str, Any] = {
        "echo": {
            "text": {"type": "string"},
            "times": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "write": {"path": {"type": "string"}, "body": {"type": "string"}},
        "send": {"to": {"type": "array", "items": {"type": "string"}}, "body": {"type": "string"}},
    }
    required = {"echo": ["text"], "write": ["path"], "send": ["to", "body"]}
    effects = {"echo": "read", "write": "write", "send": "send"}
    row: dict[str, Any] = {
        "name": name,
        "description": f"Does {operation}, as the test wants it.",
        "input_schema": {
            "type": "object",
            "additionalProperties": False,
            "required": required[operation],
            "properties": properties[operation],
        },
        "requires": ["test:read"] if operation == "echo" else ["test:write"],
        "side_effect": effects[operation],
        "binding": {"adapter": "fake", "operation": operation, "connection": "plain"},
        "surfaces": ["grpc"],
    }
    if operation != "echo":
        row["idempotency"] = "optional"
    return {**row, **changes}


def _over(operation: str, connection: str) -> dict[str, str]:
    return {"adapter": "fake", "operation": operation, "connection": connection}


ONE_A_MINUTE = {"per_minute": 1, "burst": 1}
"""A rate that lets one call through and then none."""

TOOLS: tuple[dict[str, Any], ...] = (
    _tool("echo"),
    _tool("note", "write", private_arguments=["/body"]),
    _tool("mail", "send", idempotency="required"),
    _tool("tick", "write", idempotency="natural"),
    _tool("echo_admin", requires=["test:admin"]),
    _tool("echo_claim", required_claims={"clearance": "high"}),
    _tool("echo_role", allowed_roles=["auditor"]),
    _tool("echo_mode", modes=["work"]),
    _tool("echo_rate", limits={"rate": ONE_A_MINUTE}),
    _tool("echo_busy", binding=_over("echo", "busy")),
    _tool("echo_sealed", binding=_over("echo", "sealed")),
    _tool("note_sealed", "write", binding=_over("write", "sealed")),
    _tool(
        "echo_typed",
        output_schema={
            "type": "object",
            "additionalProperties": False,
            "required": ["count"],
            "properties": {"count": {"type": "integer"}},
        },
    ),
    _tool(
        "note_typed",
        "write",
        output_schema={"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}},
    ),
    _tool("echo_hidden"),
)
HIDDEN = "echo_hidden"
"""It exists, and no agent sees it."""

CONNECTIONS: tuple[dict[str, Any], ...] = (
    {"name": "plain", "tenant": "acme", "vendor": "fake"},
    {"name": "busy", "tenant": "acme", "vendor": "fake", "rate": ONE_A_MINUTE},
    {
        "name": "sealed",
        "tenant": "acme",
        "vendor": "fake",
        "hosts": ["api.fake.example"],
        "credential": "env:FAKE_TOKEN",
    },
)


def registry_rows() -> dict[str, Any]:
    """The rows of these tests as a manifest holds them."""
    agent = {
        "name": "helper",
        "tenant": "acme",
        "tools": [tool["name"] for tool in TOOLS if tool["name"] != HIDDEN],
        "scopes": ["test:read", "test:write"],
        "roles": ["assistant"],
    }
    return copy.deepcopy({"tools": list(TOOLS), "connections": list(CONNECTIONS), "agents": [agent]})


@dataclass
class RowChanges:
    """What is otherwise in the rows of one test: of the agent, and of tools and connections by name."""

    agent: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    connections: dict[str, dict[str, Any]] = field(default_factory=dict)

    def apply(self, rows: dict[str, Any]) -> dict[str, Any]:
        """The rows with these changes."""
        rows["agents"][0].update(self.agent)
        for of_kind, changes in (("tools", self.tools), ("connections", self.connections)):
            by_name = {row["name"]: row for row in rows[of_kind]}
            for name, changed in changes.items():
                by_name[name].update(changed)
        return rows


def catalogue_of(adapter: FakeAdapter, changes: RowChanges) -> Catalogue:
    """The registry that these rows load to."""
    text = orjson.dumps(changes.apply(registry_rows())).decode()
    settings = Settings(credentials=(GRANT,), assertions=ASSERTIONS)
    loaded = load_registry(
        (), adapters={"fake": adapter}, settings=settings, compile_schema=compile_schema, builtin={"rows.yaml": text}
    )
    assert loaded.catalogue is not None, loaded.problems
    return loaded.catalogue
