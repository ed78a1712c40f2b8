"""Manifests become a catalogue, or every problem in them at once. Nothing is half loaded."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from adapters.base import Adapter
from gateway.documents import Problem
from gateway.registry.catalogue import Bound, Catalogue, View, visible_names
from gateway.registry.frozen import agent_of, connection_of, target_of, tool_of
from gateway.registry.manifest import ConnectionRow
from gateway.registry.places import Placed, Rows, read_rows
from gateway.registry.row_checks import check_agent, check_bindings, check_connection, check_duplicates
from gateway.registry.tool_checks import CompileSchema, check_tool, compile_tool
from gateway.rows import Agent, Connection, Disposition, Schema, Tool
from gateway.settings.load import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What came of loading. `catalogue` is None exactly when a problem is not a warning."""

    catalogue: Catalogue | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compiled:
    """A tool with its schemas."""

    tool: Tool
    schema: Schema
    output_schema: Schema | None


def load_registry(
    paths: Sequence[Path],
    *,
    adapters: Mapping[str, Adapter],
    settings: Settings,
    compile_schema: CompileSchema,
    builtin: Mapping[str, str] | None = None,
) -> Loaded:
    """The registry in these files and folders, and in the texts that adapters bring (`builtin`, by the
    name that problems give them). Never raises for what a manifest says, and never uses the network.
    """
    rows, problems = read_rows(paths, builtin or {})
    problems += _check_rows(rows, adapters, settings)
    names = frozenset(tool.row.name for tool in rows.tools)
    compiled: dict[str, _Compiled] = {}
    for tool in rows.tools:
        found, wrong = compile_tool(tool, compile_schema)
        problems += [*wrong, *check_tool(tool, found, adapters=adapters, settings=settings, known_names=names)]
        if found.schema is not None:
            row = tool_of(tool.row, longest_ms=int(settings.server.max_call_seconds * 1000))
            compiled[row.name] = _Compiled(tool=row, schema=found.schema, output_schema=found.output_schema)
    in_order = tuple(sorted(set(problems)))
    if any(not problem.is_warning for problem in in_order):
        return Loaded(catalogue=None, problems=in_order)
    return Loaded(catalogue=_catalogue(rows, compiled, adapters), problems=in_order)


def _check_rows(rows: Rows, adapters: Mapping[str, Adapter], settings: Settings) -> list[Problem]:
    problems = list(check_duplicates(rows))
    for connection in rows.connections:
        problems += check_connection(connection, adapters=adapters, settings=settings)
        problems += _check_target(connection, adapters)
    for agent in rows.agents:
        problems += check_agent(agent, rows, settings)
    return [*problems, *check_bindings(rows, adapters)]


def _check_target(connection: Placed[ConnectionRow], adapters: Mapping[str, Adapter]) -> list[Problem]:
    adapter = adapters.get(connection.row.vendor)
    sentences = [] if adapter is None else adapter.check_target(target_of(connection.row))
    return [connection.problem((), "target", sentence) for sentence in sentences]


def _catalogue(rows: Rows, compiled: Mapping[str, _Compiled], adapters: Mapping[str, Adapter]) -> Catalogue:
    connections = {(one.row.tenant, one.row.name): connection_of(one.row) for one in rows.connections}
    views = _Views(compiled, connections, adapters)
    agents = {
        (agent.tenant, agent.name): (agent, views.of(agent)) for agent in (agent_of(one.row) for one in rows.agents)
    }
    return Catalogue(
        agents=agents,
        tools=tuple(compiled[name].tool for name in sorted(compiled)),
        connections=tuple(connections[key] for key in sorted(connections)),
        digest=_digest(rows),
    )


class _Views:
    """Makes each view once, and binds each tool once for each tenant."""

    def __init__(
        self,
        compiled: Mapping[str, _Compiled],
        connections: Mapping[tuple[str, str], Connection],
        adapters: Mapping[str, Adapter],
    ) -> None:
        self._compiled = compiled
        self._tools = {name: one.tool for name, one in compiled.items()}
        self._connections = connections
        self._adapters = adapters
        self._views: dict[tuple[str, frozenset[str]], View] = {}
        self._bound: dict[tuple[str, str], Bound] = {}
        groups: defaultdict[str, set[str]] = defaultdict(set)
        for tool in self._tools.values():
            if tool.disposition is Disposition.ALWAYS:
                for group in tool.groups:
                    groups[group].add(tool.name)
        self._by_group = {group: frozenset(names) for group, names in groups.items()}

    def of(self, agent: Agent) -> View:
        """The view of one agent; agents that see the same share it."""
        key = (agent.tenant, visible_names(agent, self._tools, self._by_group))
        if key not in self._views:
            self._views[key] = View(self._bind(agent.tenant, name) for name in key[1])
        return self._views[key]

    def _bind(self, tenant: str, name: str) -> Bound:
        if (tenant, name) not in self._bound:
            one = self._compiled[name]
            binding = one.tool.binding
            self._bound[tenant, name] = Bound(
                tool=one.tool,
                connection=self._connections[tenant, binding.connection],
                operation=self._adapters[binding.adapter].operations[binding.operation],
                schema=one.schema,
                output_schema=one.output_schema,
            )
        return self._bound[tenant, name]


def _digest(rows: Rows) -> str:
    """Over every row, whatever file it stands in and in whatever order. Sets are sorted first."""
    written = sorted(
        orjson.dumps(_sorted(row), option=orjson.OPT_SORT_KEYS)
        for row in (
            *(one.row.model_dump() for one in rows.tools),
            *(one.row.model_dump() for one in rows.connections),
            *(one.row.model_dump() for one in rows.agents),
        )
    )
    # The kind of a row is told by its keys, and a newline cannot stand inside of one.
    everything = b"\n".join(written)
    return f"sha256:{hashlib.sha256(everything).hexdigest()}"


def _sorted(row: dict[str, object]) -> dict[str, object]:
    return {key: sorted(value) if isinstance(value, frozenset) else value for key, value in row.items()}
