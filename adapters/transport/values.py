"""Reading a vendor's JSON: whatever comes in the place of what should be there is as good as nothing."""

from collections.abc import Mapping
from typing import Any


def mapping(value: object) -> Mapping[str, Any]:
    """An object; an empty one when it is none."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """A list; an empty one when it is none."""
    return value if isinstance(value, list) else []


def mappings(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list, without whatever else is in it."""
    return [one for one in listed(value) if isinstance(one, dict)]


def part(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object in an object; an empty one when there is none."""
    return mapping(raw.get(name))


def word(raw: Mapping[str, Any], name: str) -> str:
    """A text in an object; an empty one when there is none."""
    value = raw.get(name)
    return value if isinstance(value, str) else ""
