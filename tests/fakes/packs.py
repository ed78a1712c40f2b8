"""Packs of policy and input documents for tests."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from gateway.policy.pack import Module, Pack

SCHEMAS = Path(__file__).parent.parent.parent / "policies"
BASE = SCHEMAS / "base"

_DOCUMENT: dict[str, Any] = {
    "principal": {
        "tenant": "acme",
        "id": "helper-1",
        "kind": "agent",
        "agent": "helper",
        "scopes": ["test:read"],
        "roles": [],
        "claims": {},
        "proof": "socket",
    },
    "agent": {
        "name": "helper",
        "scopes": ["test:read"],
        "roles": [],
        "groups": [],
        "grants": {},
        "budgets": [],
        "caps": [],
        "collaborators": [],
    },
    "run": {"id": "", "step": ""},
    "tool": {
        "name": "echo",
        "version": "1",
        "side_effect": "read",
        "risk": "low",
        "kind": "internal",
        "groups": [],
        "requires": ["test:read"],
        "trust": "trusted",
        "sensitivity": "internal",
        "cost": {},
        "vendor": "fake",
        "operation": "echo",
        "preview": False,
    },
    "connection": {"name": "fake", "vendor": "fake", "scopes": [], "hosts": []},
    "arguments": {},
    "provenance": {},
    "approval": None,
    "call": {
        "id": "c1",
        "surface": "grpc",
        "mode": "",
        "time": "2026-01-05T12:00:00.000Z",
        "cost": {},
        "key_given": False,
        "replay": False,
    },
}


def document(**changes: Any) -> dict[str, Any]:
    """A harmless read as policy sees it; the named parts are changed, `arguments` replaced."""
    made = deepcopy(_DOCUMENT)
    for part, change in changes.items():
        if part in {"arguments", "approval", "connection"}:
            made[part] = change
        else:
            made[part] |= change
    return made


def document_json(**changes: Any) -> bytes:
    """The same as JSON."""
    return json.dumps(document(**changes)).encode()


def pack(text: str, data: dict[str, Any] | None = None, tests: str = "") -> Pack:
    """A pack of one module, `policy.rego`, in the package that decides."""
    head = "package gateway.authz\n\n"
    modules = (Module(name="policy.rego", text=head + text),)
    test_modules = (Module(name="policy_test.rego", text=tests),) if tests else ()
    return Pack(modules=modules, tests=test_modules, data=data or {}, revision="sha256:" + "1" * 64)


def write_pack(folder: Path, text: str, data: str = "{}") -> Path:
    """The same on disk."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.rego").write_text("package gateway.authz\n\n" + text)
    (folder / "data.json").write_text(data)
    return folder


ALLOW_ALL = 'decision := {"effect": "allow", "reasons": [], "obligations": []}'
DENY_ALL = 'decision := {"effect": "deny", "reasons": [{"code": "closed"}], "obligations": []}'
ENDLESS = "r := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n\n" + ALLOW_ALL + " if count({1 | " + "r[_]; " * 12 + "true}) > 0"
"""It would decide after days, and already when it is tried out at load."""

_ADMIN: dict[str, Any] = {
    "principal": {
        "tenant": "acme",
        "id": "ann",
        "kind": "human",
        "agent": "",
        "scopes": ["registry:write"],
        "roles": [],
        "claims": {},
        "proof": "jwt",
    },
    "admin": {"action": "registry.put", "kind": "tool", "name": "echo", "before": None, "after": {"name": "echo"}},
    "call": {"id": "d1", "time": "2026-01-05T12:00:00.000Z"},
}


def admin_document(**changes: Any) -> dict[str, Any]:
    """An operator who puts a tool, as policy sees it; the named parts are changed."""
    made = deepcopy(_ADMIN)
    for part, change in changes.items():
        made[part] |= change
    return made


def admin_json(**changes: Any) -> bytes:
    """The same as JSON."""
    return json.dumps(admin_document(**changes)).encode()
