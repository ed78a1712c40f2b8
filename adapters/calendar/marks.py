"""What an effect leaves at Google, so that it can be found again: an event's own id, and a private property."""

import base64
import hashlib
from typing import Any

_KEY = "tollhouseEffect"


def event_id(effect_id: str) -> str:
    """The id of the event that this effect makes: in the letters that Google takes (base32hex, RFC 4648 section 7)."""
    digest = hashlib.sha256(f"event {effect_id}".encode()).digest()[:20]
    return "th" + base64.b32hexencode(digest).decode().lower()


def mark(effect_id: str) -> dict[str, Any]:
    """What goes into an event beside its content. Nobody but the connection's own project reads it."""
    return {"extendedProperties": {"private": {_KEY: _token(effect_id)}}}


def is_marked(event: Any, effect_id: str) -> bool:
    """Whether this effect was the last of ours that wrote the event."""
    properties = event.get("extendedProperties") if isinstance(event, dict) else None
    private = properties.get("private") if isinstance(properties, dict) else None
    return isinstance(private, dict) and private.get(_KEY) == _token(effect_id)


def _token(effect_id: str) -> str:
    return hashlib.sha256(f"mark {effect_id}".encode()).hexdigest()[:32]
