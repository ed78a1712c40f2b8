"""One parameter of a path, a query or a header, as an argument and the place that it goes to."""

import re
from collections.abc import Mapping
from typing import Any

from gateway.importing.closing import Closing
from gateway.importing.kinds import text_kinds, without_null
from gateway.importing.operations import Described
from gateway.importing.pasted import without_own_default
from gateway.importing.reasons import Inexpressible, Skipped
from gateway.importing.taken import Taken
from gateway.importing.texts import plain_text

Json = dict[str, Any]

MAX_NAME = 256
_SCALARS = frozenset({"string", "integer", "number", "boolean"})
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_KEY_HEADER = re.compile(r"(x-)?idempotency-key", re.IGNORECASE)
_OWN_HEADERS = re.compile(
    r"accept|content-type|authorization|accept-encoding|content-(length|encoding)|transfer-encoding|host|cookie2?|range"
    r"|connection|expect|te|trailer|upgrade|via|forwarded|x-real-ip|user-agent|(proxy|x-forwarded|tollhouse)-.*"
    r"|x-(original-)?(host|url)|x-rewrite-url|x-(http-)?method(-override)?",
    re.IGNORECASE,
)
"""Headers that whoever sends a request sets, and no argument."""


class Parameter:
    """One parameter of a path, a query or a header."""

    def __init__(self, operation: Described, raw: Mapping[str, Any], name: str, closing: Closing) -> None:
        self._operation = operation
        self._raw = raw
        self._name = name
        self._own = raw["name"]
        self._where = raw["in"]
        self._is_required = raw.get("required") is True or self._where == "path"
        self._closing = closing

    def put_into(self, taken: Taken) -> None:
        """Make an argument of it, or leave it out where it is optional."""
        if self._where == "header" and self._is_set_by_sender(taken):
            return
        try:
            schema = self._schema()
            place = self._place(schema)
        except Inexpressible as why:
            if self._is_required:
                raise Skipped(f"it needs the {self._where} parameter {self._own[:64]!r}, which {why.reason}") from why
            self._closing.note(f"the {self._where} parameter {self._own[:64]}", why.reason)
            return
        taken.add(self._name, schema, is_required=self._is_required)
        if place is not None:
            taken.options.setdefault({"query": "query", "header": "headers"}[self._where], {})[self._own] = place

    def _is_set_by_sender(self, taken: Taken) -> bool:
        is_read = self._operation.method in ("GET", "HEAD")
        if _KEY_HEADER.fullmatch(self._own) and not is_read:
            taken.options["key_header"] = self._own
            return True
        return _OWN_HEADERS.fullmatch(self._own) is not None

    def _is_writable(self) -> bool:
        """Whether its own name can stand where it has to."""
        if self._where == "header":
            return _TOKEN.fullmatch(self._own) is not None
        return self._own.isprintable() and len(self._own) <= MAX_NAME

    def _schema(self) -> Json:
        if self._where not in ("path", "query", "header"):
            raise Inexpressible("is a cookie" if self._where == "cookie" else "goes to a place that is not known")
        if not self._is_writable():
            raise Inexpressible("has a name that nobody can write")
        if "schema" not in self._raw:
            raise Inexpressible("is a document of its own" if "content" in self._raw else "takes any value")
        closed = self._closing.close(self._raw["schema"], f"/{self._name}")
        schema = without_own_default(self._own, without_null(closed))
        words = plain_text(self._raw.get("description"), most=300)
        return {**schema, "description": words} if words else schema

    def _place(self, schema: Json) -> Json | None:
        """Where it goes; None for the path, which says so itself. Raises `Inexpressible` for what no text can be."""
        kinds, items = text_kinds(schema)
        if not kinds <= (_SCALARS | {"array"} if self._where == "query" else _SCALARS):
            raise Inexpressible("is more than one text")
        if self._where == "path":
            if (style := self._raw.get("style", "simple")) != "simple":
                raise Inexpressible(f"stands in the path in the style {str(style)[:40]}")
            return None
        place: Json = {"argument": f"/{self._name}"}
        if "array" in kinds:
            if not items <= _SCALARS:
                raise Inexpressible("is a list of more than texts")
            place |= self._style()
        return place

    def _style(self) -> Json:
        """How a list goes into a query."""
        style = self._raw.get("style", "form")
        if style not in ("form", "deepObject") or (style == "deepObject" and not self._own.endswith("[]")):
            raise Inexpressible(f"is a list in the style {str(style)[:40]}")
        return {"style": "comma"} if self._raw.get("explode") is False else {}
