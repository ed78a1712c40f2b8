"""What is checked of one tool, on its own and against the adapters. Every problem, not only the first."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.base import Adapter, Operation, SideEffect
from gateway.documents import Location, Problem
from gateway.registry import agreement, schemas
from gateway.registry.manifest import ToolRow
from gateway.registry.operations import Unbound, operation_of
from gateway.registry.places import Placed
from gateway.rows import Schema
from gateway.settings.load import Settings

CompileSchema = Callable[[Mapping[str, Any]], Schema]
"""`gateway.arguments.schema.compile_schema`, handed in. Raises `ValueError`."""

Tool = Placed[ToolRow]
_NAMED = re.compile(r"`([A-Za-z_][A-Za-z0-9_]*)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A tool's schemas. None for one that is not there or cannot be used."""

    schema: Schema | None
    output_schema: Schema | None

    def are_sound(self, tool: Tool) -> bool:
        """Whether every schema that the tool has can be used."""
        return self.schema is not None and (self.output_schema is not None or tool.row.output_schema is None)


def compile_tool(tool: Tool, compile_schema: CompileSchema) -> tuple[Compiled, list[Problem]]:
    """The tool's schemas, compiled, and why they cannot be used."""
    problems: list[Problem] = []
    found = Compiled(
        schema=_compile(tool, "input_schema", tool.row.input_schema, compile_schema, problems),
        output_schema=_compile(tool, "output_schema", tool.row.output_schema, compile_schema, problems),
    )
    if found.schema is not None:
        problems += _check_defaults(tool, compile_schema)
    return found, problems


def _compile(
    tool: Tool,
    field: str,
    schema: Mapping[str, Any] | None,
    compile_schema: CompileSchema,
    problems: list[Problem],
) -> Schema | None:
    if schema is None:
        return None
    # A schema that points elsewhere is never given to a compiler.
    elsewhere = list(_placed(tool, field, schemas.local(schema)))
    problems += elsewhere or _placed(tool, field, schemas.founded(schema))
    if elsewhere:
        return None
    try:
        return compile_schema(schema)
    except ValueError as error:
        problems.append(tool.problem((field,), "schema", f"{field} does not compile: {error}"))
        return None


def check_tool(tool: Tool, compiled: Compiled, *, operation: Operation | None, settings: Settings) -> Iterator[Problem]:
    """Everything of the row alone but the schemas' own soundness; what reads a schema waits until it compiles."""
    yield from check_scopes_known(tool, "requires", tool.row.requires, settings)
    yield from _check_effect(tool)
    yield from _check_side_effect(tool, operation)
    yield from _check_timeout(tool, settings)
    if compiled.schema is not None:
        yield from _placed(tool, "input_schema", _input_findings(tool.row, operation))
    if compiled.are_sound(tool):
        yield from _check_pointers(tool)


def bind_tool(
    tool: Tool, compiled: Compiled, adapters: Mapping[str, Adapter]
) -> tuple[Operation | None, list[Problem]]:
    """The operation that the tool is bound to, or why there is none. A schema that is not sound is shown to no
    adapter.
    """
    if not compiled.are_sound(tool):
        return None, []
    try:
        return operation_of(tool.row, adapters), []
    except Unbound as unbound:
        return None, [tool.problem(at, rule, message) for at, rule, message in unbound.found]


def check_scopes_known(row: Placed[Any], field: str, scopes: Iterable[str], settings: Settings) -> Iterator[Problem]:
    """A problem for each scope that the settings do not know."""
    if settings.known_scopes:
        for scope in sorted(set(scopes) - set(settings.known_scopes)):
            yield row.problem((field,), "known_scope", f"the settings know no scope {scope!r}")


def _input_findings(row: ToolRow, operation: Operation | None) -> Iterator[schemas.Finding]:
    yield from schemas.closed(row.input_schema)
    yield from schemas.modes(row.input_schema)
    yield from schemas.strict(row.input_schema)
    if operation is not None:
        yield from agreement.disagreements(row.input_schema, operation.arguments)


def _placed(tool: Tool, field: str, findings: Iterable[schemas.Finding]) -> Iterator[Problem]:
    for one in findings:
        yield tool.problem((field, *one.at), one.rule, f"{tool.row.name}: {one.message}", is_warning=one.is_warning)


def named_elsewhere(tool: Tool) -> frozenset[str]:
    """The words in backticks of its description that are no parameter, no value and no field of the result."""
    row = tool.row
    known = schemas.parameters(row.input_schema) | schemas.literals(row.input_schema)
    known |= schemas.parameters(row.output_schema or {}) | schemas.literals(row.output_schema or {})
    return frozenset(_NAMED.findall(row.description)) - known - {"true", "false", "null"}


def check_description(tool: Tool, named: frozenset[str], tools: Collection[str]) -> Iterator[Problem]:
    """A word that is `named_elsewhere` is another tool, or it is wrong."""
    for name in sorted(named.difference(tools)):
        message = f"the description names `{name}`, which the input schema lacks"
        yield tool.problem(("description",), "description_names", message)


def _check_effect(tool: Tool) -> Iterator[Problem]:
    row = tool.row
    if row.side_effect is not SideEffect.READ and row.idempotency is None:
        message = f"{row.name}: a tool that writes or sends must say idempotency: required, optional or natural"
        yield tool.problem((), "idempotency", message)


def _check_side_effect(tool: Tool, operation: Operation | None) -> Iterator[Problem]:
    if operation is not None and operation.side_effect is not tool.row.side_effect:
        message = f"the operation {operation.name!r} is a {operation.side_effect}, not a {tool.row.side_effect}"
        yield tool.problem(("side_effect",), "side_effect", message)


def _check_timeout(tool: Tool, settings: Settings) -> Iterator[Problem]:
    longest = settings.server.max_call_seconds * 1000
    if tool.row.timeout_ms is not None and tool.row.timeout_ms > longest:
        message = f"timeout_ms is more than the settings' max_call_seconds allows ({longest:.0f})"
        yield tool.problem(("timeout_ms",), "timeout", message)


def _check_pointers(tool: Tool) -> Iterator[Problem]:
    row = tool.row
    pointers: list[tuple[Location, str]] = [
        (("redactions", index), pointer) for index, pointer in enumerate(row.redactions)
    ]
    pointers += [((field, key), key) for field in ("field_trust", "field_sensitivity") for key in getattr(row, field)]
    for at, pointer in pointers:
        if row.output_schema is None:
            yield tool.problem(at, "pointer", f"{pointer}: the tool has no output_schema for it to point into")
        elif not schemas.has_pointer(row.output_schema, pointer):
            yield tool.problem(at, "pointer", f"{pointer} leads to nothing that the output_schema describes")
    for index, pointer in enumerate(row.private_arguments):
        if not schemas.has_pointer(row.input_schema, pointer):
            message = f"{pointer} leads to nothing that the input_schema describes"
            yield tool.problem(("private_arguments", index), "pointer", message)


def _check_defaults(tool: Tool, compile_schema: CompileSchema) -> list[Problem]:
    """A default that its own schema refuses would make every call without it fail."""
    root = tool.row.input_schema
    given = {name: part["default"] for name, part in root.get("properties", {}).items() if "default" in _mapping(part)}
    if not given:
        return []
    # The root without what asks for other properties; references into it still lead somewhere.
    alone = compile_schema({key: root[key] for key in ("properties", "$defs") if key in root})
    return [
        tool.problem(
            ("input_schema", "properties", name, "default"),
            "default",
            f"the default of `{name}` does not fit its own schema",
        )
        for name, default in given.items()
        if not alone.is_valid({name: default})
    ]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
