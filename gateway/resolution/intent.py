"""What the row of an unknown effect tells of it: what its line would have."""

from dataclasses import dataclass, field, fields
from typing import Any

import orjson


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was about to be done. A field that the row does not hold is empty."""

    agent: str = ""
    run_id: str = ""
    tool: str = ""
    tool_version: str = ""
    side_effect: str = ""
    connection: str = ""
    upstream: str = ""
    arguments: str = field(default="", repr=False)
    """As a line shows them: without what is private."""
    approval_id: str = ""
    key_digest: str = ""
    account: str = ""
    """Whom it was asked of (see `account_of`)."""


def read_intent(raw: bytes) -> Told:
    """What it tells. Whatever it is: an effect that cannot be read must still be listed, and settled by a person."""
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return Told()
    known = {one.name: _text(record, one.name) for one in fields(Told)} if isinstance(record, dict) else {}
    return Told(**known)


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""
