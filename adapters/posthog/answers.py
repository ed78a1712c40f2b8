"""PostHog's objects as an agent is told of them. Whatever is not as it should be is null or left out."""

import math
from collections.abc import Mapping
from typing import Any

import orjson

from adapters.transport.values import listed

Json = dict[str, Any]

MOST_PROPERTIES = 50
MOST_CHARACTERS = 500
"""Of one property's value."""
_MOST_IDS = 10


def event(row: Any) -> Json | None:
    """An event of a row with the columns that are selected; None when it is no such row."""
    if not isinstance(row, list) or len(row) < 5 or text(row[0]) is None:
        return None
    told, more = properties(row[4])
    return {
        "id": row[0],
        "event": text(row[1]),
        "distinct_id": text(row[2]),
        "timestamp": text(row[3]),
        "properties": told,
        "more_properties": more,
    }


def person(node: Any) -> Json | None:
    """A person; None when it has no id."""
    if not isinstance(node, Mapping):
        return None
    found = text(node.get("uuid")) or text(node.get("id"))
    if found is None:
        return None
    told, more = properties(node.get("properties"))
    ids = node.get("distinct_ids")
    return {
        "id": found,
        "name": text(node.get("name")),
        "distinct_ids": [one for one in ids if text(one) is not None][:_MOST_IDS] if isinstance(ids, list) else [],
        "created_at": text(node.get("created_at")),
        "properties": told,
        "more_properties": more,
    }


def flag(node: Any) -> Json | None:
    """A feature flag, without whom it is for; None when it has no id."""
    found = whole(node.get("id")) if isinstance(node, Mapping) else None
    if found is None:
        return None
    filters = node.get("filters")
    several = filters.get("multivariate") if isinstance(filters, Mapping) else None
    variants = several.get("variants") if isinstance(several, Mapping) else None
    return {
        "id": found,
        "key": text(node.get("key")),
        "name": text(node.get("name")),
        "is_active": node.get("active") is True,
        "variants": [one for each in listed(variants) if (one := _variant(each)) is not None],
        "created_at": text(node.get("created_at")),
    }


def conditions(node: Mapping[str, Any]) -> list[Json]:
    """Whom a feature flag is for: one of these has to fit."""
    filters = node.get("filters")
    groups = filters.get("groups") if isinstance(filters, Mapping) else None
    return [
        {
            "rollout_percentage": number(group.get("rollout_percentage")),
            "variant": text(group.get("variant")),
            "properties": [one for each in listed(group.get("properties")) if (one := _property(each)) is not None],
        }
        for group in listed(groups)
        if isinstance(group, Mapping)
    ]


def properties(value: Any) -> tuple[list[Json], int]:
    """Properties by name, those that PostHog did not add itself first, and how many more there are."""
    if isinstance(value, str):
        value = _parsed(value)
    if not isinstance(value, Mapping):
        return [], 0
    names = sorted(value, key=lambda name: (name.startswith("$"), name))
    told = [{"name": name, "value": shown(value[name])} for name in names[:MOST_PROPERTIES]]
    return told, max(0, len(names) - MOST_PROPERTIES)


def shown(value: Any) -> str | None:
    """Any value as a text of at most 500 characters."""
    if value is None:
        return None
    written = value if isinstance(value, str) else _written(value)
    return written if len(written) <= MOST_CHARACTERS else written[: MOST_CHARACTERS - 1] + "…"


def text(value: Any) -> str | None:
    """A text, if it is one."""
    return value if isinstance(value, str) else None


def number(value: Any) -> float | int | None:
    """A finite number, if it is one that JSON holds exactly."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number and abs(value) <= 2**53 else None


def whole(value: Any) -> int | None:
    """A whole number, if it is one."""
    found = number(value)
    return int(found) if found is not None and found == int(found) else None


def _variant(node: Any) -> Json | None:
    if not isinstance(node, Mapping) or text(node.get("key")) is None:
        return None
    return {
        "key": node["key"],
        "name": text(node.get("name")),
        "rollout_percentage": number(node.get("rollout_percentage")),
    }


def _property(node: Any) -> Json | None:
    if not isinstance(node, Mapping) or text(node.get("key")) is None:
        return None
    return {
        "property": node["key"],
        "of": text(node.get("type")),
        "operator": text(node.get("operator")),
        "value": shown(node.get("value")),
    }


def _written(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # it reads deeper than it writes
        return "(nested too deeply to be shown)"


def _parsed(written: str) -> Any:
    try:
        return orjson.loads(written)
    except ValueError:
        return None
