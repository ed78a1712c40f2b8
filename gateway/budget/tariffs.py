"""Which counters the calls of one agent of one tool are taken from: worked out once and not for every call."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gateway.budget import words
from gateway.budget.base import OpenRun
from gateway.call import BudgetScope, Charge
from gateway.clock import rfc3339
from gateway.rows import DAY_SECONDS, Agent, Allowance, Tool

CALLS = words.CALLS
MOST_TARIFFS = 100_000
"""Of pairs of agent and tool; beyond it all are worked out anew."""
_LONGEST_SELECTION = 200
"""In a counter's name, which is part of an index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toll:
    """One counter of the calls, but for the window and the run."""

    allowance: Allowance
    scope: BudgetScope
    owner: str
    opening: str
    """The first half of what a caller is told."""

    def charge(self, amount: int, run: OpenRun | None, now: float) -> Charge:
        """What a call takes of the counter that is good at this moment (seconds since the epoch)."""
        allowance = self.allowance
        scope, name, period, until, renewal = self._counter(run, now)
        return Charge(
            scope=scope,
            name=name,
            unit=allowance.unit,
            period=period,
            amount=amount,
            limit=allowance.limit,
            expires_at=until,
            is_cap=allowance.is_cap,
            told=f"{self.opening}, {words.ending(allowance, amount)}{renewal if amount <= allowance.limit else ''}.",
        )

    def _counter(self, run: OpenRun | None, now: float) -> tuple[BudgetScope, str, str, float | None, str]:
        # 1. Of an opened run; opened again when it was over it has another.
        if self.scope is BudgetScope.RUN and run is not None:
            return self.scope, f"{self.owner}/{run.run_id}", rfc3339(run.opened_at), run.expires_at, ""
        # 2. In no opened run: all such calls of a day count as one run.
        if self.scope is BudgetScope.RUN:
            period, end = _window(now, DAY_SECONDS)
            return BudgetScope.AGENT_DAY, f"{self.owner}/", period, end, words.renewal(end, is_shared=True)
        # 3. For ever.
        if self.allowance.seconds is None:
            return self.scope, self.owner, "", None, ""
        # 4. Over a window.
        period, end = _window(now, self.allowance.seconds)
        return self.scope, self.owner, period, end, words.renewal(end, is_shared=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """All counters of one agent's calls of one tool."""

    agent: Agent
    tool: Tool
    tolls: tuple[Toll, ...]
    asks_for_run: bool
    """Whether it matters that the run is open."""

    def charges(self, costs: Mapping[str, int], run: OpenRun | None, now: float) -> tuple[Charge, ...]:
        """What a call takes that costs so much. No two are of one counter."""
        taken = ((toll, _amount(toll.allowance.unit, costs)) for toll in self.tolls)
        return tuple(toll.charge(amount, run, now) for toll, amount in taken if amount)


class Tariffs:
    """The tariff of every agent and tool that met."""

    def __init__(self, of_tenants: Iterable[tuple[str, Allowance]] = ()) -> None:
        """`of_tenants`: what all agents of a tenant share, by the tenant's name."""
        self._of_tenants: defaultdict[str, list[Allowance]] = defaultdict(list)
        for tenant, allowance in of_tenants:
            self._of_tenants[tenant].append(allowance)
        self._tariffs: dict[tuple[str, str, str], Tariff] = {}

    def of(self, agent: Agent, tool: Tool) -> Tariff:
        """The tariff; made again when the registry has a new row for one of the two."""
        key = (agent.tenant, agent.name, tool.name)
        tariff = self._tariffs.get(key)
        if tariff is None or tariff.tool is not tool or tariff.agent is not agent:
            if len(self._tariffs) >= MOST_TARIFFS:
                self._tariffs.clear()
            tariff = self._tariffs[key] = self._made(agent, tool)
        return tariff

    def _made(self, agent: Agent, tool: Tool) -> Tariff:
        shared = self._of_tenants.get(agent.tenant, ())
        units = {CALLS, *(price.unit for price in tool.prices)}
        meant = [one for one in (*agent.budgets, *agent.caps, *shared) if _is_meant(one, tool) and one.unit in units]
        tolls = _strictest(_toll(allowance, agent, tool) for allowance in meant)
        asks = any(toll.scope is BudgetScope.RUN for toll in tolls)
        return Tariff(agent=agent, tool=tool, tolls=tolls, asks_for_run=asks)


def _strictest(tolls: Iterable[Toll]) -> tuple[Toll, ...]:
    """One for each counter. Two lines of the settings may be of one: then the lower limit is the limit."""
    by_counter: dict[tuple[object, ...], Toll] = {}
    for toll in tolls:
        counter = (toll.scope, toll.owner, toll.allowance.unit, toll.allowance.seconds)
        other = by_counter.get(counter)
        if other is None or toll.allowance.limit < other.allowance.limit:
            by_counter[counter] = toll
    return tuple(by_counter.values())


def _amount(unit: str, costs: Mapping[str, int]) -> int:
    return 1 if unit == CALLS else costs.get(unit, 0)


def _is_meant(allowance: Allowance, tool: Tool) -> bool:
    if allowance.tools and tool.name not in allowance.tools:
        return False
    return allowance.side_effect is None or allowance.side_effect is tool.side_effect


def _toll(allowance: Allowance, agent: Agent, tool: Tool) -> Toll:
    scope = BudgetScope(allowance.share)
    owner = (agent.tenant if scope is BudgetScope.TENANT else agent.name) + _selection(allowance)
    if scope is BudgetScope.TOOL:
        owner = f"{owner}/{tool.name}"
    return Toll(allowance=allowance, scope=scope, owner=owner, opening=words.opening(allowance))


def _selection(allowance: Allowance) -> str:
    """Which calls count, in the counter's name: what counts other calls is another counter."""
    # No tool's name has a star.
    parts = [*([f"*{allowance.side_effect}"] if allowance.side_effect else []), *sorted(allowance.tools)]
    listed = ",".join(parts)
    if len(listed) > _LONGEST_SELECTION:
        listed = f"sha256:{hashlib.sha256(listed.encode()).hexdigest()}"
    return f"[{listed}]" if listed else ""


def _window(now: float, seconds: int) -> tuple[str, float]:
    """The window that this moment is in, by name, and when it ends."""
    start = int(now // seconds) * seconds
    moment = rfc3339(start)
    return (moment[:10] if seconds == DAY_SECONDS else f"{moment[:19]}/{seconds}"), float(start + seconds)
