"""Principals for tests."""

from typing import Any

from gateway.call import CallerKind, Principal
from gateway.identity.principal import build_principal


def principal(**changes: Any) -> Principal:
    """An agent of acme with the usual scopes, changed as asked."""
    usual: dict[str, Any] = {
        "tenant": "acme",
        "id": "helper-1",
        "kind": CallerKind.AGENT,
        "agent": "helper",
        "scopes": frozenset({"web:read", "mail:send", "test:read", "test:write"}),
        "roles": frozenset({"assistant"}),
        "claims": {},
        "proof": "socket",
    }
    return build_principal(**{**usual, **changes})
