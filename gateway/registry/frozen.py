"""Manifest rows become the frozen rows of the registry, and their JSON for policy, once.

What policy sees holds no credential, no schema and no connection's options.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import orjson

from adapters.base import Target
from gateway.registry.manifest import (
    AgentRow,
    AllowanceRow,
    BudgetRow,
    CapRow,
    ConnectionRow,
    CostRow,
    RateRow,
    ToolRow,
)
from gateway.rows import (
    DAY_SECONDS,
    Agent,
    Allowance,
    Binding,
    Connection,
    KeyRule,
    Price,
    Rate,
    Subscription,
    Tool,
    window_seconds,
)

DEFAULT_TIMEOUT_MS = 30_000
_DIGITS = 32
"""Of a digest in a version: as many as nobody finds two rows for."""


def tool_of(row: ToolRow, *, longest_ms: int) -> Tool:
    """The tool; its timeout is at most `longest_ms` when the row does not say."""
    return Tool(
        name=row.name,
        version=version_of(row),
        title=row.title or row.name.replace("_", " ").capitalize(),
        description=row.description,
        input_schema=row.input_schema,
        output_schema=row.output_schema,
        requires=row.requires,
        required_claims=row.required_claims,
        allowed_roles=row.allowed_roles,
        modes=row.modes,
        side_effect=row.side_effect,
        risk=row.risk,
        kind=row.kind,
        binding=Binding(**row.binding.model_dump()),
        groups=row.groups,
        disposition=row.disposition,
        surfaces=frozenset(row.surfaces),
        key_rule=row.idempotency or KeyRule.NATURAL,
        trust=row.trust,
        sensitivity=row.sensitivity,
        field_trust=row.field_trust,
        field_sensitivity=row.field_sensitivity,
        cost=_cost(row.cost),
        timeout_ms=row.timeout_ms or min(DEFAULT_TIMEOUT_MS, longest_ms),
        rate=_rate(row.limits.rate),
        redactions=row.redactions,
        max_leaves=row.limits.max_leaves,
        max_result_bytes=row.limits.max_result_bytes,
        preview=row.preview,
        private_arguments=row.private_arguments,
        prices=tuple(_prices(row.cost)),
        policy_json=_tool_fragment(row),
        input_schema_json=orjson.dumps(row.input_schema),
        output_schema_json=b"" if row.output_schema is None else orjson.dumps(row.output_schema),
    )


def version_of(row: ToolRow) -> str:
    """The row's own; where the row itself says what runs, with a digest of that behind it: an approval, which is of one
    version, then covers no other request, whatever somebody writes into the row before it runs.
    """
    if not row.binding.options:
        return row.version
    runs = [row.binding.adapter, row.binding.operation, row.side_effect, row.binding.options]
    return f"{row.version}+{hashlib.sha256(orjson.dumps(runs, option=orjson.OPT_SORT_KEYS)).hexdigest()[:_DIGITS]}"


def connection_of(row: ConnectionRow) -> Connection:
    """The connection."""
    return Connection(
        name=row.name,
        tenant=row.tenant,
        vendor=row.vendor,
        target=target_of(row),
        scopes=row.scopes,
        credential=row.credential,
        rate=_rate(row.rate),
        webhook_secret="" if row.webhook is None else row.webhook.secret,
        policy_json=_connection_fragment(row),
    )


def target_of(row: ConnectionRow) -> Target:
    """The connection as its adapter sees it."""
    return Target(
        name=row.name,
        account=f"{row.tenant}/{row.name}",
        hosts=row.hosts,
        options=row.options,
        audience=row.assertion,
    )


def agent_of(row: AgentRow) -> Agent:
    """The agent."""
    return Agent(
        name=row.name,
        tenant=row.tenant,
        tools=row.tools,
        groups=row.groups,
        scopes=row.scopes,
        roles=row.roles,
        rate=_rate(row.rate),
        budgets=tuple(map(budget_of, row.budgets)),
        caps=tuple(map(cap_of, row.caps)),
        collaborators=row.collaborators,
        grants=row.grants,
        events=tuple(Subscription(connection=one.connection, kinds=one.kinds) for one in row.events),
        policy_json=_agent_fragment(row),
    )


def budget_of(row: BudgetRow) -> Allowance:
    """The budget, to be counted with."""
    seconds = DAY_SECONDS if row.scope == "agent_day" else None if row.per is None else window_seconds(row.per)
    return Allowance(
        unit=row.unit,
        limit=row.limit,
        share=row.scope,
        seconds=seconds,
        tools=frozenset(row.tools),
        side_effect=row.side_effect,
    )


def cap_of(row: CapRow) -> Allowance:
    """The cap, to be counted with."""
    return Allowance(
        unit=row.unit,
        limit=row.limit,
        share="run" if row.per == "run" else "agent_day" if row.per == "day" else "agent",
        seconds=None if row.per == "run" else window_seconds(row.per),
        tools=frozenset(row.tools),
        side_effect=row.side_effect,
        is_cap=True,
    )


def _prices(row: CostRow) -> Iterator[Price]:
    if row.money is not None:
        pointers = () if row.money.path is None else (row.money.path,)
        yield Price(unit=row.money.currency, amount=row.money.amount or 0, pointers=pointers)
    for unit, count in row.counts.items():
        if isinstance(count, int):
            yield Price(unit=unit, amount=count)
        else:
            yield Price(unit=unit, pointers=(count,) if isinstance(count, str) else count)


def _cost(row: CostRow) -> dict[str, Any]:
    """As it is written; empty when a call costs nothing."""
    return row.model_dump(mode="json", exclude_defaults=True)


def _plain(row: AllowanceRow) -> dict[str, Any]:
    return row.model_dump(mode="json", exclude_none=True)


def _rate(row: RateRow | None) -> Rate | None:
    return None if row is None else Rate(per_minute=row.per_minute, burst=row.burst)


def _tool_fragment(row: ToolRow) -> bytes:
    return _write(
        {
            "name": row.name,
            "version": row.version,
            "side_effect": row.side_effect,
            "risk": row.risk,
            "kind": row.kind,
            "vendor": row.binding.adapter,
            "operation": row.binding.operation,
            "groups": sorted(row.groups),
            "requires": sorted(row.requires),
            "trust": row.trust,
            "sensitivity": row.sensitivity,
            "cost": _cost(row.cost),
            "preview": row.preview,
        }
    )


def _connection_fragment(row: ConnectionRow) -> bytes:
    return _write({"name": row.name, "vendor": row.vendor, "scopes": sorted(row.scopes), "hosts": sorted(row.hosts)})


def _agent_fragment(row: AgentRow) -> bytes:
    return _write(
        {
            "name": row.name,
            "scopes": sorted(row.scopes),
            "roles": sorted(row.roles),
            "groups": sorted(row.groups),
            "grants": row.grants,
            "budgets": [_plain(budget) for budget in row.budgets],
            "caps": [_plain(cap) for cap in row.caps],
            "collaborators": sorted(row.collaborators),
        }
    )


def _write(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
