"""What is checked of connections and agents, and of rows against one another."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from adapters.base import Adapter
from gateway.documents import Problem
from gateway.registry.grants import check_credential
from gateway.registry.manifest import AgentRow, ConnectionRow, ToolRow
from gateway.registry.places import Placed, Rows
from gateway.registry.tool_checks import check_scopes_known, operation_of
from gateway.rows import Disposition
from gateway.settings.load import Settings


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
    """Vendor, target and credential of one connection."""
    row = connection.row
    if row.vendor not in adapters:
        yield connection.problem(("vendor",), "vendor", f"there is no adapter {row.vendor!r}")
    if row.credential:
        for rule, message in check_credential(row.credential, row.hosts, row.tenant, settings.credentials):
            yield connection.problem(("credential",), rule, f"{row.name}: {message}")


def check_agent(agent: Placed[AgentRow], rows: Rows, settings: Settings) -> Iterator[Problem]:
    """Everything that one agent's row names exists. A row that could not be read counts as there."""
    row = agent.row
    tools = {tool.row.name for tool in rows.tools} | rows.unread["tools"]
    groups = {group for tool in rows.tools for group in tool.row.groups}
    peers = {one.row.name for one in rows.agents if one.row.tenant == row.tenant} | rows.unread["agents"]
    yield from _unknown(agent, "tools", row.tools - tools, "tool")
    if not rows.unread["tools"]:
        yield from _unknown(agent, "groups", row.groups - groups, "group")
    yield from _unknown(agent, "collaborators", row.collaborators - peers, "agent of this tenant")
    yield from check_scopes_known(agent, "scopes", row.scopes, settings)
    for field in ("budgets", "caps"):
        if getattr(row, field):
            sentence = f"{row.name}: this version counts no {field}, so they would hold nobody back; take them out"
            yield agent.problem((field,), "not_enforced", sentence)


def _unknown(agent: Placed[AgentRow], field: str, names: Iterable[str], noun: str) -> Iterator[Problem]:
    for name in sorted(names):
        yield agent.problem((field,), f"known_{field}", f"{agent.row.name}: there is no {noun} {name!r}")


def check_bindings(rows: Rows, adapters: Mapping[str, Adapter]) -> Iterator[Problem]:
    """Every tool's connection exists: for each tenant of which an agent has the tool, and somewhere."""
    connections = {(one.row.tenant, one.row.name): one.row for one in rows.connections}
    somewhere = {name for _, name in connections}
    for tool in rows.tools:
        name = tool.row.binding.connection
        if name in rows.unread["connections"]:
            continue
        if name not in somewhere and not tool.is_builtin:
            yield tool.problem(("binding", "connection"), "connection", f"there is no connection {name!r}")
            continue
        for tenant in sorted(_tenants_with(tool.row, rows.agents)):
            message = _wrong_connection(tool, connections.get((tenant, name)), tenant, adapters)
            if message:
                yield tool.problem(("binding", "connection"), "connection", message)


def _tenants_with(tool: ToolRow, agents: Iterable[Placed[AgentRow]]) -> set[str]:
    return {agent.row.tenant for agent in agents if is_seen(tool, agent.row)}


def is_seen(tool: ToolRow, agent: AgentRow) -> bool:
    """Whether the agent's row shows the tool: it is named, or its group has it and it is for every member."""
    if tool.name in agent.tools:
        return True
    return tool.disposition is Disposition.ALWAYS and not tool.groups.isdisjoint(agent.groups)


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
