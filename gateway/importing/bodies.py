"""The body of one operation: flat beside the parameters where it can be, else one argument."""

from collections.abc import Mapping
from typing import Any

from gateway.importing.answers import is_json
from gateway.importing.closing import Closing
from gateway.importing.kinds import text_kinds, without_null
from gateway.importing.names import argument_name
from gateway.importing.operations import Described
from gateway.importing.reasons import Inexpressible, Skipped
from gateway.importing.references import References, mapping
from gateway.importing.taken import Taken

Json = dict[str, Any]

MAX_FLAT = 60
"""Properties of a body that stand beside the parameters; a larger one is one argument."""
_SCALARS = frozenset({"string", "integer", "number", "boolean"})
_FORM = "application/x-www-form-urlencoded"


class Body:
    """What a request carries."""

    def __init__(self, operation: Described, raw: Mapping[str, Any], closing: Closing, references: References) -> None:
        self._operation = operation
        self._raw = raw
        self._closing = closing
        self._references = references
        self._is_required = raw.get("required") is True

    def put_into(self, taken: Taken) -> None:
        """Make arguments of it; an optional one that cannot be said is left out."""
        try:
            self._put(taken)
        except Inexpressible as why:
            if self._is_required:
                raise Skipped(f"its body {why.reason}") from why
            self._closing.note("the body", why.reason)

    def _put(self, taken: Taken) -> None:
        kind, media = self._media()
        schema = mapping(media).get("schema", {})
        if not self._is_required and not self._references.follow(schema).get("properties", True):
            return  # nothing can be in it
        if self._operation.method in ("GET", "HEAD"):
            raise Inexpressible(f"belongs to a {self._operation.method}, which has none")
        closed = self._closing.close(schema, "")
        if kind == _FORM:
            self._form(taken, closed, mapping(mapping(media).get("encoding")))
            return
        if kind.partition(";")[0].strip().lower() != "application/json":
            taken.options.setdefault("headers", {})["Content-Type"] = {"value": kind}
        flat = self._flat(closed, taken)
        if flat is None:
            name = next((one for one in ("body", "request_body") if one not in taken.properties), None)
            if name is None:
                raise Inexpressible("has no name that is free")
            taken.add(name, closed, is_required=self._is_required)
            taken.options["body"] = {"type": "json", "content": {"argument": f"/{name}"}}
        else:
            taken.options["body"] = {"type": "json", "fields": self._fields(taken, flat)}

    def _media(self) -> tuple[str, Any]:
        content = mapping(self._raw.get("content"))
        for fits in (lambda kind: kind.partition(";")[0].strip().lower() == "application/json", is_json):
            for kind, media in content.items():
                if fits(kind):
                    return kind, media
        for kind, media in content.items():
            if kind.partition(";")[0].strip().lower() == _FORM:
                return _FORM, media
        kinds = ", ".join(sorted(content))[:100]
        raise Inexpressible(f"is {kinds}, which is neither JSON nor a form" if kinds else "does not say what it is")

    def _flat(self, closed: Json, taken: Taken) -> Json | None:
        """The object whose properties can stand beside the parameters; None when they cannot."""
        found = closed
        if "$ref" in closed:
            found = self._closing.defs[closed["$ref"].rpartition("/")[2]]
        names = [argument_name(name) for name in found.get("properties", {})]
        is_plain = found.get("type") == "object" and 0 < len(names) <= MAX_FLAT
        is_free = len({*names}) == len(names) and taken.properties.keys().isdisjoint(names)
        is_whole = self._is_required or "required" not in found
        return found if is_plain and is_free and is_whole else None

    def _fields(self, taken: Taken, found: Json) -> Json:
        """Where each property goes; each becomes an argument."""
        fields: Json = {}
        for name, schema in found["properties"].items():
            argument = argument_name(name)
            taken.add(argument, schema, is_required=name in found.get("required", ()))
            fields[name] = {"argument": f"/{argument}"}
        return fields

    def _form(self, taken: Taken, closed: Json, encoding: Mapping[str, Any]) -> None:
        flat = self._flat(closed, taken)
        if flat is None:
            raise Inexpressible("is a form that is no plain list of fields")
        kept: Json = {}
        for name, schema in flat["properties"].items():
            kinds, items = text_kinds(schema)
            is_usual = "array" not in kinds or _repeats(mapping(encoding.get(name)))
            if kinds - {"null"} <= _SCALARS | {"array"} and items <= _SCALARS and is_usual:
                kept[name] = without_null(schema)
            elif name in flat.get("required", ()):
                raise Inexpressible(f"is a form whose field {name[:64]!r} is more than texts")
            else:
                self._closing.note(f"/{name}", "is more than a field of a form can hold")
        taken.options["body"] = {"type": "form", "fields": self._fields(taken, {**flat, "properties": kept})}


def _repeats(encoding: Mapping[str, Any]) -> bool:
    """Whether a list goes as one field for each item, the only way that a form is written in here."""
    is_form = encoding.get("style", "form") == "form" and encoding.get("explode", True) is True
    return is_form and "contentType" not in encoding
