"""Step 9: which rates hold for a call, and what the agent is told when one is spent."""

from typing import NamedTuple

from adapters.base import Fault
from gateway.call import Decision, Principal
from gateway.errors import Reason, Refusal
from gateway.ratelimit.base import Key, Limiter, LimiterDown
from gateway.rows import Agent, Connection, Rate, Tool
from gateway.settings.limits import LimitSettings, RateSettings

Checks = tuple[tuple[Key, Rate], ...]

LIMIT_REASONS: dict[str, Reason] = {
    "tenant": Reason.TENANT_RATE,
    "every_agent": Reason.AGENT_RATE,
    "agent": Reason.AGENT_RATE,
    "tool": Reason.TOOL_RATE,
    "policy": Reason.TOOL_RATE,
    "connection": Reason.CONNECTION_RATE,
}
"""From a key's first word to what the caller is told."""

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

    def __init__(self, limiter: Limiter, settings: LimitSettings) -> None:
        self._limiter = limiter
        self._settings = settings
        self._plans: dict[tuple[str, str, str], _Plan] = {}
        self.passed_unlimited = 0
        """Reads that were let through while the limiter could not tell."""

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
        except Exception as error:
            if tool.has_effect or not self._settings.reads_pass_without_limiter:
                raise _unavailable(error) from error
            self.passed_unlimited += 1
            return
        if short >= 0:
            reason = LIMIT_REASONS[checks[short][0][0]]
            raise Refusal(reason, _MESSAGES[reason], retry_after_ms=max(1, round(wait_seconds * 1000)))

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


def _unavailable(error: Exception) -> Refusal:
    fault = Fault.TIMEOUT if isinstance(error, TimeoutError) else Fault.ERROR
    if isinstance(error, LimiterDown):
        fault = Fault.REFUSED
    message = "The gateway cannot count calls now, so this one was not made. Try again later."
    return Refusal(Reason.LIMITER_UNAVAILABLE, message, fault=fault)
