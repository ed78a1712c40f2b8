"""JSON Schemas of messages, for the rows that a person makes of them.

An input schema is closed, so a map in it is a list of `{key, value}` and a `Struct` is JSON written as text. An output
schema says how answers are written: there both are objects.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from adapters.grpc_upstream import scalars, well_known
from adapters.grpc_upstream.shapes import entry_of, enum_of, fields_of, is_map, message_of

_TEXT = {"type": "string"}
_WHOLE = {"long": r"^-?(0|[1-9][0-9]{0,18})$", "unsigned": r"^(0|[1-9][0-9]{0,19})$"}


def input_schema(message: Descriptor) -> dict[str, Any]:
    """What a request takes."""
    return _Schemas(is_input=True).root(message)


def output_schema(message: Descriptor) -> dict[str, Any]:
    """What an answer is written as."""
    return _Schemas(is_input=False).root(message)


class _Schemas:
    """Each message within the outermost has its place in `$defs`, so that one that holds itself ends."""

    def __init__(self, *, is_input: bool) -> None:
        self._is_input = is_input
        self._defs: dict[str, Any] = {}
        self._waiting: list[Descriptor] = []

    def root(self, message: Descriptor) -> dict[str, Any]:
        schema = self._object(message)
        while self._waiting:
            one = self._waiting.pop()
            self._defs[one.full_name] = self._object(one)
        return {**schema, "$defs": {name: self._defs[name] for name in sorted(self._defs)}} if self._defs else schema

    def _object(self, message: Descriptor) -> dict[str, Any]:
        fields = fields_of(message)
        required = [name for name, field in fields.items() if self._is_required(field)]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: self._field(field) for name, field in fields.items()},
            "additionalProperties": False,
        }
        choices = [oneof for oneof in message.oneofs if len(oneof.fields) > 1]
        if choices:
            listed = ("; ".join(", ".join(f"`{field.name}`" for field in oneof.fields) for oneof in choices),)
            schema["description"] = f"At most one of these: {listed[0]}."
        return {**schema, "required": required} if required else schema

    def _is_required(self, field: FieldDescriptor) -> bool:
        return bool(field.is_required) or (not self._is_input and not field.has_presence)

    def _field(self, field: FieldDescriptor) -> dict[str, Any]:
        if is_map(field):
            return self._map(field)
        one = self._one(field)
        return {"type": "array", "items": one} if field.is_repeated else one

    def _map(self, field: FieldDescriptor) -> dict[str, Any]:
        key, value = entry_of(field)
        if not self._is_input:
            return {"type": "object", "additionalProperties": self._one(value)}
        entry = {
            "type": "object",
            "properties": {"key": self._one(key), "value": self._one(value)},
            "additionalProperties": False,
            "required": ["key", "value"],
        }
        return {"type": "array", "items": entry}

    def _one(self, field: FieldDescriptor) -> dict[str, Any]:
        message = message_of(field)
        if message is None:
            return self._scalar(field)
        if well_known.is_special(message):
            return self._special(message)
        if message.full_name not in self._defs:
            self._defs[message.full_name] = {}  # what it is comes here in its turn
            self._waiting.append(message)
        return {"$ref": f"#/$defs/{message.full_name}"}

    def _special(self, message: Descriptor) -> dict[str, Any]:
        if message.full_name in well_known.WRAPPERS:
            return self._scalar(fields_of(message)["value"])
        return dict((_SPECIAL_INPUT if self._is_input else _SPECIAL_OUTPUT)[message.full_name])

    def _scalar(self, field: FieldDescriptor) -> dict[str, Any]:
        kind = field.cpp_type
        if kind == FieldDescriptor.CPPTYPE_BOOL:
            return {"type": "boolean"}
        if kind == FieldDescriptor.CPPTYPE_ENUM:
            return self._enum(field)
        if kind == FieldDescriptor.CPPTYPE_STRING:
            is_octets = field.type == FieldDescriptor.TYPE_BYTES
            return {**_TEXT, "contentEncoding": "base64"} if is_octets else dict(_TEXT)
        if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
            number = {"type": "number"}
            return number if self._is_input else {"anyOf": [number, {**_TEXT, "enum": [*scalars.NOT_FINITE]}]}
        return _whole(field)

    def _enum(self, field: FieldDescriptor) -> dict[str, Any]:
        named = {**_TEXT, "enum": [one.name for one in enum_of(field).values]}
        # A service may know more names than are pinned; such a one is written as its number.
        return named if self._is_input else {"anyOf": [named, {"type": "integer"}]}


def _whole(field: FieldDescriptor) -> dict[str, Any]:
    least, greatest = scalars.bounds(field)
    if scalars.is_long(field):
        return {**_TEXT, "pattern": _WHOLE["long" if least else "unsigned"]}
    return {"type": "integer", "minimum": least, "maximum": greatest}


_TIMES = {
    well_known.TIMESTAMP: {**_TEXT, "format": "date-time"},
    well_known.DURATION: {**_TEXT, "pattern": well_known.DURATION_FORM},
}
_JSON_TEXT = {**_TEXT, "contentMediaType": "application/json"}
_SPECIAL_INPUT: Mapping[str, Mapping[str, Any]] = {
    **_TIMES,
    well_known.STRUCT: {**_JSON_TEXT, "description": "A JSON object, written as text."},
    well_known.LIST: {**_JSON_TEXT, "description": "A JSON list, written as text."},
    well_known.VALUE: {"type": ["string", "number", "boolean", "null"]},
}
_SPECIAL_OUTPUT: Mapping[str, Mapping[str, Any]] = {
    **_TIMES,
    well_known.STRUCT: {"type": "object"},
    well_known.LIST: {"type": "array", "items": {}},
    well_known.VALUE: {},
}
