"""A tool is bound to one operation, or it is told everything that is wrong with its binding."""

import json
from typing import Any

import pytest
from fakes.adapter import FakeAdapter
from fakes.administration import AGENT, CONNECTION, TOOL
from fakes.made import MakingAdapter

from adapters.base import ArgumentIssue, Operation, SideEffect
from adapters.recipes import Recipe, RecipeProblem
from gateway.arguments.schema import compile_schema
from gateway.registry.loader import load_registry
from gateway.registry.manifest import ToolRow
from gateway.registry.operations import Unbound, operation_of
from gateway.settings.load import Settings

ADAPTERS: dict[str, Any] = {"fake": FakeAdapter(), "making": MakingAdapter()}
SAID = {"adapter": "making", "operation": "say", "connection": "fake", "options": {"word": "hi"}}


def row(binding: dict[str, Any]) -> ToolRow:
    """A tool with this binding."""
    return ToolRow.model_validate(TOOL | {"binding": binding})


def problems(binding: dict[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    """Where the binding is wrong, and by which rule."""
    with pytest.raises(Unbound) as raised:
        operation_of(row(binding), ADAPTERS)
    return [(at, rule) for at, rule, _ in raised.value.found]


def test_an_adapter_that_knows_its_operations_has_them() -> None:
    """The very object, however often it is asked for."""
    bound = row({"adapter": "fake", "operation": "echo", "connection": "fake"})
    assert operation_of(bound, ADAPTERS) is ADAPTERS["fake"].operations["echo"]


def test_an_adapter_that_makes_operations_is_given_the_row() -> None:
    """Name, options, side effect and schemas."""
    operation = operation_of(row(SAID), ADAPTERS)
    made = ADAPTERS["making"].made[-1]
    assert (made.tool, made.operation, made.options) == ("echo", "say", {"word": "hi"})
    assert made.input_schema == TOOL["input_schema"]
    assert operation.side_effect is SideEffect.READ


@pytest.mark.parametrize(
    ("binding", "want"),
    [
        ({"adapter": "none"}, [(("binding", "adapter"), "adapter")]),
        ({"operation": "shout"}, [(("binding", "operation"), "operation")]),
        ({"adapter": "fake", "operation": "shout"}, [(("binding", "operation"), "operation")]),
        ({"adapter": "fake", "operation": "echo"}, [(("binding", "options"), "options")]),
        (
            {"options": {"loud": True}},
            [(("binding", "options", "loud"), "unknown_option"), (("binding", "options", "word"), "required")],
        ),
    ],
)
def test_everything_wrong_with_a_binding_is_told_with_its_place(
    binding: dict[str, Any], want: list[tuple[tuple[str | int, ...], str]]
) -> None:
    """Not only the first."""
    assert problems(SAID | binding) == want


def test_a_tool_is_made_once_and_bound_for_every_tenant() -> None:
    """What an entry holds was made when the row was loaded."""
    making = MakingAdapter()
    text = {
        "tools": [TOOL | {"binding": SAID}],
        "connections": [
            CONNECTION | {"tenant": tenant, "vendor": "making", "credential": "", "name": "fake"} for tenant in "ab"
        ],
        "agents": [AGENT | {"tenant": tenant} for tenant in "ab"],
    }
    loaded = load_registry(
        [],
        adapters={"making": making},
        settings=Settings(),
        compile_schema=compile_schema,
        builtin={"x.yaml": json.dumps(text)},
    )
    assert [str(problem) for problem in loaded.problems if not problem.is_warning] == []
    assert loaded.catalogue is not None
    assert len(making.made) == 1


class Refusing(MakingAdapter):
    """Has one thing against every row, at the place that a test says."""

    path = ""

    def make(self, recipe: Recipe) -> Operation:
        """Never."""
        raise RecipeProblem(ArgumentIssue(path=self.path, rule="wrong", message="It is wrong."))


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("/query/3", ("query", "3")),
        ("/list/1/a", ("list", 1, "a")),
        ("/list/7", ("list", 7)),
        ("/list/\u0663", ("list", "\u0663")),
        ("/a~1b/~01", ("a/b", "~1")),
        ("/query/" + "9" * 5000, ("query", "9" * 5000)),
        ("", ()),
    ],
)
def test_a_place_in_the_options_is_the_rows_own(path: str, want: tuple[str | int, ...]) -> None:
    """A number is one where the row has a list, and a name where it has an object, however long it is."""
    adapter = Refusing()
    adapter.path = path
    options = {"query": {"3": 1}, "list": [0, {"a": 1}], "a/b": {"~1": 1}}
    with pytest.raises(Unbound) as raised:
        operation_of(row(SAID | {"options": options}), {"making": adapter})
    assert [at for at, _, _ in raised.value.found] == [("binding", "options", *want)]
