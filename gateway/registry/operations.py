"""Which operation a tool is bound to: one that its adapter knows by heart, or one that the adapter makes of the row."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from adapters.base import Adapter, Operation, SideEffect
from adapters.recipes import MakesOperations, Recipe, RecipeProblem
from gateway.documents import Location

Found = tuple[Location, str, str]
"""What is wrong with a binding: where in the row, which rule, a sentence."""


_MAX_DIGITS = 10


class _Binding(Protocol):
    @property
    def adapter(self) -> str: ...

    @property
    def operation(self) -> str: ...

    @property
    def options(self) -> Mapping[str, Any]: ...


class IsBound(Protocol):
    """A tool, as a manifest has it or as the registry does."""

    @property
    def name(self) -> str:
        """Its public name."""
        ...

    @property
    def side_effect(self) -> SideEffect:
        """What a call does."""
        ...

    @property
    def binding(self) -> _Binding:
        """What it stands for."""
        ...

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """What it takes."""
        ...

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        """What it gives."""
        ...


class Unbound(Exception):  # noqa: N818 - it is the row's problem, not an error of ours
    """There is no such operation."""

    def __init__(self, *found: Found) -> None:
        super().__init__("; ".join(message for _, _, message in found))
        self.found = found


def operation_of(tool: IsBound, adapters: Mapping[str, Adapter]) -> Operation:
    """The operation that the tool is bound to. Raises `Unbound`, with everything that is wrong."""
    binding = tool.binding
    adapter = adapters.get(binding.adapter)
    if adapter is None:
        known = ", ".join(sorted(adapters)) or "none"
        raise Unbound(
            (("binding", "adapter"), "adapter", f"there is no adapter {binding.adapter!r}; there are: {known}")
        )
    if isinstance(adapter, MakesOperations):
        return _made(tool, adapter)
    operation = adapter.operations.get(binding.operation)
    if operation is None:
        raise _no_operation(binding, sorted(adapter.operations))
    if binding.options:
        message = f"the operation {operation.name!r} is complete; leave the options out"
        raise Unbound((("binding", "options"), "options", message))
    return operation


def _made(tool: IsBound, adapter: MakesOperations) -> Operation:
    binding = tool.binding
    if binding.operation not in adapter.recipes:
        raise _no_operation(binding, sorted(adapter.recipes))
    recipe = Recipe(
        tool=tool.name,
        operation=binding.operation,
        side_effect=tool.side_effect,
        options=binding.options,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
    )
    try:
        return adapter.make(recipe)
    except RecipeProblem as problem:
        raise Unbound(*_placed(problem, binding.options)) from problem


def _placed(problem: RecipeProblem, options: Mapping[str, Any]) -> Iterator[Found]:
    for issue in problem.issues:
        yield ("binding", "options", *_below(options, issue.path)), issue.rule, issue.message


def _below(value: object, pointer: str) -> Iterator[str | int]:
    """The parts of a pointer into the options: those of lists are numbers, those of objects never."""
    for segment in pointer.split("/")[1:]:
        part = segment.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and part.isascii() and part.isdecimal() and len(part) < _MAX_DIGITS:
            value = value[int(part)] if int(part) < len(value) else None
            yield int(part)
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
            yield part


def _no_operation(binding: _Binding, known: list[str]) -> Unbound:
    message = f"the adapter {binding.adapter!r} has no operation {binding.operation!r}; it has: {', '.join(known)}"
    return Unbound((("binding", "operation"), "operation", message))
