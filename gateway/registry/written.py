"""Rows as they stand in the store: one JSON document each, read as strictly as a manifest."""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import orjson

from gateway.documents import MAX_SAFE_INTEGER, Document
from gateway.store.rows import RowKind

LISTS: Mapping[RowKind, str] = {RowKind.TOOL: "tools", RowKind.CONNECTION: "connections", RowKind.AGENT: "agents"}
"""The list of a manifest in which rows of a kind stand."""
MAX_DEPTH = 64


class NotADocument(Exception):  # noqa: N818 - it is always told as a problem
    """What should be a row is no JSON object that everybody reads alike. The text is a rule and a sentence."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule
        self.message = message


def document_of(raw: bytes, kind: RowKind, name: str, tenant: str) -> bytes:
    """The row as it is stored: sorted keys, no white space, and the tenant in it where a row of its kind names one.

    Raises `NotADocument`, also when the row names itself or its tenant otherwise.
    """
    value = _parsed(raw)
    if not isinstance(value, dict):
        raise NotADocument("object", "a row is a JSON object, as in a manifest")
    _check(value, 0)
    if value.get("name") != name:
        raise NotADocument("name", f"the document's name must be {name}")
    if kind is not RowKind.TOOL and value.setdefault("tenant", tenant) != tenant:
        raise NotADocument("tenant", f"the row would be another tenant's; yours is {tenant}")
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def placed_at(kind: RowKind, name: str, document: bytes) -> Document:
    """A stored row as a document of its own, whose problems name it `kind/name`."""
    return Document(file=f"{kind}/{name}", value=orjson.loads(document), lines={})


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError as error:
        raise NotADocument("depth", "is nested too deeply") from error
    except ValueError as error:
        raise NotADocument("json", "is not JSON") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise NotADocument("duplicate_key", f"the key {key[:64]!r} stands twice")
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise NotADocument("json", f"{name} is not JSON")


def _check(value: Any, depth: int) -> None:
    """Raises `NotADocument` for what JSON's readers disagree about."""
    if depth > MAX_DEPTH:
        raise NotADocument("depth", f"is nested more than {MAX_DEPTH} levels")
    if isinstance(value, dict | list):
        for item in (*value.keys(), *value.values()) if isinstance(value, dict) else value:
            _check(item, depth + 1)
    else:
        _check_scalar(value)


def _check_scalar(value: Any) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise NotADocument("finite", "a number must be finite")
    elif isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        raise NotADocument("integer_range", f"an integer must be within ±{MAX_SAFE_INTEGER}; make it a string")


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        # Not chained: the error holds the text.
        raise NotADocument("unicode", "a string holds half of a surrogate pair") from None
