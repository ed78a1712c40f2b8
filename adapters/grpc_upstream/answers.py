"""From a message to JSON: fields by their names in the `.proto` file, long numbers as text, enums by name.

A field that cannot be told from its default is always there; one that can is there when it is set. So a policy sees
the whole of what is sent, and a program finds every plain field.
"""

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from adapters.grpc_upstream import scalars, well_known
from adapters.grpc_upstream.arguments import MAX_DEPTH
from adapters.grpc_upstream.scalars import BadValue
from adapters.grpc_upstream.shapes import entry_of, fields_of, is_map, message_of, shape_of


def write_message(message: Message, depth: int = 0) -> dict[str, Any]:
    """The message as a JSON object. Raises `BadValue` for what JSON cannot carry."""
    if depth > MAX_DEPTH:
        raise BadValue("depth", f"Messages are more than {MAX_DEPTH} levels deep in one another.")
    return {
        name: _field(field, getattr(message, name), depth)
        for name, field in fields_of(shape_of(message)).items()
        if not field.has_presence or message.HasField(name)
    }


def _field(field: FieldDescriptor, value: Any, depth: int) -> Any:
    if is_map(field):
        key_field, value_field = entry_of(field)
        return {scalars.write_key(key_field, key): _one(value_field, value[key], depth + 1) for key in sorted(value)}
    if field.is_repeated:
        return [_one(field, part, depth) for part in value]
    return _one(field, value, depth)


def _one(field: FieldDescriptor, value: Any, depth: int) -> Any:
    kind = message_of(field)
    if kind is None:
        return scalars.write(field, value)
    if well_known.is_special(kind):
        return well_known.write(value)
    return write_message(value, depth + 1)
