"""What an operation brings back: how the answer is read, and what is said of it to a model.

The schema is lenient on purpose. An answer that breaks its schema is refused, after a write has happened, and what
vendors say of their answers is often a little wrong: a null where a text was promised, a key left out, a value that is
younger than the list of values. So it names what the first levels hold and of what type, takes null everywhere,
requires nothing and closes nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.importing.kinds import with_null
from gateway.importing.merging import merged
from gateway.importing.reasons import Inexpressible, Skipped
from gateway.importing.references import References, listed, mapping
from gateway.importing.scalars import types_of
from gateway.importing.texts import plain_text

Json = dict[str, Any]

LEVELS = 2
MAX_PROPERTIES = 40
_WORDS = 120
_CODES = 20


def answer_of(responses: Any, method: str, references: References) -> tuple[Json, Json | None]:
    """The `answer` of the binding's options (empty: JSON, as usual) and the output schema. Raises `Skipped`."""
    good = list(_good(mapping(responses), references))
    kinds = [kind for kind, _ in good]
    if method == "HEAD":
        return {}, None
    if "json" in kinds:
        schemas = [schema for kind, schema in good if kind == "json"]
        is_sure = len(schemas) == 1
        return {}, _shown(schemas[0], references, takes_null="none" in kinds) if is_sure else None
    if "text" in kinds:
        return {"type": "text"}, {"type": "object", "properties": {"text": {"type": "string"}}}
    if "other" in kinds:
        raise Skipped("its answer is neither JSON nor text")
    if not good and any(str(code).startswith("3") for code in mapping(responses)):
        raise Skipped("its answer is a redirect")
    return {"type": "none"}, None


def _good(responses: Mapping[str, Any], references: References) -> Iterator[tuple[str, Any]]:
    """What each answer of success is, and its schema; the usual answer counts when no success is told apart."""
    codes = sorted(code for code in responses if str(code)[:1] == "2")[:_CODES]
    for code in codes or [code for code in ("default",) if code in responses]:
        try:
            content = mapping(references.follow(responses[code]).get("content"))
        except (Inexpressible, Skipped):
            content = {"application/json": {}}  # nothing is known of it, so nothing is said
        yield _kind_of(content)


def _kind_of(content: Mapping[str, Any]) -> tuple[str, Any]:
    if not content:
        return "none", None
    for kind, media in content.items():
        if is_json(kind) or kind.strip() == "*/*":
            return "json", mapping(media).get("schema")
    if any(kind.startswith("text/") and "event-stream" not in kind for kind in content):
        return "text", None
    return "other", None


def is_json(kind: str) -> bool:
    """Whether a media type is JSON."""
    plain = kind.partition(";")[0].strip().lower()
    return plain in ("application/json", "text/json") or (plain.startswith("application/") and plain.endswith("+json"))


def _shown(schema: Any, references: References, *, takes_null: bool) -> Json | None:
    found = _lenient(schema, references, LEVELS)
    if "type" not in found:
        return None  # it says nothing
    return with_null(found) if takes_null else found


def _lenient(schema: Any, references: References, levels: int) -> Json:
    """The schema as far as it is believed. What cannot be followed says nothing."""
    try:
        node = merged(references, references.follow(schema))
    except (Inexpressible, Skipped):
        return {}
    if listed(node.get("oneOf")) or listed(node.get("anyOf")):
        return {}
    kinds, takes_null = types_of(node)
    if len(kinds) != 1:
        return {}
    found: Json = {"type": kinds[0]}
    if kinds == ["object"] and levels:
        found |= _properties(node, references, levels)
    elif kinds == ["array"] and levels and "items" in node:
        found["items"] = _any_null(_lenient(node["items"], references, levels - 1))
    return with_null(found) if takes_null else found


def _properties(node: Mapping[str, Any], references: References, levels: int) -> Json:
    found: Json = {}
    for name, part in list(mapping(node.get("properties")).items())[:MAX_PROPERTIES]:
        if not name.isprintable() or len(name) > 128:
            continue
        words = plain_text(mapping(part).get("description"), most=_WORDS) if levels == LEVELS else ""
        inner = _any_null(_lenient(part, references, levels - 1))
        found[name] = {**inner, "description": words} if words else inner
    return {"properties": found} if found else {}


def _any_null(found: Json) -> Json:
    """Of what lies inside."""
    return with_null(found) if "type" in found else found
