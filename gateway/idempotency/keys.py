"""Keys: what a caller gives, and what is remembered of it. No raw key is ever stored."""

import hashlib
from collections.abc import Iterable

from gateway.call import Arguments, Principal, Request
from gateway.errors import Reason, Refusal
from gateway.rows import KeyRule, Tool

MAX_KEY_BYTES = 128


def check_key(key: str) -> str:
    """The key as it was given. Raises `Refusal(key_invalid)` when it is empty, too long or not printable ASCII."""
    if 0 < len(key) <= MAX_KEY_BYTES and key.isascii() and key.isprintable():
        return key
    raise Refusal(
        Reason.KEY_INVALID,
        f"The idempotency key must be 1 to {MAX_KEY_BYTES} printable ASCII characters; send a shorter or plainer one.",
    )


def key_of_call(principal: Principal, tool: Tool, request: Request, arguments: Arguments, *, call_id: str) -> str:
    """The scoped key of a write or send. Raises `Refusal`: `key_required`, `key_invalid`.

    1. The caller gave one.
    2. The tool demands one.
    3. The tool may derive one, and the caller names its run: a retry of the same step is the same effect.
    4. Otherwise the call is an effect of its own, and its id is a key that nobody can repeat.
    """
    if request.idempotency_key:
        key = check_key(request.idempotency_key)
        return scoped_key(principal.tenant, principal.agent, tool.name, key)
    if tool.key_rule is KeyRule.REQUIRED:
        raise Refusal(
            Reason.KEY_REQUIRED, f"{tool.name} asks for an idempotency key. Send one, new for each new action."
        )
    if tool.key_rule is KeyRule.OPTIONAL and request.run_id:
        key = derived_key(request.run_id, request.step_id, tool.name, arguments.digest)
        return _digest(("ours", principal.tenant, principal.agent, tool.name, key))
    return _own_key(call_id)


def is_own_key(key: str, call_id: str) -> bool:
    """Whether the call made this key for itself alone. Every other key is 64 hex digits and never looks like it."""
    return key == _own_key(call_id)


def _own_key(call_id: str) -> str:
    return f"call:{call_id}"


def scoped_key(tenant: str, agent: str, tool: str, key: str) -> str:
    """The caller's key bound to who uses it for what: 64 hex digits. Different parts never give the same one."""
    return _digest(("given", tenant, agent, tool, key))


def derived_key(run_id: str, step_id: str, tool: str, canonical_digest: str) -> str:
    """The key of a call that brought none: the same step of the same run asking the same again is a retry.

    It is still to be bound to a tenant and an agent.
    """
    return _digest(("derived", run_id, step_id, tool, canonical_digest))


def _digest(parts: Iterable[str]) -> str:
    """Each part with its length before it, so that no two lists of parts read the same."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(raw))
        digest.update(raw)
    return digest.hexdigest()
