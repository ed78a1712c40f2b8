"""Rows become a catalogue, or every problem in them at once. Nothing is half loaded."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.base import Adapter
from gateway.documents import Problem
from gateway.registry.catalogue import EVERYBODY, Bound, Catalogue, View, visible_names
from gateway.registry.making import Made, MadeAgent, MadeConnection, MadeTool, Maker
from gateway.registry.manifest import AgentRow, ConnectionRow, ToolRow
from gateway.registry.places import Rows, read_rows
from gateway.registry.row_checks import always_by_group, check_bindings, check_duplicates, check_named, names_of
from gateway.registry.tool_checks import CompileSchema, check_description
from gateway.rows import Agent, Connection, Tool
from gateway.settings.load import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What came of loading. `catalogue` is None exactly when a problem is not a warning."""

    catalogue: Catalogue | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Every row that could be read, and what came of each alone."""

    tools: Sequence[MadeTool] = ()
    connections: Sequence[MadeConnection] = ()
    agents: Sequence[MadeAgent] = ()
    unread: Mapping[str, set[str]]
    """The names of rows that are there and could not be read, by `tools`, `connections` and `agents`."""

    @property
    def every(self) -> Iterator[Made[ToolRow] | Made[ConnectionRow] | Made[AgentRow]]:
        """All of them."""
        yield from self.tools
        yield from self.connections
        yield from self.agents


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
    maker = Maker(adapters=adapters, settings=settings, compile_schema=compile_schema)
    rows, problems = read_rows(paths, builtin or {})
    parts = Parts(
        tools=[maker.tool(one) for one in rows.tools],
        connections=[maker.connection(one) for one in rows.connections],
        agents=[maker.agent(one) for one in rows.agents],
        unread=rows.unread,
    )
    return load_parts(parts, problems, adapters)


def load_parts(
    parts: Parts, problems: Iterable[Problem], adapters: Mapping[str, Adapter], *, tenant: str = EVERYBODY
) -> Loaded:
    """The registry of these rows, whose tools are this tenant's. `problems` are of rows that could not be read."""
    found = {*problems, *_problems_among(parts, adapters)}
    for one in parts.every:
        found.update(one.problems)
    in_order = tuple(sorted(found))
    if any(not problem.is_warning for problem in in_order):
        return Loaded(catalogue=None, problems=in_order)
    return Loaded(catalogue=_catalogue(parts, tenant), problems=in_order)


def _problems_among(parts: Parts, adapters: Mapping[str, Adapter]) -> Iterator[Problem]:
    """What is wrong with rows because of others."""
    rows = Rows(
        tools=[one.placed for one in parts.tools],
        connections=[one.placed for one in parts.connections],
        agents=[one.placed for one in parts.agents],
        unread=dict(parts.unread),
    )
    names = names_of(rows)
    yield from check_duplicates(rows)
    for agent in rows.agents:
        yield from check_named(agent, names)
    yield from check_bindings(rows, adapters, {one.placed.row.name: one.operation for one in parts.tools})
    tools = {one.row.name for one in rows.tools}
    for tool in parts.tools:
        yield from check_description(tool.placed, tool.named, tools)


def _catalogue(parts: Parts, tenant: str) -> Catalogue:
    tools = {one.placed.row.name: one for one in parts.tools}
    connections = {(one.connection.tenant, one.connection.name): one.connection for one in parts.connections}
    views = _Views(tools, connections)
    return Catalogue(
        agents={(one.agent.tenant, one.agent.name): (one.agent, views.of(one.agent)) for one in parts.agents},
        tools=tuple(_tool(tools[name]) for name in sorted(tools)),
        connections=tuple(connections[key] for key in sorted(connections)),
        digest=digest_of(one.digest for one in parts.every),
        tools_of={tenant: {name: _tool(one) for name, one in tools.items()}},
    )


def _tool(made: MadeTool) -> Tool:
    assert made.tool is not None  # whose schema cannot be used has a problem
    return made.tool


class _Views:
    """Makes each view once, and binds each tool once for each tenant."""

    def __init__(
        self,
        tools: Mapping[str, MadeTool],
        connections: Mapping[tuple[str, str], Connection],
    ) -> None:
        self._tools = tools
        self._connections = connections
        self._views: dict[tuple[str, frozenset[str]], View] = {}
        self._alike: dict[tuple[str, frozenset[str], frozenset[str]], View] = {}
        self._bound: dict[tuple[str, str], Bound] = {}
        self._by_group = always_by_group(one.placed.row for one in tools.values())

    def of(self, agent: Agent) -> View:
        """The view of one agent; agents that see the same share it."""
        alike = (agent.tenant, agent.tools, agent.groups)
        if alike not in self._alike:
            names = visible_names(agent, self._tools, self._by_group)
            self._alike[alike] = self._of_names(agent.tenant, names)
        return self._alike[alike]

    def _of_names(self, tenant: str, names: frozenset[str]) -> View:
        key = (tenant, names)
        if key not in self._views:
            self._views[key] = View(self._bind(tenant, name) for name in names)
        return self._views[key]

    def _bind(self, tenant: str, name: str) -> Bound:
        if (tenant, name) not in self._bound:
            one = self._tools[name]
            tool, compiled = _tool(one), one.compiled
            assert compiled.schema is not None
            assert one.operation is not None  # which has none has a problem
            self._bound[tenant, name] = Bound(
                tool=tool,
                connection=self._connections[tenant, tool.binding.connection],
                operation=one.operation,
                schema=compiled.schema,
                output_schema=compiled.output_schema,
            )
        return self._bound[tenant, name]


def digest_of(digests: Iterable[bytes]) -> str:
    """Over every row, wherever it stands and in whatever order: `sha256:` and hex."""
    return f"sha256:{hashlib.sha256(b''.join(sorted(digests))).hexdigest()}"
