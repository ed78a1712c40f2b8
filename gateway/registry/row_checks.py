"""What is checked of connections and agents, and of rows against one another."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.base import Adapter, Operation
from adapters.webhooks import Delivers
from gateway.documents import Problem
from gateway.registry.catalogue import visible_names
from gateway.registry.grants import check_credential
from gateway.registry.manifest import AgentRow, ConnectionRow, ToolRow
from gateway.registry.places import Placed, Rows
from gateway.registry.spending_checks import Units, check_spending, units_of
from gateway.registry.tool_checks import check_scopes_known
from gateway.rows import Disposition
from gateway.settings.assertions import check_assertion
from gateway.settings.load import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What there is to be named by a row. A row that could not be read counts as there."""

    tools: Collection[str]
    groups: Collection[str]
    connections: Mapping[tuple[str, str], ConnectionRow | None]
    """By tenant and name; None for one that could not be read."""
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
    connections: dict[tuple[str, str], ConnectionRow | None] = {
        (tenant, name): None for tenant in agents for name in rows.unread["connections"]
    }
    connections |= {(one.row.tenant, one.row.name): one.row for one in rows.connections}
    return Names(
        tools={tool.row.name for tool in rows.tools} | rows.unread["tools"],
        groups={group for tool in rows.tools for group in tool.row.groups},
        connections=connections,
        agents={tenant: names | rows.unread["agents"] for tenant, names in agents.items()},
        units=units_of(rows),
        are_groups_known=not rows.unread["tools"],
    )


def check_duplicates(rows: Rows) -> Iterator[Problem]:
    """A problem for the second and every later row of one name, which says where the first is."""
    yield from _repeated(rows.tools, [(one.row.name,) for one in rows.tools], "tool")
    yield from _repeated(rows.connections, [(one.row.tenant, one.row.name) for one in rows.connections], "connection")
    yield from _repeated(rows.agents, [(one.row.tenant, one.row.name) for one in rows.agents], "agent")
    yield from _alike(rows.tools)


def _alike(tools: Sequence[Placed[ToolRow]]) -> Iterator[Problem]:
    """A problem for the second and every later of tools that a model may take for one another."""
    first: dict[str, Placed[ToolRow]] = {}
    for one in tools:
        other = first.setdefault(_as_seen(one.row.name), one)
        if other.row.name != one.row.name:
            message = f"{one.row.name} looks like {other.row.name} ({other.place}); name it so that nobody mistakes it"
            yield one.problem(("name",), "look_alike", message)


def _as_seen(name: str) -> str:
    """A tool's name without what is easily overlooked: how many underscores, and 0 and 1 in the place of o and l."""
    return "_".join(part for part in name.split("_") if part).translate({ord("0"): "o", ord("1"): "l"})


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
    if row.assertion:
        for rule, message in check_assertion(row.assertion, row.hosts, row.tenant, settings.assertions):
            yield connection.problem(("assertion",), rule, f"{row.name}: {message}")
    if row.webhook is not None:
        yield from _check_webhook(connection, row.webhook.secret, adapters.get(row.vendor), settings)


def _check_webhook(
    connection: Placed[ConnectionRow], secret: str, adapter: Adapter | None, settings: Settings
) -> Iterator[Problem]:
    row = connection.row
    if adapter is not None and not isinstance(adapter, Delivers):
        yield connection.problem(("webhook",), "webhook", f"{row.name}: {row.vendor} tells of nothing by webhooks")
    for rule, message in check_credential(secret, row.hosts, row.tenant, settings.credentials):
        yield connection.problem(("webhook", "secret"), rule, f"{row.name}: {message}")
    if secret.startswith("vault-dynamic:"):
        message = f"{row.name}: what is made anew for each use signs nothing; name a secret that is kept"
        yield connection.problem(("webhook", "secret"), "webhook", message)


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
    yield from _check_events(agent, names)
    yield from _unknown(agent, "collaborators", row.collaborators.difference(peers), "agent of this tenant")


def _check_events(agent: Placed[AgentRow], names: Names) -> Iterator[Problem]:
    for index, one in enumerate(agent.row.events):
        key, at = (agent.row.tenant, one.connection), ("events", index, "connection")
        if key not in names.connections:
            message = f"{agent.row.name}: {agent.row.tenant!r} has no connection {one.connection!r}"
            yield agent.problem(at, "known_connection", message)
        elif (connection := names.connections[key]) is not None and connection.webhook is None:
            message = f"{agent.row.name}: the connection {one.connection!r} has no webhook, so nothing comes from there"
            yield agent.problem(at, "webhook", message)


def _unknown(agent: Placed[AgentRow], field: str, names: Iterable[str], noun: str) -> Iterator[Problem]:
    for name in sorted(names):
        yield agent.problem((field,), f"known_{field}", f"{agent.row.name}: there is no {noun} {name!r}")


def check_bindings(
    rows: Rows, adapters: Mapping[str, Adapter], operations: Mapping[str, Operation | None]
) -> Iterator[Problem]:
    """Every tool's connection exists: for each tenant of which an agent has the tool, and somewhere. `operations` are
    what tools are bound to, by their names.
    """
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
            message = message or _lacks_credential(tool, connections[tenant, name], operations.get(tool.row.name))
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
    return ""


def _lacks_credential(tool: Placed[ToolRow], connection: ConnectionRow, operation: Operation | None) -> str:
    if operation is None or not operation.needs_credential or connection.credential:
        return ""
    return f"{tool.row.name}: the operation needs a credential, and the connection of {connection.tenant!r} has none"
