"""Messages that JSON writes as something else than an object of their fields: moments, durations, boxed values, and
JSON itself. A `FieldMask` or an `Any` is a message like others here.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf import duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from adapters.grpc_upstream import scalars
from adapters.grpc_upstream.scalars import BadValue
from adapters.grpc_upstream.shapes import fields_of, shape_of

TIMESTAMP = "google.protobuf.Timestamp"
DURATION = "google.protobuf.Duration"
STRUCT = "google.protobuf.Struct"
VALUE = "google.protobuf.Value"
LIST = "google.protobuf.ListValue"
_JSON_WORDS = {STRUCT: "object", LIST: "list"}
WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_OWN: Mapping[str, Descriptor] = {
    message.full_name: message
    for file in (timestamp_pb2, duration_pb2, struct_pb2, wrappers_pb2)
    for message in file.DESCRIPTOR.message_types_by_name.values()
}
MAX_JSON_DEPTH = 20
"""Each level is three messages in one another, of which a server takes a hundred."""
_MAX_SAFE = 2**53 - 1
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)
DURATION_FORM = r"^-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?s$"


def is_special(message: Descriptor) -> bool:
    """Whether it is written as something else than its fields."""
    name = message.full_name
    return name in (TIMESTAMP, DURATION) or name in (STRUCT, VALUE, LIST) or name in WRAPPERS


def is_genuine(message: Descriptor) -> bool:
    """Whether one that is special by its name has the fields of this name, so that it is read and written as it is."""
    if not is_special(message):
        return True
    return _outline(message) == _outline(_OWN[message.full_name])


def _outline(message: Descriptor) -> list[tuple[Any, ...]]:
    return [
        (field.name, field.number, field.type, field.is_repeated, field.message_type and field.message_type.full_name)
        for field in message.fields
    ]


def read(message: Message, value: Any) -> None:
    """Put a JSON value into such a message. Raises `BadValue`."""
    name = message.DESCRIPTOR.full_name
    if name in WRAPPERS:
        message.value = scalars.read(_boxed(message), value)  # type: ignore[attr-defined]
    elif name == TIMESTAMP:
        _read_text(message, value, _MOMENT, "a moment such as 2026-05-31T09:00:00Z")
    elif name == DURATION:
        _read_text(message, value, re.compile(DURATION_FORM, re.ASCII), "a duration such as 1.5s")
    else:
        _read_json(message, _json_of(value, name))


def write(message: Message) -> Any:
    """Such a message as JSON. Raises `BadValue` for what it may not hold."""
    name = message.DESCRIPTOR.full_name
    if name in WRAPPERS:
        return scalars.write(_boxed(message), message.value)  # type: ignore[attr-defined]
    if name in (TIMESTAMP, DURATION):
        try:
            return message.ToJsonString()  # type: ignore[attr-defined]
        except ValueError as error:
            raise BadValue("range", "The moment or duration does not exist.") from error
    return _written(message, 0)


def _boxed(message: Message) -> FieldDescriptor:
    return fields_of(shape_of(message))["value"]


def _read_text(message: Message, value: Any, form: re.Pattern[str], words: str) -> None:
    if type(value) is not str or not form.fullmatch(value):
        raise BadValue("format", f"Must be {words}.")
    try:
        message.FromJsonString(value)  # type: ignore[attr-defined]
    except (ValueError, OverflowError) as error:
        raise BadValue("format", f"Must be {words}, and one that exists.") from error


def _json_of(value: Any, name: str) -> Any:
    """An object or a list, which an agent may write as text: a closed schema cannot say what is in it."""
    if name == VALUE or type(value) is not str:
        return value
    try:
        return json.loads(value, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise BadValue("json", f"Must be a JSON {_JSON_WORDS[name]}, written as text.") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


def _constant(_text: str) -> Any:
    raise ValueError("no JSON")


def _read_json(message: Any, value: Any, depth: int = 0) -> None:
    if depth > MAX_JSON_DEPTH:
        raise BadValue("depth", f"The JSON may be {MAX_JSON_DEPTH} levels deep.")
    name = message.DESCRIPTOR.full_name
    if name == VALUE:
        _read_value(message, value, depth)
    elif name == STRUCT:
        if not isinstance(value, Mapping):
            raise BadValue("type", "Must be a JSON object.")
        for key, part in value.items():
            _read_json(message.fields[scalars.sendable(key)], part, depth + 1)
    else:
        if not isinstance(value, list):
            raise BadValue("type", "Must be a JSON list.")
        for part in value:
            _read_json(message.values.add(), part, depth + 1)


def _read_value(message: Any, value: Any, depth: int) -> None:
    if value is None:
        message.null_value = 0
    elif type(value) is bool:
        message.bool_value = value
    elif type(value) in (int, float):
        message.number_value = _number(value)
    elif type(value) is str:
        message.string_value = scalars.sendable(value)
    elif isinstance(value, Mapping):
        message.struct_value.SetInParent()
        _read_json(message.struct_value, value, depth)
    else:
        message.list_value.SetInParent()
        _read_json(message.list_value, value, depth)


def _number(value: float) -> float:
    """A `Value` has nothing but doubles: an integer beyond them would become another one."""
    if type(value) is int and abs(value) > _MAX_SAFE:
        raise BadValue("range", "A whole number beyond 9007199254740991 cannot be sent; write it as text.")
    if not math.isfinite(value):
        raise BadValue("range", "The number is too large.")
    return float(value)


def _written(message: Any, depth: int) -> Any:
    if depth > MAX_JSON_DEPTH:
        raise BadValue("depth", "The JSON is too deep.")
    name = message.DESCRIPTOR.full_name
    if name == STRUCT:
        return {key: _written(part, depth + 1) for key, part in message.fields.items()}
    if name == LIST:
        return [_written(part, depth + 1) for part in message.values]
    return _WRITTEN[message.WhichOneof("kind")](message, depth)


def _plain_number(message: Any, _depth: int) -> Any:
    number = message.number_value
    if math.isfinite(number):
        return int(number) if number.is_integer() and abs(number) <= _MAX_SAFE else number
    raise BadValue("range", "JSON has no such number.")


_WRITTEN: Mapping[str | None, Callable[[Any, int], Any]] = {
    None: lambda _message, _depth: None,
    "null_value": lambda _message, _depth: None,
    "bool_value": lambda message, _depth: message.bool_value,
    "number_value": _plain_number,
    "string_value": lambda message, _depth: message.string_value,
    "struct_value": lambda message, depth: _written(message.struct_value, depth),
    "list_value": lambda message, depth: _written(message.list_value, depth),
}
