"""What is checked of connections and agents, and of rows against one another."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.base import Adapter
from gateway.documents import Problem
from gateway.registry.catalogue import visible_names
from gateway.registry.grants import check_credential
from gateway.registry.manifest import AgentRow, ConnectionRow, ToolRow
from gateway.registry.places import Placed, Rows
from gateway.registry.spending_checks import Units, check_spending, units_of
from gateway.registry.tool_checks import check_scopes_known, operation_of
from gateway.rows import Disposition
from gateway.settings.load import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What there is to be named by a row. A row that could not be read counts as there."""

    tools: Collection[str]
    groups: Collection[str]
    agents: Mapping[str, Collection[str]]
    """By tenant."""
    units: Units
    """What calls cost."""
    are_groups_known: bool
    """Not when a tool could not be read: its groups are not known either."""


def names_of(rows: Rows) -> Names:
    """The names in these rows."""
    agents: defaultdict[str, set[str]] = defaultdict(set)
    for one in rows.agents:
        agents[one.row.tenant].add(one.row.name)
    return Names(
        tools={tool.row.name for tool in rows.tools} | rows.unread["tools"],
        groups={group for tool in rows.tools for group in tool.row.groups},
        agents={tenant: names | rows.unread["agents"] for tenant, names in agents.items()},
        units=units_of(rows),
        are_groups_known=not rows.unread["tools"],
    )


def check_duplicates(rows: Rows) -> Iterator[Problem]:
    """A problem for the second and every later row of one name, which says where the first is."""
    yield from _repeated(rows.tools, [(one.row.name,) for one in rows.tools], "tool")
    yield from _repeated(rows.connections, [(one.row.tenant, one.row.name) for one in rows.connections], "connection")
    yield from _repeated(rows.agents, [(one.row.tenant, one.row.name) for one in rows.agents], "agent")


def _repeated(placed: Sequence[Placed[Any]], keys: Sequence[tuple[str, ...]], noun: str) -> Iterator[Problem]:
    first: dict[tuple[str, ...], Placed[Any]] = {}
    for one, key in zip(placed, keys, strict=True):
        if key in first:
            message = f"the {noun} {'/'.join(key)} exists already; the first is at {first[key].place}"
            yield one.problem(("name",), "duplicate", message)
        first.setdefault(key, one)


def check_connection(
    connection: Placed[ConnectionRow], *, adapters: Mapping[str, Adapter], settings: Settings
) -> Iterator[Problem]:
    """Vendor and credential of one connection."""
    row = connection.row
    if row.vendor not in adapters:
        yield connection.problem(("vendor",), "vendor", f"there is no adapter {row.vendor!r}")
    if row.credential:
        for rule, message in check_credential(row.credential, row.hosts, row.tenant, settings.credentials):
            yield connection.problem(("credential",), rule, f"{row.name}: {message}")


def check_agent(agent: Placed[AgentRow], settings: Settings) -> Iterator[Problem]:
    """What can be said of an agent's row alone."""
    yield from check_scopes_known(agent, "scopes", agent.row.scopes, settings)


def check_named(agent: Placed[AgentRow], names: Names) -> Iterator[Problem]:
    """Everything that one agent's row names exists."""
    row = agent.row
    yield from check_spending(agent, names.tools, names.units)
    yield from _unknown(agent, "tools", row.tools.difference(names.tools), "tool")
    if names.are_groups_known:
        yield from _unknown(agent, "groups", row.groups.difference(names.groups), "group")
    peers = names.agents.get(row.tenant, ())
    yield from _unknown(agent, "collaborators", row.collaborators.difference(peers), "agent of this tenant")


def _unknown(agent: Placed[AgentRow], field: str, names: Iterable[str], noun: str) -> Iterator[Problem]:
    for name in sorted(names):
        yield agent.problem((field,), f"known_{field}", f"{agent.row.name}: there is no {noun} {name!r}")


def check_bindings(rows: Rows, adapters: Mapping[str, Adapter]) -> Iterator[Problem]:
    """Every tool's connection exists: for each tenant of which an agent has the tool, and somewhere."""
    connections = {(one.row.tenant, one.row.name): one.row for one in rows.connections}
    somewhere = {name for _, name in connections}
    seen = _seen_by_tenant(rows)
    in_order = sorted(seen)
    for tool in rows.tools:
        name = tool.row.binding.connection
        if name in rows.unread["connections"]:
            continue
        if name not in somewhere and not tool.is_builtin:
            yield tool.problem(("binding", "connection"), "connection", f"there is no connection {name!r}")
            continue
        for tenant in [tenant for tenant in in_order if tool.row.name in seen[tenant]]:
            message = _wrong_connection(tool, connections.get((tenant, name)), tenant, adapters)
            if message:
                yield tool.problem(("binding", "connection"), "connection", message)


def _seen_by_tenant(rows: Rows) -> dict[str, set[str]]:
    """The tools that some agent of a tenant has."""
    tools = {tool.row.name: tool.row for tool in rows.tools}
    by_group = always_by_group(tools.values())
    seen: defaultdict[str, set[str]] = defaultdict(set)
    alike = {(one.row.tenant, one.row.tools, one.row.groups): one.row for one in rows.agents}
    for agent in alike.values():
        seen[agent.tenant] |= visible_names(agent, tools, by_group)
    return seen


def always_by_group(tools: Iterable[ToolRow]) -> dict[str, frozenset[str]]:
    """The tools of each group that every member has."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for tool in tools:
        for group in tool.groups if tool.disposition is Disposition.ALWAYS else ():
            groups[group].add(tool.name)
    return {group: frozenset(names) for group, names in groups.items()}


def _wrong_connection(
    tool: Placed[ToolRow], connection: ConnectionRow | None, tenant: str, adapters: Mapping[str, Adapter]
) -> str:
    row = tool.row
    if connection is None:
        return f"{row.name}: an agent of the tenant {tenant!r} has it, and {tenant!r} has no {row.binding.connection!r}"
    if connection.vendor != row.binding.adapter and {connection.vendor, row.binding.adapter} <= adapters.keys():
        return f"{row.name}: the connection is of {connection.vendor!r}, not of {row.binding.adapter!r}"
    operation = operation_of(tool, adapters)
    if operation is not None and operation.needs_credential and not connection.credential:
        return f"{row.name}: the operation needs a credential, and the connection of {tenant!r} has none"
    return ""
