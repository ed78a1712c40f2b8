"""Connections and agents are checked on their own and against the tools."""

import json

import pytest
from fakes.adapter import FakeAdapter

from gateway.registry.places import Rows, read_rows
from gateway.registry.row_checks import check_bindings, check_duplicates, check_named, names_of

TOOL = """
- name: NAME
  description: Echoes.
  input_schema: {type: object}
  requires: []
  side_effect: read
  binding: {adapter: fake, operation: echo, connection: mail}
  surfaces: [grpc]
  groups: [g]
"""


def read(text: str) -> Rows:
    """The rows of one manifest text, as if a person had written it."""
    rows, problems = read_rows([], {"x.yaml": text})
    assert problems == []
    tools = [type(one)(row=one.row, document=one.document, at=one.at) for one in rows.tools]
    return Rows(tools=tools, connections=rows.connections, agents=rows.agents)


def test_a_connection_must_exist_for_each_tenant_that_has_the_tool() -> None:
    """One tenant's connection is nothing to another."""
    rows = read(
        "tools:" + TOOL.replace("NAME", "echo") + "connections: [{name: mail, tenant: a, vendor: fake}]\n"
        "agents: [{name: x, tenant: a, tools: [echo]}, {name: y, tenant: b, tools: [echo]}]"
    )
    (problem,) = check_bindings(rows, {"fake": FakeAdapter()}, {})
    assert problem.rule == "connection"
    assert "'b'" in problem.message


def test_agents_of_one_name_in_two_tenants_are_two() -> None:
    """And two in one tenant are a duplicate."""
    rows = read("agents: [{name: x, tenant: a}, {name: x, tenant: b}, {name: x, tenant: a}]")
    assert [problem.rule for problem in check_duplicates(rows)] == ["duplicate"]


def test_collaborators_are_of_the_same_tenant() -> None:
    """Another tenant's agent does not exist here."""
    rows = read("agents: [{name: x, tenant: a, collaborators: [y]}, {name: y, tenant: b}]")
    found = check_named(rows.agents[0], names_of(rows))
    assert [problem.rule for problem in found] == ["known_collaborators"]


@pytest.mark.parametrize(
    ("disposition", "agent", "want"),
    [
        ("optional", {"tools": ["echo"]}, True),
        ("optional", {"groups": ["g"]}, False),
        ("always", {"groups": ["g"]}, True),
        ("always", {"groups": ["h"]}, False),
        ("always", {}, False),
    ],
)
def test_a_connection_is_needed_for_who_sees_a_tool(disposition: str, agent: dict[str, list[str]], want: bool) -> None:
    """By name, or by group when it is for every member."""
    tools = TOOL.replace("NAME", "echo") + f"  disposition: {disposition}\n"
    agents = json.dumps([{"name": "x", "tenant": "a", **agent}])
    rows = read(f"tools:{tools}connections: [{{name: mail, tenant: b, vendor: fake}}]\nagents: {agents}\n")
    assert bool(list(check_bindings(rows, {"fake": FakeAdapter()}, {}))) is want


def test_what_could_not_be_read_is_not_missed() -> None:
    """A tool, whose groups nobody knows then, and an agent."""
    rows, problems = read_rows(
        [],
        {
            "x.yaml": "tools: [{name: odd}]\nagents: [{name: y, tenant: a, odd: 1}]\n"
            "---\nagents: [{name: x, tenant: a, tools: [odd], groups: [g], collaborators: [y]}]"
        },
    )
    assert problems
    assert list(check_named(rows.agents[0], names_of(rows))) == []


@pytest.mark.parametrize(
    ("names", "want"),
    [
        (["mail_send", "mail__send"], ["look_alike"]),
        (["mail_send", "mail_send_"], ["look_alike"]),
        (["list_all", "list_a1l"], ["look_alike"]),
        (["go", "g0"], ["look_alike"]),
        (["resend", "re_send", "mail_send", "mail2_send"], []),
    ],
)
def test_g19_tools_that_look_alike_are_told(names: list[str], want: list[str]) -> None:
    """A model that means the one must not call the other; what only resembles is let be."""
    rows = read("tools:" + "".join(TOOL.replace("NAME", name) for name in names))
    assert [problem.rule for problem in check_duplicates(rows)] == want


@pytest.mark.parametrize(
    ("connection", "want"),
    [
        ("{name: mail, tenant: a, vendor: fake}", ["webhook"]),
        ("{name: mail, tenant: b, vendor: fake, webhook: {secret: 'env:X'}}", ["known_connection"]),
        ("{name: mail, tenant: a, vendor: fake, webhook: {secret: 'env:X'}}", []),
    ],
)
def test_events_come_from_a_connection_of_the_same_tenant_that_has_a_webhook(connection: str, want: list[str]) -> None:
    """Whoever names another waits in vain."""
    rows = read(f"connections: [{connection}]\nagents: [{{name: x, tenant: a, events: [{{connection: mail}}]}}]")
    assert [problem.rule for problem in check_named(rows.agents[0], names_of(rows))] == want
