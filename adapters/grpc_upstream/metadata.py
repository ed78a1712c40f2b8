"""What travels beside a request: the credential, the key of the effect, and who calls."""

import re
from typing import Any

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, Secret
from adapters.transport.authorisation import header_text, needs_authorisation

ASSERTION = "tollhouse-assertion"
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}", re.ASCII)
_TAKEN = frozenset(
    {"te", "content-type", "user-agent", "host", "connection", "proxy-connection", "keep-alive", "transfer-encoding"}
    | {"upgrade", "content-length", ASSERTION}
)

Metadata = tuple[tuple[str, str], ...]


def is_free_name(name: Any) -> bool:
    """Whether metadata may have this name: legal, of text, and neither gRPC's, HTTP's nor the assertion's."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _TAKEN:
        return False
    return not name.startswith("grpc-") and not name.endswith("-bin")


def proof(auth: tuple[str, str] | None, credential: Secret | None) -> Metadata:
    """The credential, shown as the connection says. Raises `AdapterError` (needs_authorisation)."""
    if auth is None and credential is None:
        return ()
    if auth is None:
        raise needs_authorisation("The connection does not say how its credential is shown; its operator has to.")
    name, before = auth
    return ((name, before + header_text(credential)),)


async def assertion(invocation: Invocation) -> Metadata:
    """Who calls, signed, when the target is told. Raises `AdapterError`."""
    if not invocation.target.audience:
        return ()
    return ((ASSERTION, header_text(await invocation.assertion())),)


def effect_key(name: str, effect_id: str) -> Metadata:
    """The key by which the service tells repetitions of one effect. Raises `AdapterError` for what cannot be sent."""
    if not name:
        return ()
    if not effect_id.isascii() or not effect_id.isprintable() or effect_id != effect_id.strip():
        message = "The effect's key cannot be sent; nothing was done."
        raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO)
    return ((name, effect_id),)
