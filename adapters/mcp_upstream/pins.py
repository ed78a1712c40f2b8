"""The digest by which a row knows the tool that somebody has accepted."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

PINNED = ("name", "title", "description", "inputSchema", "outputSchema")
"""What a model goes by. Not pinned: annotations are hints, `_meta` is for programs, and icons are for people."""
PIN = re.compile(r"sha256:[0-9a-f]{64}")


def pin_of(tool: Mapping[str, Any]) -> str:
    """`sha256:` and hex over what a server publishes of a tool; empty when that is not JSON.

    The bytes are those of a JSON object with what is there of `PINNED`: keys sorted at every level, no white space,
    UTF-8 without escapes. What the server leaves out is left out, and null is null.
    """
    try:
        written = orjson.dumps({key: tool[key] for key in PINNED if key in tool}, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # half a character, or more levels than can be followed
        return ""
    return f"sha256:{hashlib.sha256(written).hexdigest()}"


def pins_by_name(tools: Iterable[Mapping[str, Any]]) -> Mapping[str, tuple[str, ...]]:
    """The pins of all tools by their names, byte for byte. Two pins: two tools say that they have this name."""
    pins: dict[str, tuple[str, ...]] = {}
    for tool in tools:
        name = tool.get("name")
        if isinstance(name, str):
            pins[name] = (*pins.get(name, ()), pin_of(tool))
    return pins
