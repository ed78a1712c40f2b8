"""What our messages carry so that they can be found again: nothing that anybody sees, and nothing that tells of us.

What is posted to Slack as metadata can be read by every app of the workspace, hence a digest and not the effect's id.
"""

import hashlib
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson

_EVENT = "tollhouse_effect"


def mark_of(effect_id: str) -> str:
    """The mark of one effect: 32 hexadecimal digits."""
    return hashlib.sha256(f"slack {effect_id}".encode()).hexdigest()[:32]


def message_marks(effect_id: str) -> dict[str, str]:
    """What a message is posted with: metadata, and a `client_msg_id`, by which Slack may tell a repetition itself."""
    mark = mark_of(effect_id)
    metadata = orjson.dumps({"event_type": _EVENT, "event_payload": {"effect": mark}}).decode()
    return {"metadata": metadata, "client_msg_id": _uuid(mark)}


def block_id(effect_id: str) -> str:
    """The id of the block that introduces a file: a message with a file takes no metadata."""
    return f"{_EVENT}_{mark_of(effect_id)}"


def is_marked(message: Mapping[str, Any], effect_id: str) -> bool:
    """Whether this message was posted for this effect."""
    mark = mark_of(effect_id)
    metadata = message.get("metadata")
    payload = metadata.get("event_payload") if isinstance(metadata, dict) else None
    blocks = message.get("blocks")
    ids = [block.get("block_id") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    return (
        (isinstance(payload, dict) and payload.get("effect") == mark)
        or message.get("client_msg_id") == _uuid(mark)
        or block_id(effect_id) in ids
    )


def _uuid(mark: str) -> str:
    """The mark as a UUID of the kind that is made of a name (RFC 9562 5.5)."""
    return str(UUID(mark, version=5))
