"""A call's charges, with its run looked up where that matters."""

import pytest
from fakes import rows
from fakes.clock import START

from gateway.budget.base import OpenRun
from gateway.budget.charging import Charging
from gateway.budget.tariffs import Tariffs
from gateway.call import BudgetScope
from gateway.errors import Reason, Refusal
from gateway.rows import Agent, Allowance

PER_RUN = rows.agent(caps=(Allowance(unit="calls", limit=1, share="run"),))
PER_AGENT = rows.agent(caps=(Allowance(unit="calls", limit=1, share="agent"),))


class FakeRuns:
    """One open run, and who asked for which."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.is_down = False

    async def find(self, tenant: str, agent: str, run_id: str) -> OpenRun | None:
        """The one."""
        self.asked.append((tenant, agent, run_id))
        if self.is_down:
            raise Refusal(Reason.STORE_UNAVAILABLE, "Not now.")
        return OpenRun(run_id=run_id, opened_at=START, expires_at=START + 60) if run_id == "open" else None


@pytest.fixture
def runs() -> FakeRuns:
    """The runs."""
    return FakeRuns()


async def _scopes(runs: FakeRuns, agent: Agent, run_id: str) -> list[BudgetScope]:
    charges = await Charging(Tariffs(), runs).of(agent, rows.tool(), {}, run_id=run_id, now=START)
    return [charge.scope for charge in charges]


@pytest.mark.parametrize(("run_id", "want"), [("open", "run"), ("never-opened", "agent_day"), ("", "agent_day")])
async def test_a_run_counts_apart_only_when_it_was_opened(runs: FakeRuns, run_id: str, want: str) -> None:
    """An agent cannot have a fresh counter by making up a run."""
    assert await _scopes(runs, PER_RUN, run_id) == [want]
    assert runs.asked == ([("acme", "helper", run_id)] if run_id else [])


@pytest.mark.parametrize("agent", [PER_AGENT, rows.agent()])
async def test_nobody_is_asked_when_it_does_not_matter(runs: FakeRuns, agent: Agent) -> None:
    """Nor can it fail then."""
    runs.is_down = True
    await _scopes(runs, agent, "open")
    assert runs.asked == []


async def test_a_call_is_refused_when_nobody_knows_the_run(runs: FakeRuns) -> None:
    """Neither counter would be the right one."""
    runs.is_down = True
    with pytest.raises(Refusal):
        await _scopes(runs, PER_RUN, "open")
