"""A hidden and an unknown tool are the same to an agent, and a look-up does not grow with the registry."""

from collections.abc import Iterable, Iterator

import pytest
from fakes import rows
from fakes.adapter import FakeAdapter

from adapters.base import SideEffect
from gateway.arguments.schema import compile_schema
from gateway.call import CallerKind, Principal, Surface
from gateway.errors import Refusal
from gateway.registry.catalogue import NOT_FOUND, Bound, Catalogue, View, joined, new_tools, visible_names
from gateway.rows import Disposition, Tool

SCHEMA = compile_schema({"type": "object"})
OPERATION = FakeAdapter().operations["echo"]


def principal(agent: str = "helper", tenant: str = "acme") -> Principal:
    """A caller who is this agent."""
    return Principal(
        tenant=tenant,
        id="p",
        kind=CallerKind.AGENT,
        agent=agent,
        scopes=frozenset(),
        roles=frozenset(),
        claims={},
        proof="socket",
        policy_json=b"{}",
    )


def view(tools: Iterable[Tool]) -> View:
    """A view of these tools."""
    return View(
        Bound(tool=tool, connection=rows.connection(), operation=OPERATION, schema=SCHEMA, output_schema=None)
        for tool in tools
    )


def catalogue(seen: Iterable[Tool], hidden: Iterable[Tool] = ()) -> Catalogue:
    """A catalogue whose agent `helper` sees some tools and not others."""
    shown = tuple(seen)
    return Catalogue(
        agents={("acme", "helper"): (rows.agent(name="helper"), view(shown))},
        tools=(*shown, *hidden),
        connections=(),
        digest="sha256:0",
    )


def refusal(of: Catalogue, who: Principal, name: str) -> Refusal:
    """How a look-up is refused."""
    with pytest.raises(Refusal) as caught:
        of.find(who, name, Surface.GRPC)
    return caught.value


def test_a_visible_tool_is_found() -> None:
    """With its agent."""
    entry = catalogue([rows.tool(name="a")]).find(principal(), "a", Surface.GRPC)
    assert (entry.tool.name, entry.agent.name) == ("a", "helper")


def test_hidden_unknown_and_strange_callers_get_the_same_refusal() -> None:
    """The same reason and the same bytes, which do not repeat the name."""
    of = catalogue([rows.tool(name="a")], hidden=[rows.tool(name="b", surfaces=frozenset({"grpc"}))])
    refusals = [
        refusal(of, principal(), "b"),
        refusal(of, principal(), "no_such_tool"),
        refusal(of, principal(), ""),
        refusal(of, principal("stranger"), "a"),
        refusal(of, principal(tenant="other"), "a"),
    ]
    assert {(one.reason, one.message, one.issues, one.fault) for one in refusals} == {
        ("tool_not_found", NOT_FOUND, (), None)
    }


def test_visible_tools_are_sorted_and_only_the_callers() -> None:
    """A stranger sees none."""
    of = catalogue([rows.tool(name="b"), rows.tool(name="a")], hidden=[rows.tool(name="c")])
    assert [tool.name for tool in of.visible(principal(), Surface.GRPC)] == ["a", "b"]
    assert of.visible(principal("stranger"), Surface.GRPC) == ()


def test_a_tool_is_on_its_surfaces_alone() -> None:
    """Elsewhere it does not exist."""
    of = catalogue([rows.tool(name="a", surfaces=frozenset({"elsewhere"}))])
    assert of.visible(principal(), Surface.GRPC) == ()
    assert refusal(of, principal(), "a").message == NOT_FOUND


def test_an_agent_sees_what_it_names_and_what_its_groups_always_have() -> None:
    """An optional tool of a group only when it is named; an unknown name is nothing."""
    tools = {
        "always": rows.tool(name="always", groups=frozenset({"g"}), disposition=Disposition.ALWAYS),
        "optional": rows.tool(name="optional", groups=frozenset({"g"})),
        "other": rows.tool(name="other", side_effect=SideEffect.WRITE),
    }
    by_group = {"g": frozenset({"always"})}
    member = rows.agent(tools=frozenset(), groups=frozenset({"g", "h"}))
    assert visible_names(member, tools, by_group) == {"always"}
    named = rows.agent(tools=frozenset({"optional", "nothing"}), groups=frozenset({"g"}))
    assert visible_names(named, tools, by_group) == {"always", "optional"}
    assert visible_names(rows.agent(tools=frozenset(), groups=frozenset()), tools, by_group) == frozenset()


class Counting(dict[str, Bound]):
    """A dictionary that counts look-ups."""

    looked = 0

    def get(self, key: str, default: Bound | None = None) -> Bound | None:  # type: ignore[override]
        """Counted."""
        Counting.looked += 1
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        """Never."""
        raise AssertionError("a look-up must not scan")


def test_a_look_up_is_one_step_among_ten_thousand_tools() -> None:
    """Found, hidden or unknown."""
    of = catalogue(rows.tool(name=f"t{index}") for index in range(10_000))
    seen = of.agents["acme", "helper"][1]
    seen._bound[Surface.GRPC] = Counting(seen._bound[Surface.GRPC])
    of.find(principal(), "t9999", Surface.GRPC)
    refusal(of, principal(), "t10000")
    assert Counting.looked == 2


def of_tenant(tenant: str, title: str, digest: str) -> Catalogue:
    """A tenant whose helper sees one tool."""
    seen = [rows.tool(name="a", title=title)]
    return Catalogue(
        agents={(tenant, "helper"): (rows.agent(name="helper", tenant=tenant), view(seen))},
        tools=tuple(seen),
        connections=(rows.connection(tenant=tenant),),
        digest=digest,
    )


def test_of_many_tenants_each_finds_its_own() -> None:
    """In one catalogue, whose digest is of all of them in whatever order."""
    ours, theirs = of_tenant("acme", "Ours", "sha256:1"), of_tenant("rival", "Theirs", "sha256:2")
    of = joined([ours, theirs])
    assert of.find(principal(), "a", Surface.GRPC).tool.title == "Ours"
    assert of.find(principal(tenant="rival"), "a", Surface.GRPC).tool.title == "Theirs"
    assert [tool.title for tool in of.tools] == ["Ours", "Theirs"]
    assert [connection.tenant for connection in of.connections] == ["acme", "rival"]
    assert of.digest == joined([theirs, ours]).digest
    assert of.digest not in {ours.digest, theirs.digest}
    assert joined([ours]) is ours


def test_new_is_a_tool_that_nobody_had_so() -> None:
    """Of another name, or of the same name and not the same."""
    before = joined([of_tenant("acme", "Ours", "1"), of_tenant("rival", "Theirs", "2")])
    after = joined([of_tenant("acme", "Ours", "1"), of_tenant("rival", "Changed", "3")])
    assert [tool.title for tool in new_tools(before, after)] == ["Changed"]
    assert new_tools(after, after) == ()
    assert len(new_tools(catalogue([]), after)) == 2
