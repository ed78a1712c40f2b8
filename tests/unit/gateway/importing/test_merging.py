"""The parts of an `allOf` become one schema that says no less than all of them."""

from typing import Any

import pytest

from gateway.errors import StartError
from gateway.importing import references as module
from gateway.importing.merging import merged
from gateway.importing.reasons import Inexpressible
from gateway.importing.references import References


def of(*parts: Any, **beside: Any) -> Any:
    """These parts, and what stands beside them, as one."""
    return merged(References({"a": {"type": "object"}}), {"allOf": list(parts), **beside})


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"minimum": 1, "maximum": 9}, {"minimum": 3, "maximum": 20}, {"minimum": 3, "maximum": 9}),
        ({"required": ["a"]}, {"required": ["b", "a"]}, {"required": ["a", "b"]}),
        ({"type": "number"}, {"type": "integer"}, {"type": ["integer"]}),
        ({"type": ["string", "null"]}, {"type": "string"}, {"type": ["string"]}),
        ({"enum": [1, 2]}, {"enum": [2, 3]}, {"enum": [2]}),
        ({"description": "a"}, {"description": "b", "format": "date"}, {"description": "a", "format": "date"}),
        ({"additionalProperties": {}}, {"additionalProperties": False}, {"additionalProperties": False}),
        ({"minimum": "x"}, {"minimum": 3}, {"minimum": "x"}),
    ],
)
def test_two_parts_are_narrowed_to_what_fits_both(one: Any, other: Any, expected: Any) -> None:
    """Words and formats are the first's."""
    assert of(one, other) == expected


def test_a_property_of_both_has_to_fit_both() -> None:
    """Which is worked out where it is closed; what is beside the parts counts as one of them."""
    found = of({"properties": {"a": {"type": "string"}, "b": {}}}, properties={"a": {"maxLength": 3}})
    assert found["properties"] == {"a": {"allOf": [{"maxLength": 3}, {"type": "string"}]}, "b": {}}


@pytest.mark.parametrize(
    "parts",
    [
        ({"type": "string"}, {"type": "object"}),
        ({"enum": [1]}, {"enum": [2]}),
        ({"oneOf": [{}]}, {"anyOf": [{}]}),
        ({"$ref": "#/nowhere"},),
    ],
)
def test_what_cannot_be_is_said(parts: Any) -> None:
    """No value would fit."""
    with pytest.raises(Inexpressible):
        of(*parts)


def test_parts_of_themselves_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their depth; many of them by the work that they are."""
    ring: dict[str, Any] = {"a": {"allOf": [{"$ref": "#/a"}]}}
    with pytest.raises(Inexpressible, match="composed of itself"):
        merged(References(ring), ring["a"])
    monkeypatch.setattr(module, "MAX_STEPS", 500)
    many = {f"s{number}": {"allOf": [{"$ref": f"#/s{number + 1}"}] * 4} for number in range(9)} | {"s9": {}}
    with pytest.raises(StartError, match="too much work"):
        merged(References(many), many["s0"])
