"""What a call of this agent of this tool takes, now."""

from collections.abc import Mapping

from gateway.budget.base import FindRun
from gateway.budget.tariffs import Tariffs
from gateway.call import Charge
from gateway.rows import Agent, Tool

_NONE: tuple[Charge, ...] = ()


class Charging:
    """Charges of calls, by tariffs and open runs."""

    def __init__(self, tariffs: Tariffs, runs: FindRun) -> None:
        self._tariffs = tariffs
        self._runs = runs

    async def of(
        self, agent: Agent, tool: Tool, costs: Mapping[str, int], *, run_id: str, now: float
    ) -> tuple[Charge, ...]:
        """What the call takes of each counter; empty when nothing counts it, which is found by one look-up.

        `costs` is what `costs_of` says. Raises `Refusal(store_unavailable)` when it matters whether the run is open
        and nobody knows.
        """
        tariff = self._tariffs.of(agent, tool)
        if not tariff.tolls:
            return _NONE
        run = await self._runs.find(agent.tenant, agent.name, run_id) if run_id and tariff.asks_for_run else None
        return tariff.charges(costs, run, now)
