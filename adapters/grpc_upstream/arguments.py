"""From an agent's JSON to a message: everything that is wrong is found, each with its place.

Fields go by the names that the `.proto` file gives them. A map is an object, or a list of `{key, value}`, since a
closed schema cannot say what names an object will have. `null` is a field that is not there.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from adapters.base import ArgumentIssue, ArgumentProblem
from adapters.grpc_upstream import scalars, well_known
from adapters.grpc_upstream.scalars import BadValue
from adapters.grpc_upstream.shapes import entry_of, fields_of, is_map, shape_of

MAX_DEPTH = 64
_MAX_ISSUES = 50


def read_message(kind: type[Message], value: Mapping[str, Any]) -> Message:
    """The message. Raises `ArgumentProblem` with every issue found, fifty at most."""
    message, filler = kind(), _Filler()
    filler.fill(message, value, "", 0)
    if filler.issues:
        raise ArgumentProblem(*filler.issues[:_MAX_ISSUES])
    return message


class _Filler:
    """Puts JSON into messages and notes what cannot be put."""

    def __init__(self) -> None:
        self.issues: list[ArgumentIssue] = []

    def fill(self, message: Message, value: Mapping[str, Any], at: str, depth: int) -> None:
        """Every field of an object."""
        if depth > MAX_DEPTH:
            self._note(at, "depth", f"May be {MAX_DEPTH} levels deep.")
            return
        fields = fields_of(shape_of(message))
        for name, part in value.items():
            field, where = fields.get(name), f"{at}/{escaped(name)}"
            if field is None:
                self._note(where, "unknown", "There is no such field; leave it out.")
            elif part is not None or _takes_null(field):
                self._guarded(where, field, message, part, depth)
        self._check_given(shape_of(message), value, at)

    def _check_given(self, descriptor: Descriptor, value: Mapping[str, Any], at: str) -> None:
        """Of fields that exclude one another one at most; of those that must be there each."""
        for oneof in descriptor.oneofs:
            given = [field.name for field in oneof.fields if value.get(field.name) is not None]
            for name in given[1:]:
                self._note(f"{at}/{name}", "oneof", f"Give `{given[0]}` or `{name}`, not both.")
        for field in descriptor.fields:
            if field.is_required and value.get(field.name) is None:
                self._note(f"{at}/{field.name}", "required", f"`{field.name}` must be given.")

    def _guarded(self, at: str, field: FieldDescriptor, message: Message, value: Any, depth: int) -> None:
        try:
            self._set(field, message, value, at, depth)
        except BadValue as bad:
            self._note(at, bad.rule, bad.message)

    def _set(self, field: FieldDescriptor, message: Message, value: Any, at: str, depth: int) -> None:
        if is_map(field):
            self._map(field, getattr(message, field.name), value, at, depth)
        elif field.is_repeated:
            self._list(field, getattr(message, field.name), value, at, depth)
        elif field.message_type is not None:
            part = getattr(message, field.name)
            part.SetInParent()
            self._message(part, value, at, depth)
        else:
            setattr(message, field.name, scalars.read(field, value))

    def _message(self, message: Message, value: Any, at: str, depth: int) -> None:
        if well_known.is_special(shape_of(message)):
            well_known.read(message, value)
        elif isinstance(value, Mapping):
            self.fill(message, value, at, depth + 1)
        else:
            raise BadValue("type", "Must be an object.")

    def _list(self, field: FieldDescriptor, into: Any, value: Any, at: str, depth: int) -> None:
        if not isinstance(value, list):
            raise BadValue("type", "Must be a list.")
        for index, part in enumerate(value):
            try:
                if field.message_type is not None:
                    self._message(into.add(), part, f"{at}/{index}", depth)
                else:
                    into.append(scalars.read(field, part))
            except BadValue as bad:
                self._note(f"{at}/{index}", bad.rule, bad.message)

    def _map(self, field: FieldDescriptor, into: Any, value: Any, at: str, depth: int) -> None:
        _, value_field = entry_of(field)
        for where, key, part in self._entries(field, value, at):
            if key in into:
                self._note(where, "unique", "This key is there twice.")
                continue
            try:
                if value_field.message_type is not None:
                    self._message(into[key], part, where, depth + 1)
                else:
                    into[key] = scalars.read(value_field, part)
            except BadValue as bad:
                self._note(where, bad.rule, bad.message)

    def _entries(self, field: FieldDescriptor, value: Any, at: str) -> Iterator[tuple[str, Any, Any]]:
        """Where each value stands, its key as the map takes it, and the value."""
        key_field, _ = entry_of(field)
        for where, read, key, part in _pairs(value, at):
            try:
                yield where, read(key_field, key), part
            except BadValue as bad:
                self._note(where, bad.rule, f"As a key: {bad.message}")

    def _note(self, path: str, rule: str, message: str) -> None:
        self.issues.append(ArgumentIssue(path=path, rule=rule, message=message))


def _pairs(value: Any, at: str) -> Iterator[tuple[str, Any, Any, Any]]:
    """Where, how its key is read, the key and the value. Raises `BadValue`."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield f"{at}/{escaped(key)}", scalars.read_key, key, part
    elif isinstance(value, list) and all(isinstance(one, Mapping) and one.keys() == _ENTRY for one in value):
        for index, one in enumerate(value):
            yield f"{at}/{index}", scalars.read, one["key"], one["value"]
    else:
        raise BadValue("type", "Must be a list of objects with a `key` and a `value`.")


_ENTRY = frozenset({"key", "value"})


def _takes_null(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.full_name == well_known.VALUE and not field.is_repeated


def escaped(name: str) -> str:
    """A name as a segment of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1")
