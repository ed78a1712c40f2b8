"""Single values, from JSON and back."""

import math
from typing import Any

import pytest
from fakes.grpc_service.compiled import KINDS, message

from adapters.grpc_upstream import scalars
from adapters.grpc_upstream.scalars import BadValue
from adapters.grpc_upstream.shapes import entry_of, fields_of, shape_of

FIELDS = fields_of(shape_of(message("acme.kinds.v1.Kinds", KINDS)))


@pytest.mark.parametrize(
    ("field", "value", "read", "written"),
    [
        ("flag", True, True, True),
        ("text", "é\u2028", "é\u2028", "é\u2028"),
        ("octets", "AP8=", b"\x00\xff", "AP8="),
        ("octets", "", b"", ""),
        ("small", -5, -5, -5),
        ("small", 5.0, 5, 5),
        ("natural", 4294967295, 4294967295, 4294967295),
        ("long", "9007199254740993", 9007199254740993, "9007199254740993"),
        ("long", -7, -7, "-7"),
        ("long_natural", "18446744073709551615", 2**64 - 1, "18446744073709551615"),
        ("number", 1, 1.0, 1.0),
        ("number", 0.1, 0.1, 0.1),
        ("colour", "COLOUR_RED", 1, "COLOUR_RED"),
    ],
)
def test_a_value_is_read_and_written(field: str, value: Any, read: Any, written: Any) -> None:
    """In its one form."""
    found = scalars.read(FIELDS[field], value)
    assert (found, type(found)) == (read, type(read))
    assert scalars.write(FIELDS[field], found) == written


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("flag", 1, "type"),
        ("flag", "true", "type"),
        ("text", 7, "type"),
        ("text", "\ud800", "characters"),
        ("colour", "\ud800", "characters"),
        ("octets", "AP8", "base64"),
        ("octets", "AP9=", "base64"),
        ("octets", "-_8=", "base64"),
        ("octets", "é", "base64"),
        ("small", 2**31, "range"),
        ("small", True, "type"),
        ("small", "5", "type"),
        ("small", 5.5, "type"),
        ("natural", -1, "range"),
        ("long", "9223372036854775808", "range"),
        ("long", "07", "type"),
        ("long", "1e3", "type"),
        ("long", "٣", "type"),
        ("long", "9" * 5000, "type"),
        ("long_natural", "-1", "range"),
        ("short_number", 1e39, "range"),
        ("short_number", "1", "type"),
        ("number", math.inf, "range"),
        ("number", 10**400, "range"),
        ("number", False, "type"),
        ("colour", "RED", "enum"),
        ("colour", 1, "type"),
        ("colour", None, "type"),
    ],
)
def test_a_value_that_does_not_fit(field: str, value: Any, rule: str) -> None:
    """It is told why, in a sentence of ours."""
    with pytest.raises(BadValue) as caught:
        scalars.read(FIELDS[field], value)
    assert caught.value.rule == rule
    assert caught.value.message.endswith(".")


@pytest.mark.parametrize("number", [0.1, 3.14159274, 1e-40, 16777217.0, 3.4028234663852886e38, -0.5])
def test_a_short_number_is_written_as_short_as_it_is(number: float) -> None:
    """And is the same number when it is read again."""
    kind = message("acme.kinds.v1.Kinds", KINDS)
    held = kind(short_number=number).short_number  # type: ignore[attr-defined]
    written = scalars.write(FIELDS["short_number"], held)
    assert kind(short_number=written).short_number == held  # type: ignore[attr-defined]
    assert len(repr(written)) <= len(repr(held))


@pytest.mark.parametrize(("number", "text"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")])
@pytest.mark.parametrize("field", ["number", "short_number"])
def test_what_json_has_no_number_for_is_a_word(field: str, number: float, text: str) -> None:
    """As protobuf's own JSON has it."""
    assert scalars.write(FIELDS[field], number) == text
    assert text in scalars.NOT_FINITE


def test_a_value_that_the_enumeration_does_not_know_is_its_number() -> None:
    """The service may be newer than the row."""
    assert scalars.write(FIELDS["colour"], 9) == 9


@pytest.mark.parametrize(
    ("field", "text", "key"), [("by_name", "a/b", "a/b"), ("by_number", "-7", -7), ("by_flag", "true", True)]
)
def test_a_key_is_text_in_json(field: str, text: str, key: Any) -> None:
    """And back."""
    key_field, _ = entry_of(FIELDS[field])
    assert scalars.read_key(key_field, text) == key
    assert scalars.write_key(key_field, key) == text


@pytest.mark.parametrize(
    ("field", "text"), [("by_name", "\udfff"), ("by_number", "x"), ("by_number", "2147483648"), ("by_flag", "yes")]
)
def test_a_key_that_does_not_fit(field: str, text: str) -> None:
    """It is refused."""
    with pytest.raises(BadValue):
        scalars.read_key(entry_of(FIELDS[field])[0], text)


def test_what_is_long_and_how_long() -> None:
    """Those numbers are text in JSON."""
    assert {name for name, field in FIELDS.items() if scalars.is_long(field)} == {"long", "long_natural", "numbers"}
    assert scalars.bounds(FIELDS["natural"]) == (0, 2**32 - 1)
