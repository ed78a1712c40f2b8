"""Whether an agent's budgets and caps hold somebody back: each counts something, and no two count the same."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from gateway.documents import Location, Problem
from gateway.registry.frozen import budget_of, cap_of
from gateway.registry.manifest import AgentRow, CostRow
from gateway.registry.places import Placed, Rows
from gateway.rows import Allowance

CALLS = "calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """What the calls of tools cost beside themselves."""

    by_tool: Mapping[str, frozenset[str]]
    """Of every tool that could be read."""
    of_any: frozenset[str]
    are_all_known: bool
    """Not when a tool could not be read: nobody knows what it costs."""


def units_of(rows: Rows) -> Units:
    """The units in these rows."""
    by_tool = {tool.row.name: _units(tool.row.cost) for tool in rows.tools}
    return Units(
        by_tool=by_tool,
        of_any=frozenset(unit for units in by_tool.values() for unit in units),
        are_all_known=not rows.unread["tools"],
    )


def check_spending(agent: Placed[AgentRow], tools: Collection[str], units: Units) -> Iterator[Problem]:
    """A problem for each that names a tool that is not among `tools`, counts nothing, or counts what another counts."""
    name = agent.row.name
    seen: set[tuple[object, ...]] = set()
    for at, allowance in _allowances(agent.row):
        for tool in sorted(allowance.tools.difference(tools)):
            yield agent.problem((*at, "tools"), "known_tools", f"{name}: there is no tool {tool!r}")
        if message := _uncounted(allowance, units):
            yield agent.problem(at, "unit", f"{name}: {message}")
        if (counter := _counter(allowance)) in seen:
            message = "another counts the same calls over the same time; keep the lower limit"
            yield agent.problem(at, "duplicate", f"{name}: {message}")
        seen.add(counter)


def _allowances(row: AgentRow) -> Iterator[tuple[Location, Allowance]]:
    for index, budget in enumerate(row.budgets):
        yield ("budgets", index), budget_of(budget)
    for index, cap in enumerate(row.caps):
        yield ("caps", index), cap_of(cap)


def _uncounted(allowance: Allowance, units: Units) -> str:
    """Why it would hold nobody back; empty when it does."""
    unit = allowance.unit
    if unit == CALLS:
        return ""
    for name in sorted(allowance.tools & units.by_tool.keys()):
        if unit not in units.by_tool[name]:
            return f"{name} costs no {unit!r}, so its calls would not count; say in its cost how many one call takes"
    if not allowance.tools and units.are_all_known and unit not in units.of_any:
        return f"no tool costs any {unit!r}, so this would hold nobody back"
    return ""


def _units(cost: CostRow) -> frozenset[str]:
    return frozenset(cost.counts) | ({cost.money.currency} if cost.money is not None else frozenset())


def _counter(allowance: Allowance) -> tuple[object, ...]:
    """What names its counter."""
    return allowance.unit, allowance.share, allowance.seconds, allowance.tools, allowance.side_effect
