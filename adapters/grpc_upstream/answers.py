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

MAX_PARTS = 500_000
"""Fields and items of one message: an empty message is two octets on the wire, and a hundred times that in memory."""


def write_message(message: Message) -> dict[str, Any]:
    """The message as a JSON object. Raises `BadValue` for what JSON cannot carry, and `TooManyParts`."""
    return _Writer().message(message, 0)


class TooManyParts(BadValue):
    """The message would be more than anybody has memory for."""

    def __init__(self) -> None:
        super().__init__("size", f"Holds more than {MAX_PARTS} fields and items.")


class _Writer:
    """Writes messages, and counts what it writes."""

    def __init__(self) -> None:
        self._left = MAX_PARTS

    def message(self, message: Message, depth: int) -> dict[str, Any]:
        """One message and all that it holds."""
        if depth > MAX_DEPTH:
            raise BadValue("depth", f"Messages are more than {MAX_DEPTH} levels deep in one another.")
        fields = fields_of(shape_of(message))
        self._spend(len(fields) + 1)
        return {
            name: self._field(field, getattr(message, name), depth)
            for name, field in fields.items()
            if not field.has_presence or message.HasField(name)
        }

    def _spend(self, parts: int) -> None:
        self._left -= parts
        if self._left < 0:
            raise TooManyParts

    def _field(self, field: FieldDescriptor, value: Any, depth: int) -> Any:
        if is_map(field):
            self._spend(len(value))
            key_field, value_field = entry_of(field)
            return {
                scalars.write_key(key_field, key): self._one(value_field, value[key], depth + 1)
                for key in sorted(value)
            }
        if field.is_repeated:
            self._spend(len(value))
            return [self._one(field, part, depth) for part in value]
        return self._one(field, value, depth)

    def _one(self, field: FieldDescriptor, value: Any, depth: int) -> Any:
        kind = message_of(field)
        if kind is None:
            return scalars.write(field, value)
        if well_known.is_special(kind):
            return well_known.write(value)
        return self.message(value, depth + 1)
