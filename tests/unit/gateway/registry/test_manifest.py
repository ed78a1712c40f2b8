"""Manifest rows take what they describe, and nothing else."""

from typing import Any

import pydantic
import pytest

from gateway.registry.manifest import AgentRow, ConnectionRow, LimitsRow, RateRow, ToolRow

AGENT: dict[str, Any] = {"name": "helper", "tenant": "acme"}


@pytest.mark.parametrize("model", [AgentRow, ConnectionRow, ToolRow, LimitsRow, RateRow])
def test_unknown_keys_are_errors(model: type[pydantic.BaseModel]) -> None:
    """In every row and part."""
    with pytest.raises(pydantic.ValidationError, match="Extra inputs are not permitted"):
        model.model_validate({"colour": "red"})


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Helper"},
        {"name": ""},
        {"name": "a b"},
        {"name": 5},
        {"name": "a\n"},
        {"tools": ["A"]},
        {"tools": "echo"},
        {"scopes": ["*"]},
        {"scopes": ["a b"]},
        {"rate": {"per_minute": "6"}},
        {"rate": {"per_minute": -1}},
        {"rate": {"per_minute": 1, "burst": 0}},
        {"rate": {"per_minute": 1e-320}},
        {"rate": {"per_minute": 1, "burst": 10**400}},
        {"rate": {"per_minute": 1, "burst": True}},
        {"grants": []},
    ],
)
def test_a_wrong_value_is_an_error(change: dict[str, Any]) -> None:
    """Also one that a lenient reader would turn into a right one."""
    AgentRow.model_validate(AGENT)
    with pytest.raises(pydantic.ValidationError):
        AgentRow.model_validate(AGENT | change)


def test_rows_are_frozen() -> None:
    """What was checked is what is used."""
    row = AgentRow.model_validate(AGENT)
    with pytest.raises(pydantic.ValidationError):
        row.name = "other"
