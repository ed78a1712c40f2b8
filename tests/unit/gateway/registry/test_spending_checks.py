"""Budgets and caps that would hold nobody back are problems, each with its place."""

import pytest

from gateway.registry.places import Rows, read_rows
from gateway.registry.spending_checks import check_spending, units_of

TOOL = """
- name: {name}
  description: Sends.
  input_schema: {{type: object}}
  requires: []
  side_effect: send
  idempotency: required
  binding: {{adapter: fake, operation: send, connection: mail}}
  surfaces: [grpc]
  cost: {cost}
"""
COSTS = TOOL.format(name="mail_send", cost="{counts: {recipients: /recipients}}") + TOOL.format(
    name="card_pay", cost="{money: {currency: EUR, path: /amount}}"
)


def _rows(spending: str) -> Rows:
    rows, problems = read_rows([], {"x.yaml": f"tools: {COSTS}\nagents:\n- name: a\n  tenant: t\n{spending}"})
    assert problems == []
    return rows


def _found(rows: Rows, *more_tools: str) -> list[tuple[str, str]]:
    tools = {tool.row.name for tool in rows.tools} | set(more_tools)
    found = check_spending(rows.agents[0], tools, units_of(rows))
    return [(problem.rule, problem.message) for problem in found]


def test_what_counts_something_passes() -> None:
    """Money, counts and calls; for all tools, some, or those with one side effect."""
    spending = """
  budgets:
  - {unit: EUR, limit: 50000, scope: agent_day}
  - {unit: EUR, limit: 10000, scope: run, tools: [card_pay]}
  - {unit: calls, limit: 10, scope: tool, per: hour}
  caps:
  - {limit: 1, per: run, tools: [card_pay]}
  - {limit: 20, per: day, side_effect: send}
  - {unit: recipients, limit: 100, per: 90s, tools: [mail_send]}
"""
    assert _found(_rows(spending)) == []


@pytest.mark.parametrize(
    ("spending", "rule", "words"),
    [
        ("  caps: [{limit: 1, per: run, tools: [file_edit]}]", "known_tools", "'file_edit'"),
        ("  caps: [{unit: rows, limit: 1, per: run}]", "unit", "no tool costs any 'rows'"),
        ("  budgets: [{unit: USD, limit: 1, scope: run}]", "unit", "no tool costs any 'USD'"),
        ("  budgets: [{unit: EUR, limit: 1, scope: run, tools: [card_pay, mail_send]}]", "unit", "mail_send costs no"),
        ("  caps: [{limit: 1, per: day}, {limit: 2, per: day}]", "duplicate", "keep the lower limit"),
        ("  caps: [{limit: 1, per: 60s}, {limit: 2, per: minute}]", "duplicate", "keep the lower limit"),
    ],
)
def test_what_counts_nothing_is_a_problem(spending: str, rule: str, words: str) -> None:
    """It would look like a limit, and be none."""
    ((found, message),) = _found(_rows(spending))
    assert found == rule
    assert words in message


def test_what_names_a_tool_that_could_not_be_read_is_not_wrong() -> None:
    """Nobody knows what it costs; it has a problem of its own."""
    rows = _rows("  caps: [{unit: rows, limit: 1, per: run}, {unit: rows, limit: 1, per: day, tools: [broken]}]")
    rows.unread["tools"].add("broken")
    assert _found(rows, "broken") == []
