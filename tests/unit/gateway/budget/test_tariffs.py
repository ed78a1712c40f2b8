"""Which counters a call is taken from, and that no other call is taken from them."""

from typing import Any

import pytest
from fakes import rows
from fakes.clock import START

from adapters.base import SideEffect
from gateway.budget import tariffs
from gateway.budget.base import OpenRun
from gateway.budget.tariffs import Tariffs
from gateway.call import BudgetScope, Charge
from gateway.rows import Agent, Allowance, Price, Tool

RUN = OpenRun(run_id="r1", opened_at=START, expires_at=START + 3600)
DAY = 86400


def _rule(share: str = "agent", **changes: Any) -> Allowance:
    return Allowance(**({"unit": "calls", "limit": 10, "share": share} | changes))


def _charges(
    *rules: Allowance, tool: Tool | None = None, run: OpenRun | None = None, **more: Any
) -> tuple[Charge, ...]:
    agent = rows.agent(caps=rules)
    costs = more.pop("costs", {})
    return Tariffs(**more).of(agent, tool or rows.tool()).charges(costs, run, START + 100.5)


def _key(charge: Charge) -> tuple[BudgetScope, str, str, float | None]:
    return charge.scope, charge.name, charge.period, charge.expires_at


def test_a_call_that_nothing_counts_is_charged_nothing() -> None:
    """And there is nothing to work out for the next one either."""
    tariff = Tariffs().of(rows.agent(), rows.tool())
    assert (tariff.tolls, tariff.charges({}, None, START)) == ((), ())


@pytest.mark.parametrize(
    ("rule", "want"),
    [
        (_rule("agent"), (BudgetScope.AGENT, "helper", "", None)),
        (_rule("agent", seconds=3600), (BudgetScope.AGENT, "helper", "2026-01-01T00:00:00/3600", START + 3600)),
        (_rule("agent", seconds=90), (BudgetScope.AGENT, "helper", "2026-01-01T00:01:30/90", START + 180)),
        (_rule("agent_day", seconds=DAY), (BudgetScope.AGENT_DAY, "helper", "2026-01-01", START + DAY)),
        (_rule("tool"), (BudgetScope.TOOL, "helper/echo", "", None)),
        (_rule("tool", seconds=DAY), (BudgetScope.TOOL, "helper/echo", "2026-01-01", START + DAY)),
        (_rule("run"), (BudgetScope.RUN, "helper/r1", "2026-01-01T00:00:00.000000Z", START + 3600)),
        (_rule(tools=frozenset({"echo", "b"})), (BudgetScope.AGENT, "helper[b,echo]", "", None)),
        (_rule(side_effect=SideEffect.READ), (BudgetScope.AGENT, "helper[*read]", "", None)),
    ],
)
def test_each_share_and_window_has_its_own_counter(rule: Allowance, want: tuple[Any, ...]) -> None:
    """Which is good for one window, and ends with it."""
    (charge,) = _charges(rule, run=RUN)
    assert _key(charge) == want


@pytest.mark.parametrize(
    "rule",
    [
        _rule(tools=frozenset({"other"})),
        _rule(side_effect=SideEffect.SEND),
        _rule(tools=frozenset({"echo"}), side_effect=SideEffect.SEND),
        _rule(unit="recipients"),
    ],
)
def test_what_means_other_calls_counts_none_of_these(rule: Allowance) -> None:
    """Of other tools, with another side effect, of what the tool does not use."""
    assert _charges(rule) == ()


def test_calls_are_counted_one_by_one_and_units_by_what_they_cost() -> None:
    """A call that costs nothing of a unit is not charged for it."""
    tool = rows.tool(prices=(Price(unit="EUR", pointers=("/m",)), Price(unit="recipients", pointers=("/to",))))
    rules = (_rule(), _rule(unit="EUR"), _rule(unit="recipients"))
    charges = _charges(*rules, tool=tool, costs={"EUR": 250, "recipients": 0})
    assert [(charge.unit, charge.amount) for charge in charges] == [("calls", 1), ("EUR", 250)]


def test_calls_in_no_opened_run_share_one_counter_of_the_day() -> None:
    """Which is not that of a rule per day, nor that of any run."""
    shared, per_day = _charges(_rule("run", limit=1), _rule("agent_day", seconds=DAY))
    assert _key(shared) == (BudgetScope.AGENT_DAY, "helper/", "2026-01-01", START + DAY)
    assert shared.limit == 1
    assert shared.name != per_day.name
    assert shared.told.endswith("its calls in no opened run count together until 2026-01-02T00:00:00Z.")


