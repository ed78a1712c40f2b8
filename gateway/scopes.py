"""Step 4: the caller holds every scope, claim, role and mode that the tool requires, or is refused.

What a caller holds is what its proof says and its agent's row allows, both: the proof cannot widen the
row, nor the row the proof. No row's scope, no proof's scope: nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gateway.call import Principal
from gateway.errors import Reason, Refusal
from gateway.rows import Agent, Tool


def check_scopes(principal: Principal, agent: Agent, tool: Tool, mode: str) -> None:
    """Nothing when the caller may go on. Raises `Refusal` that names what is missing."""
    if not (tool.requires <= principal.scopes and tool.requires <= agent.scopes):
        missing = tool.requires - (principal.scopes & agent.scopes)
        raise Refusal(Reason.SCOPE_MISSING, f"You lack {_named('scope', missing)}. Ask whoever runs you for it.")
    if tool.required_claims:
        _check_claims(principal.claims, tool.required_claims)
    if tool.allowed_roles and tool.allowed_roles.isdisjoint(principal.roles & agent.roles):
        roles = _named("role", tool.allowed_roles, several="one of the roles")
        raise Refusal(Reason.ROLE_MISSING, f"You need {roles}. Ask whoever runs you for it.")
    if tool.modes and mode not in tool.modes:
        modes = _named("mode", tool.modes, several="one of the modes")
        raise Refusal(Reason.MODE_NOT_ALLOWED, f"This tool can be called only in {modes}. Change the run's mode.")


def _check_claims(held: Mapping[str, Any], required: Mapping[str, Any]) -> None:
    missing = [name for name, value in required.items() if name not in held or not is_same_json(held[name], value)]
    if missing:
        claims = _named("claim", missing)
        raise Refusal(Reason.CLAIM_MISSING, f"Your identity lacks {claims} with the value that this tool requires.")


def is_same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; true is not 1, and 1.0 is 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(is_same_json(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same_json, one, other))
    return bool(one == other)


def _named(noun: str, names: Iterable[str], *, several: str = "") -> str:
    listed = sorted(names)
    shown = ", ".join(f"`{name}`" for name in listed)
    if len(listed) == 1:
        return f"the {noun} {shown}"
    return f"{several or f'the {noun}s'} {shown}"
