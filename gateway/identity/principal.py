"""Building principals, the one place where policy's view of a caller is serialised."""

from collections.abc import Mapping
from typing import Any

import orjson

from gateway.call import CallerKind, Principal


def build_principal(  # noqa: PLR0913 - these are the fields of a principal, each named at the call
    *,
    tenant: str,
    id: str,  # noqa: A002 - it is the field's name
    kind: CallerKind,
    agent: str,
    scopes: frozenset[str],
    roles: frozenset[str],
    claims: Mapping[str, Any],
    proof: str,
) -> Principal:
    """The principal, with its fragment of the policy input made once and not for every call."""
    fragment = {
        "tenant": tenant,
        "id": id,
        "kind": kind.value,
        "agent": agent,
        "scopes": sorted(scopes),
        "roles": sorted(roles),
        "claims": claims,
        "proof": proof,
    }
    return Principal(
        tenant=tenant,
        id=id,
        kind=kind,
        agent=agent,
        scopes=scopes,
        roles=roles,
        claims=claims,
        proof=proof,
        policy_json=orjson.dumps(fragment),
    )
