"""File descriptors, and what they declare."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.message import DecodeError, Message

_METHOD = re.compile(r"((?:[A-Za-z_][A-Za-z0-9_]*\.)*[A-Za-z_][A-Za-z0-9_]*)/([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_MAX_METHOD = 512
MAX_DEPTH = 64
"""How deep messages may be declared in one another."""

Declared = DescriptorProto | EnumDescriptorProto


class BadDescriptors(ValueError):  # noqa: N818 - it is the service's or the row's problem, and is shown as one
    """Descriptors that cannot be used. The text is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class MethodName:
    """A method as `package.Service/Method`."""

    service: str
    method: str

    @classmethod
    def of(cls, text: str) -> "MethodName":
        """Raises ValueError on another form."""
        found = _METHOD.fullmatch(text) if len(text) <= _MAX_METHOD else None
        if found is None:
            raise ValueError("not of the form package.Service/Method")
        return cls(found[1], found[2])

    def __str__(self) -> str:
        return f"{self.service}/{self.method}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a type is declared."""

    file: str
    type: Declared


class Files:
    """File descriptors by name, with an index of what they declare."""

    def __init__(self, files: Iterable[FileDescriptorProto]) -> None:
        """Raises `BadDescriptors` when two files declare one name."""
        self.by_name: dict[str, FileDescriptorProto] = {}
        self.services: dict[str, tuple[str, ServiceDescriptorProto]] = {}
        """By full name: the file, and what it declares."""
        self._types: dict[str, Place] = {}
        for file in files:
            _check_texts(file)
            if self.by_name.setdefault(file.name, file) is file:
                self._read(file)

    @classmethod
    def of_set(cls, data: bytes) -> "Files":
        """What a serialised FileDescriptorSet holds. Raises `BadDescriptors`."""
        try:
            return cls(FileDescriptorSet.FromString(data).file)
        except DecodeError as error:
            raise BadDescriptors("this is no FileDescriptorSet") from error

    def method(self, name: MethodName) -> tuple[str, MethodDescriptorProto]:
        """The file that declares it, and its declaration. Raises `BadDescriptors` when there is none."""
        file, service = self.services.get(name.service, ("", ServiceDescriptorProto()))
        for one in service.method:
            if one.name == name.method:
                return file, one
        raise BadDescriptors(f"no method {name} is declared")

    def place(self, reference: str) -> Place:
        """Where the type is that a field or method refers to. Raises `BadDescriptors`."""
        place = self._types.get(reference[1:]) if reference.startswith(".") else None
        if place is None:
            raise BadDescriptors(f"the type {reference[:200]!r} is not declared in any of the files")
        return place

    def _read(self, file: FileDescriptorProto) -> None:
        prefix = f"{file.package}." if file.package else ""
        for message in file.message_type:
            self._index(file.name, prefix, message, 0)
        for enum in file.enum_type:
            self._note(file.name, prefix + enum.name, enum)
        for service in file.service:
            if self.services.setdefault(prefix + service.name, (file.name, service))[1] is not service:
                raise BadDescriptors(f"the service {prefix}{service.name} is declared twice")

    def _index(self, file: str, prefix: str, message: DescriptorProto, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise BadDescriptors("messages are declared in one another too deep")
        full_name = prefix + message.name
        self._note(file, full_name, message)
        for nested in message.nested_type:
            self._index(file, f"{full_name}.", nested, depth + 1)
        for enum in message.enum_type:
            self._note(file, f"{full_name}.{enum.name}", enum)

    def _note(self, file: str, full_name: str, one: Declared) -> None:
        if self._types.setdefault(full_name, Place(file, one)).type is not one:
            raise BadDescriptors(f"the type {full_name} is declared twice")


def _check_texts(message: Message) -> None:
    """Raises `BadDescriptors` for a name that is no text: the library hands it out as octets."""
    for field, value in message.ListFields():
        if field.name in ("options", "source_code_info"):
            continue
        parts = value if field.is_repeated else [value]
        for part in parts:
            if isinstance(part, Message):
                _check_texts(part)
            elif isinstance(part, bytes):
                raise BadDescriptors("a name in the descriptors is no text")
