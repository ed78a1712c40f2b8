"""Single values, from JSON and back: what a field of one type takes, and how it is written."""

import base64
import binascii
import math
import re
import struct
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from adapters.grpc_upstream.shapes import enum_of

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,19})", re.ASCII)
_BOUNDS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_LONG = frozenset({FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64})
NOT_FINITE = ("NaN", "Infinity", "-Infinity")
"""How an answer says what JSON has no number for."""


class BadValue(Exception):  # noqa: N818 - it is the agent's problem, and becomes an issue
    """A value that a field does not take: the rule's name, and a sentence for the agent."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message


def is_long(field: FieldDescriptor) -> bool:
    """Whether its numbers do not all fit into JSON's, so that they are written as text."""
    return field.cpp_type in _LONG


def bounds(field: FieldDescriptor) -> tuple[int, int]:
    """The least and the greatest of a field of whole numbers."""
    return _BOUNDS[field.cpp_type]


def read(field: FieldDescriptor, value: Any) -> Any:
    """What is put into the field. Raises `BadValue`."""
    kind = field.cpp_type
    if kind in _BOUNDS:
        return _whole(field, value)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return _typed(value, bool, "true or false")
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        return _enum(field, value)
    if kind == FieldDescriptor.CPPTYPE_STRING:
        text = _typed(value, str, "a text")
        return _octets(text) if field.type == FieldDescriptor.TYPE_BYTES else sendable(text)
    return _number(value, is_short=kind == FieldDescriptor.CPPTYPE_FLOAT)


def read_key(field: FieldDescriptor, text: str) -> Any:
    """A key of a map that JSON carries as an object's name. Raises `BadValue`."""
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        if text not in ("true", "false"):
            raise BadValue("type", "A key must be true or false here.")
        return text == "true"
    if field.cpp_type in _BOUNDS:
        return _bounded(field, _parsed(text))
    return sendable(text)


def write(field: FieldDescriptor, value: Any) -> Any:
    """The value as JSON: long numbers and octets as text, enums by name. Raises `BadValue` for a text that is none."""
    kind = field.cpp_type
    if kind in _LONG:
        return str(value)
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        named = enum_of(field).values_by_number.get(value)
        return value if named is None else named.name
    if field.type == FieldDescriptor.TYPE_BYTES:
        return base64.b64encode(value).decode()
    if isinstance(value, bytes):  # proto2 lets anything be a text
        raise BadValue("characters", "A text is not UTF-8.")
    if kind == FieldDescriptor.CPPTYPE_FLOAT:
        return _finite(_shortest(value))
    return _finite(value) if kind == FieldDescriptor.CPPTYPE_DOUBLE else value


def write_key(field: FieldDescriptor, value: Any) -> str:
    """A key of a map as an object's name. Raises `BadValue` for a text that is none."""
    if isinstance(value, bytes):
        raise BadValue("characters", "A text is not UTF-8.")
    return str(value).lower() if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL else str(value)


def sendable(text: str) -> str:
    """A text without halves of characters. Raises `BadValue`."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise BadValue("characters", "Holds half a character, which cannot be sent.")
    return text


def _typed(value: Any, kind: type, words: str) -> Any:
    if type(value) is not kind:
        raise BadValue("type", f"Must be {words}.")
    return value


def _whole(field: FieldDescriptor, value: Any) -> int:
    if type(value) is str and field.cpp_type in _LONG:
        return _bounded(field, _parsed(value))
    if type(value) is float and value.is_integer():
        value = int(value)
    return _bounded(field, _typed(value, int, "a whole number"))


def _parsed(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise BadValue("type", "Must be a whole number in decimal digits.")
    return int(text)


def _bounded(field: FieldDescriptor, number: int) -> int:
    least, greatest = _BOUNDS[field.cpp_type]
    if not least <= number <= greatest:
        raise BadValue("range", f"Must be from {least} to {greatest}.")
    return number


def _number(value: Any, *, is_short: bool) -> float:
    if type(value) not in (int, float):
        raise BadValue("type", "Must be a number.")
    try:
        number = float(value)
    except OverflowError as error:
        raise BadValue("range", "The number is too large.") from error
    if not math.isfinite(number) or (is_short and _in_32_bits(number) is None):
        raise BadValue("range", "The number is too large.")
    return number


def _enum(field: FieldDescriptor, value: Any) -> int:
    name = sendable(_typed(value, str, "one of the names of the enumeration"))  # the library fails on another
    named = enum_of(field).values_by_name.get(name)
    if named is None:
        shown = ", ".join([one.name for one in enum_of(field).values][:10])
        raise BadValue("enum", f"Must be a name of the enumeration, such as {shown}."[:300])
    return int(named.number)


def _octets(text: str) -> bytes:
    try:
        octets = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadValue("base64", "Must be base64 with padding.") from error
    if base64.b64encode(octets).decode() != text:
        raise BadValue("base64", "Must be base64 with padding.")
    return octets


def _finite(number: float) -> float | str:
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _shortest(number: float) -> float:
    """The shortest decimal that is this number in 32 bits: 0.1, and not 0.10000000149011612."""
    if not math.isfinite(number):
        return number
    written = _in_32_bits(number)
    for digits in range(6, 9):
        short = float(f"{number:.{digits}g}")
        if _in_32_bits(short) == written:
            return short
    return float(f"{number:.9g}")


def _in_32_bits(number: float) -> bytes | None:
    """The nearest number of 32 bits; None when there is none."""
    try:
        return struct.pack("<f", number)
    except OverflowError:
        return None
