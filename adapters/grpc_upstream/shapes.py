"""What a message can hold, as its descriptor says it."""

from typing import cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message


def shape_of(message: Message | type[Message]) -> Descriptor:
    """The descriptor of a message."""
    return cast(Descriptor, message.DESCRIPTOR)


def fields_of(descriptor: Descriptor) -> dict[str, FieldDescriptor]:
    """Its fields by name, in the order of their declaration."""
    return {field.name: field for field in descriptor.fields}


def message_of(field: FieldDescriptor) -> Descriptor | None:
    """What a field of messages holds; None for another field."""
    return field.message_type


def enum_of(field: FieldDescriptor) -> EnumDescriptor:
    """What a field of an enumeration holds."""
    assert field.enum_type is not None
    return field.enum_type


def is_map(field: FieldDescriptor) -> bool:
    """Whether the field is a map: a list of entries on the wire."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def entry_of(field: FieldDescriptor) -> tuple[FieldDescriptor, FieldDescriptor]:
    """The key and the value of a map's entries."""
    entry = message_of(field)
    assert entry is not None
    fields = fields_of(entry)
    return fields["key"], fields["value"]