def test_a_run_that_is_opened_again_later_counts_anew() -> None:
    """It has the name of the one before, and nothing else of it."""
    later = OpenRun(run_id="r1", opened_at=START + DAY, expires_at=START + 2 * DAY)
    first, second = (_charges(_rule("run"), run=run)[0] for run in (RUN, later))
    assert (first.name, first.period) != (second.name, second.period)


def test_whether_the_run_is_open_is_asked_only_where_it_matters() -> None:
    """Each question is a look into the store."""
    tariffs = Tariffs()
    assert tariffs.of(rows.agent(caps=(_rule("run"),)), rows.tool()).asks_for_run
    assert not tariffs.of(rows.agent(caps=(_rule("agent"),)), rows.tool()).asks_for_run
    assert not tariffs.of(rows.agent(caps=(_rule("run", tools=frozenset({"other"})),)), rows.tool()).asks_for_run


def test_what_a_tenant_shares_is_taken_by_all_its_agents_and_no_others() -> None:
    """From one counter."""
    shared = Tariffs([("acme", _rule("tenant", seconds=DAY)), ("rival", _rule("tenant", limit=0))])
    one, other = (shared.of(rows.agent(name=name), rows.tool()).charges({}, None, START) for name in ("a", "b"))
    assert one == other
    assert _key(one[0]) == (BudgetScope.TENANT, "acme", "2026-01-01", START + DAY)


def test_the_last_moment_of_a_window_is_in_it_and_the_next_is_not() -> None:
    """To the microsecond."""
    tariff = Tariffs().of(rows.agent(caps=(_rule("agent_day", seconds=DAY),)), rows.tool())
    before, after = (tariff.charges({}, None, moment)[0].period for moment in (START + DAY - 1e-6, START + DAY))
    assert (before, after) == ("2026-01-01", "2026-01-02")


def test_no_two_selections_have_one_counter() -> None:
    """A tool may have the name of a side effect, and a long list is a digest of itself."""
    tool = rows.tool(name="send", side_effect=SideEffect.SEND)
    many = [frozenset({"send", *(f"{letter * 60}{number}" for number in range(9))}) for letter in "ab"]
    rules = (_rule(tools=frozenset({"send"})), _rule(side_effect=SideEffect.SEND), *(_rule(tools=one) for one in many))
    names = [charge.name for charge in _charges(*rules, tool=tool)]
    assert len(set(names)) == 4
    assert max(map(len, names)) < 100


def test_of_two_lines_that_are_of_one_counter_the_stricter_holds() -> None:
    """A counter is taken from once."""
    lines = [("acme", _rule("tenant", seconds=DAY, limit=limit)) for limit in (7, 5, 9)]
    (charge,) = _charges(of_tenants=lines)
    assert charge.limit == 5


@pytest.mark.parametrize(
    ("rule", "amount", "want"),
    [
        (
            _rule("run", limit=1, tools=frozenset({"echo"})),
            0,
            "This agent may make 1 call of echo per run, and has made it.",
        ),
        (
            _rule("agent_day", limit=500, unit="EUR", seconds=DAY),
            120,
            (
                "This agent may spend 500 EUR in minor units per day (UTC), and less than this call's 120 is left; "
                "there is more from 2026-01-02T00:00:00Z."
            ),
        ),
        (
            _rule("agent_day", limit=500, unit="EUR", seconds=DAY),
            501,
            "This agent may spend 500 EUR in minor units per day (UTC), and this call alone takes 501.",
        ),
    ],
)
def test_what_is_told_is_one_sentence(rule: Allowance, amount: int, want: str) -> None:
    """What, and when."""
    tool = rows.tool(prices=(Price(unit="EUR", pointers=("/m",)),))
    (charge,) = _charges(rule, tool=tool, costs={"EUR": amount}, run=RUN)
    assert charge.told == want


def test_a_tariff_is_made_once_and_again_for_a_new_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a lowered limit holds from the next call on; and there is a bound to how many are kept."""
    tariffs_of, agent, tool = Tariffs(), rows.agent(), rows.tool()
    made = tariffs_of.of(agent, tool)
    assert tariffs_of.of(agent, tool) is made
    stricter: Agent = rows.agent(caps=(_rule(limit=0),))
    assert len(tariffs_of.of(stricter, tool).tolls) == 1
    assert tariffs_of.of(agent, rows.tool()) is not made
    monkeypatch.setattr(tariffs, "MOST_TARIFFS", 2)
    kept = tariffs_of.of(agent, tool)
    for name in ("a", "b", "c"):
        tariffs_of.of(agent, rows.tool(name=name))
    assert tariffs_of.of(agent, tool) is not kept
