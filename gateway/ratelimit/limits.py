"""Step 9: which rates hold for a call, and what the agent is told when one is spent."""

import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, get_args

from adapters.base import Fault
from gateway.call import Decision, Principal
from gateway.errors import Reason, Refusal
from gateway.ratelimit.base import Checks, Key, Limiter, LimiterDown
from gateway.ratelimit.memory import MemoryLimiter
from gateway.rows import Agent, Connection, Rate, Tool
from gateway.settings.limits import LimitSettings, RateSettings, WhenDown

LIMIT_REASONS: dict[str, Reason] = {
    "tenant": Reason.TENANT_RATE,
    "every_agent": Reason.AGENT_RATE,
    "agent": Reason.AGENT_RATE,
    "tool": Reason.TOOL_RATE,
    "policy": Reason.TOOL_RATE,
    "connection": Reason.CONNECTION_RATE,
}
"""From a key's first word to what the caller is told."""

RULES: dict[str, str] = {
    "tenant": "tenant",
    "every_agent": "agent",
    "agent": "agent",
    "tool": "tool",
    "policy": "policy",
    "connection": "connection",
}
"""From a key's first word to the rule of `when_down` that it falls under."""

_MESSAGES: dict[Reason, str] = {
    Reason.TENANT_RATE: "Your organisation is making too many calls. Wait before the next one.",
    Reason.AGENT_RATE: "You are making too many calls. Wait before the next one.",
    Reason.TOOL_RATE: "You are calling this tool too often. Wait, or do something else meanwhile.",
    Reason.CONNECTION_RATE: "The account behind this tool is in use too often. Wait, or do something else meanwhile.",
}
_MAX_PLANS = 100_000


class _Plan(NamedTuple):
    """The checks of one agent's calls of one tool, and the rows that they were made of."""

    agent: Agent
    tool: Tool
    connection: Connection
    checks: Checks


class Limits:
    """Takes one call from every rate that holds for it."""

    def __init__(
        self, limiter: Limiter, settings: LimitSettings, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """`monotonic` is the time of what is counted here while `limiter` cannot."""
        self._limiter = limiter
        self._settings = settings
        self._local = MemoryLimiter(monotonic)
        self._plans: dict[tuple[str, str, str], _Plan] = {}
        self.counts: Counter[tuple[str, WhenDown]] = Counter(
            {(rule, mode): 0 for rule in RULES.values() for mode in get_args(WhenDown)}
        )
        """What became of calls while the limiter could not tell, by rule: refused (`closed`), passed without being
        counted (`open`), or counted here (`local`). A call counts once for each rule that was applied to it.
        """

    def under(self, settings: LimitSettings) -> "Limits":
        """The same under other settings: what was counted so far still counts."""
        other = Limits(self._limiter, settings)
        other._local, other.counts = self._local, self.counts
        return other

    async def take(
        self, principal: Principal, agent: Agent, tool: Tool, connection: Connection, decision: Decision
    ) -> None:
        """Raises `Refusal`: the reason of the first rate that is spent, or `limiter_unavailable`."""
        checks = self._checks(principal, agent, tool, connection)
        if decision.obligations:
            checks += _obliged(principal, tool, decision)
        if not checks:
            return
        try:
            short, wait_seconds = await self._limiter.take(checks)
        except Exception as error:  # noqa: BLE001 - whatever it raises, it cannot tell
            await self._take_alone(checks, tool, error)
            return
        if short >= 0:
            raise _spent(checks[short][0], wait_seconds)

    async def _take_alone(self, checks: Checks, tool: Tool, error: Exception) -> None:
        """What becomes of a call that nobody can count. Raises `Refusal`, always so for a write or a send."""
        modes: dict[str, WhenDown] = {rule: self._mode(rule, tool) for rule in (RULES[key[0]] for key, _ in checks)}
        if "closed" in modes.values():
            self.counts.update((rule, mode) for rule, mode in modes.items() if mode == "closed")
            raise _unavailable(error) from error
        self.counts.update(modes.items())
        share = self._settings.when_down.replicas
        local = tuple((key, _shared(rate, share)) for key, rate in checks if modes[RULES[key[0]]] == "local")
        try:
            short, wait_seconds = await self._local.take(local)
        except LimiterDown as full:
            raise _unavailable(full) from full
        if short >= 0:
            raise _spent(local[short][0], wait_seconds)

    def _mode(self, rule: str, tool: Tool) -> WhenDown:
        mode: WhenDown = "closed" if tool.has_effect else getattr(self._settings.when_down, rule)
        return mode

    def _checks(self, principal: Principal, agent: Agent, tool: Tool, connection: Connection) -> Checks:
        """Made once per agent and tool; made again when the registry has new rows for them."""
        place = (principal.tenant, principal.agent, tool.name)
        plan = self._plans.get(place)
        if plan is None or plan.tool is not tool or plan.agent is not agent or plan.connection is not connection:
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()
            checks = checks_for(principal, agent, tool, connection, self._settings)
            self._plans[place] = plan = _Plan(agent, tool, connection, checks)
        return plan.checks


def checks_for(
    principal: Principal, agent: Agent, tool: Tool, connection: Connection, settings: LimitSettings
) -> Checks:
    """Every rate that holds for this agent's calls of this tool, widest first."""
    tenant, name = principal.tenant, principal.agent
    rates: tuple[tuple[Key, Rate | None], ...] = (
        (("tenant", tenant), _rate(settings.tenant)),
        (("every_agent", tenant, name), _rate(settings.agent)),
        (("agent", tenant, name), agent.rate),
        (("tool", tenant, name, tool.name), tool.rate),
        (("connection", connection.tenant, connection.name), connection.rate),
    )
    return tuple((key, rate) for key, rate in rates if rate is not None)


def _obliged(principal: Principal, tool: Tool, decision: Decision) -> Checks:
    """The rates that policy adds to this call. Each stands at its own index, so that two are two."""
    found = [obligation.value for obligation in decision.obligations if obligation.type == "rate"]
    return tuple(
        (
            ("policy", principal.tenant, principal.agent, tool.name, str(index)),
            Rate(per_minute=float(value["per_minute"]), burst=int(value["burst"])),
        )
        for index, value in enumerate(found)
    )


def _rate(settings: RateSettings | None) -> Rate | None:
    return Rate(per_minute=settings.per_minute, burst=settings.burst) if settings is not None else None


def _shared(rate: Rate, replicas: int) -> Rate:
    """One replica's part; it is never less than a call at once."""
    return Rate(per_minute=rate.per_minute / replicas, burst=max(1, rate.burst // replicas))


def _spent(key: Key, wait_seconds: float) -> Refusal:
    reason = LIMIT_REASONS[key[0]]
    return Refusal(reason, _MESSAGES[reason], retry_after_ms=max(1, round(wait_seconds * 1000)))


def _unavailable(error: Exception) -> Refusal:
    fault = Fault.TIMEOUT if isinstance(error, TimeoutError) else Fault.ERROR
    if isinstance(error, LimiterDown):
        fault = error.fault
    message = "The gateway cannot count calls now, so this one was not made. Try again later."
    return Refusal(Reason.LIMITER_UNAVAILABLE, message, fault=fault)
