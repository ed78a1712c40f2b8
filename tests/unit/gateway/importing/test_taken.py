"""What was taken becomes one closed object."""

import pytest

from gateway.importing.reasons import Skipped
from gateway.importing.taken import Taken

REF = {"$ref": "#/$defs/Tree"}
TREE = {"type": "object", "properties": {"left": REF}, "additionalProperties": False}


def test_the_schema_has_the_definitions_that_it_needs() -> None:
    """And no others; what is required is named."""
    taken = Taken()
    taken.add("tree", REF, is_required=True)
    taken.add("name", {"type": "string"}, is_required=False)
    assert taken.schema({"Tree": TREE, "Other": {"type": "string"}}) == {
        "type": "object",
        "properties": {"tree": REF, "name": {"type": "string"}},
        "required": ["tree"],
        "additionalProperties": False,
        "$defs": {"Tree": TREE},
    }
    assert Taken().schema({"Tree": TREE}) == {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize("same", [REF, {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Other"}]}])
def test_a_definition_that_is_itself_again_is_refused(same: dict[str, object]) -> None:
    """It would let everything through."""
    taken = Taken()
    taken.add("tree", REF, is_required=True)
    with pytest.raises(Skipped, match="composed of itself"):
        taken.schema({"Tree": same, "Other": REF})
