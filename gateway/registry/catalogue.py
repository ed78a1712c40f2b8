"""Step 3: this tool exists for this agent, or it does not.

Everything is worked out when the registry is loaded: a call costs two dictionary look-ups, however many
tools and agents there are. Agents of one tenant that see the same tools share one view.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from adapters.base import Operation
from gateway.call import Principal, Surface
from gateway.errors import Reason, Refusal
from gateway.rows import Agent, Connection, Schema, Tool

EVERYBODY = ""
"""The tenant of tools that belong to none."""
NOT_FOUND = "There is no such tool. List your tools to see what you can call."
"""Says nothing of the tool: a hidden and an unknown one must give the same bytes."""


class Bound(NamedTuple):
    """A tool with all that stands behind it for one tenant."""

    tool: Tool
    connection: Connection
    operation: Operation
    schema: Schema
    output_schema: Schema | None


class Entry(NamedTuple):
    """A tool as one agent may call it."""

    agent: Agent
    tool: Tool
    connection: Connection
    operation: Operation
    schema: Schema
    """The input schema, compiled."""
    output_schema: Schema | None
    """The output schema, compiled."""


class View:
    """What some agents of one tenant see, by surface."""

    __slots__ = ("_bound", "_tools")

    def __init__(self, bound: Iterable[Bound]) -> None:
        by_name = sorted(bound, key=lambda one: one.tool.name)
        on = {surface: [one for one in by_name if surface in one.tool.surfaces] for surface in Surface}
        self._bound = {surface: {one.tool.name: one for one in some} for surface, some in on.items()}
        self._tools = {surface: tuple(one.tool for one in some) for surface, some in on.items()}

    def find(self, name: str, surface: Surface) -> Bound | None:
        """The tool of that name, or None whether it is hidden or unknown."""
        return self._bound[surface].get(name)

    def tools(self, surface: Surface) -> tuple[Tool, ...]:
        """All tools, by name."""
        return self._tools[surface]


_NOTHING = View(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The registry as it was loaded. Nothing in it changes; a new load makes a new one."""

    agents: Mapping[tuple[str, str], tuple[Agent, View]]
    """By tenant and name."""
    tools: tuple[Tool, ...]
    """Every tool by name, seen by anybody or not: for people and for checks, never for an agent. Two tenants may
    have different tools of one name.
    """
    connections: tuple[Connection, ...]
    digest: str
    """`sha256:` and hex over every row."""
    tools_of: Mapping[str, Mapping[str, Tool]] = field(default_factory=dict, repr=False)
    """Every tool by tenant and name; those under `EVERYBODY` are for tenants that have none of their own here."""

    def tool(self, tenant: str, name: str) -> Tool | None:
        """The tool of that name as the tenant has it, seen by anybody or not: never for an agent."""
        return self.tools_of.get(tenant, self.tools_of.get(EVERYBODY, {})).get(name)

    def find(self, principal: Principal, name: str, surface: Surface) -> Entry:
        """The tool as this caller may call it.

        Raises `Refusal(tool_not_found)`, the same for a hidden tool, an unknown one and an agent
        without a row.
        """
        agent, view = self.agents.get((principal.tenant, principal.agent), (None, _NOTHING))
        bound = view.find(name, surface)
        if bound is None or agent is None:
            raise Refusal(Reason.TOOL_NOT_FOUND, NOT_FOUND)
        return Entry(agent, *bound)

    def visible(self, principal: Principal, surface: Surface) -> tuple[Tool, ...]:
        """The tools that this caller may see, by name. An agent without a row sees none."""
        _, view = self.agents.get((principal.tenant, principal.agent), (None, _NOTHING))
        return view.tools(surface)


class Sees(Protocol):
    """An agent, as far as it sees tools."""

    @property
    def tools(self) -> frozenset[str]:
        """Those that it names."""
        ...

    @property
    def groups(self) -> frozenset[str]:
        """Those that it is a member of."""
        ...


def visible_names(agent: Sees, tools: Mapping[str, object], by_group: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The tools that an agent's row shows: those it names, and those of its groups that are for every
    member. `by_group` holds the `always` tools of each group.
    """
    named = agent.tools.intersection(tools)
    return named.union(*(by_group.get(group, frozenset()) for group in agent.groups))


def joined(catalogues: Collection[Catalogue]) -> Catalogue:
    """One of many, of which no two hold agents of one tenant. A look-up in it costs what it costs in each."""
    if len(catalogues) == 1:
        return next(iter(catalogues))
    digests = sorted(one.digest.encode() for one in catalogues)
    # An adapter's own tools are the same for every tenant that has not its own of that name.
    tools = {id(tool): tool for one in catalogues for tool in one.tools}
    return Catalogue(
        agents={key: found for one in catalogues for key, found in one.agents.items()},
        tools=tuple(sorted(tools.values(), key=lambda tool: tool.name)),
        connections=tuple(connection for one in catalogues for connection in one.connections),
        digest=f"sha256:{hashlib.sha256(b' '.join(digests)).hexdigest()}",
        tools_of={tenant: tools for one in catalogues for tenant, tools in one.tools_of.items()},
    )


def new_tools(before: Catalogue, after: Catalogue) -> tuple[Tool, ...]:
    """The tools that are new in a registry, or not what they were."""
    known: dict[str, list[Tool]] = {}
    for tool in before.tools:
        known.setdefault(tool.name, []).append(tool)
    return tuple(tool for tool in after.tools if tool not in known.get(tool.name, ()))
