"""Rows of the store become catalogues, one for each tenant, by the checks of manifests."""

from typing import Any

import orjson
import pytest
from fakes.adapter import FakeAdapter
from fakes.administration import AGENT, CONNECTION, TOOL
from fakes.principals import principal

from gateway.arguments.schema import compile_schema
from gateway.call import Surface
from gateway.errors import Refusal
from gateway.registry.catalogue import Catalogue, Entry, new_tools
from gateway.registry.stored import StoredRegistry
from gateway.settings.load import Settings
from gateway.settings.parts import ServerSettings
from gateway.store.columns import moment_of
from gateway.store.rows import RowKind, StoredRow

SETTINGS = Settings()


def stored(kind: RowKind, row: dict[str, Any], name: str = "") -> StoredRow:
    """A row as the store gives it: its bytes are its own every time."""
    return StoredRow(
        kind=kind,
        name=name or row["name"],
        version=1,
        document=bytes(bytearray(orjson.dumps(row, option=orjson.OPT_SORT_KEYS))),
        updated_by="ann",
        updated_at=moment_of(0),
    )


def rows(tenant: str = "acme", agent: dict[str, Any] | None = None, **tool: Any) -> tuple[StoredRow, ...]:
    """A registry that is sound; the tool and the agent are changed as asked."""
    return (
        stored(RowKind.AGENT, AGENT | {"tenant": tenant} | (agent or {})),
        stored(RowKind.CONNECTION, CONNECTION | {"tenant": tenant}),
        stored(RowKind.TOOL, TOOL | tool),
    )


class Compiler:
    """Counts how often a schema is compiled."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, schema: Any) -> Any:
        """Counted."""
        self.count += 1
        return compile_schema(schema)


@pytest.fixture
def compiler() -> Compiler:
    """That counts."""
    return Compiler()


@pytest.fixture
def registry(compiler: Compiler) -> StoredRegistry:
    """Over a fake vendor, which brings a tool of its own."""
    brought = TOOL | {"name": "brought", "description": "Brought along."}
    builtin = {"adapters/fake/tools.yaml": orjson.dumps({"tools": [brought]}).decode()}
    return StoredRegistry(adapters={"fake": FakeAdapter()}, compile_schema=compiler, builtin=builtin)


def catalogue(registry: StoredRegistry, by_tenant: dict[str, tuple[StoredRow, ...]]) -> Catalogue:
    """What they load to."""
    found = registry.load(by_tenant, SETTINGS).catalogue
    assert found is not None
    return found


def find(of: Catalogue, tenant: str = "acme", tool: str = "echo") -> Entry:
    """What the helper of a tenant finds."""
    return of.find(principal(tenant=tenant), tool, Surface.GRPC)


def test_two_tenants_may_have_different_tools_of_one_name(registry: StoredRegistry) -> None:
    """Each finds its own."""
    of = catalogue(registry, {"acme": rows(title="Ours"), "rival": rows("rival", title="Theirs")})
    assert [find(of, tenant).tool.title for tenant in ("acme", "rival")] == ["Ours", "Theirs"]
    assert [tool.title for tool in of.tools if tool.name == "echo"] == ["Ours", "Theirs"]
    assert registry.unusable == frozenset()
    found = [of.tool(tenant, "echo") for tenant in ("acme", "rival", "nobody")]
    assert [tool and tool.title for tool in found] == ["Ours", "Theirs", None]


def test_a_tenant_without_rows_has_nothing(registry: StoredRegistry) -> None:
    """Nor has one that nobody knows."""
    of = catalogue(registry, {"acme": rows(), "rival": ()})
    for tenant in ("rival", "nobody"):
        with pytest.raises(Refusal):
            find(of, tenant)
    assert catalogue(registry, {}).agents == {}


def test_what_adapters_bring_is_there_until_a_row_takes_its_place(registry: StoredRegistry) -> None:
    """An agent has to name it all the same."""
    names = {"tools": ["echo", "brought"]}
    assert find(catalogue(registry, {"acme": rows(agent=names)}), tool="brought").tool.title == "Brought"
    own = stored(RowKind.TOOL, TOOL | {"name": "brought", "title": "Mine"})
    assert find(catalogue(registry, {"acme": (*rows(agent=names), own)}), tool="brought").tool.title == "Mine"


def test_the_checks_are_those_of_manifests(registry: StoredRegistry) -> None:
    """A problem names the row and the place in it, and the row's tenant is refused nothing else."""
    loaded = registry.load({"acme": rows(side_effect="write")}, SETTINGS)
    found = {(problem.file, problem.path, problem.rule) for problem in loaded.problems}
    assert found == {("tool/echo", "", "idempotency"), ("tool/echo", "/side_effect", "side_effect")}
    loaded = registry.load({"acme": rows(odd=1)}, SETTINGS)
    assert [(problem.file, problem.path, problem.rule) for problem in loaded.problems] == [
        ("tool/echo", "/odd", "unknown_key")
    ]


def test_rows_that_do_not_load_leave_their_tenant_as_it_was(registry: StoredRegistry) -> None:
    """And the others take over what is new for them."""
    catalogue(registry, {"acme": rows(title="First"), "rival": rows("rival", title="First")})
    of = catalogue(registry, {"acme": rows(title="Second", odd=1), "rival": rows("rival", title="Second")})
    assert [find(of, tenant).tool.title for tenant in ("acme", "rival")] == ["First", "Second"]
    assert registry.unusable == {"acme"}
    assert find(catalogue(registry, {"acme": rows(title="Third")})).tool.title == "Third"
    assert registry.unusable == frozenset()


def test_rows_that_never_loaded_are_nothing(registry: StoredRegistry) -> None:
    """The gateway starts, and this tenant has no tool."""
    of = catalogue(registry, {"acme": rows(odd=1), "rival": rows("rival")})
    with pytest.raises(Refusal):
        find(of)
    assert find(of, "rival").tool.name == "echo"


@pytest.mark.parametrize(
    "row", [AGENT | {"tenant": "rival"}, CONNECTION | {"tenant": "rival"}, TOOL | {"name": "other"}]
)
def test_a_row_is_of_the_tenant_and_name_that_it_stands_under(registry: StoredRegistry, row: dict[str, Any]) -> None:
    """Who writes past the service must not reach another's registry."""
    kind = RowKind.TOOL if "binding" in row else RowKind.AGENT if "tools" in row else RowKind.CONNECTION
    name = "x" if kind is RowKind.TOOL else ""
    loaded = registry.load({"acme": (*rows()[1:], stored(kind, row, name)), "rival": ()}, SETTINGS)
    assert "tenant" in {problem.rule for problem in loaded.problems}
    assert registry.unusable == {"acme"}
    assert loaded.catalogue is not None
    assert ("rival", "helper") not in loaded.catalogue.agents


def test_only_what_changed_is_made_again(registry: StoredRegistry, compiler: Compiler) -> None:
    """The others are the very same tools."""
    more = tuple(stored(RowKind.TOOL, TOOL | {"name": f"t{number}"}) for number in range(20))
    before = catalogue(registry, {"acme": (*rows(), *more)})
    compiler.count = 0
    more = tuple(stored(RowKind.TOOL, TOOL | {"name": f"t{number}"}) for number in range(20))
    after = catalogue(registry, {"acme": (*rows(title="New"), *more)})
    assert compiler.count == 1
    assert [tool.name for tool in new_tools(before, after)] == ["echo"]
    assert {tool.name: id(tool) for tool in after.tools if tool.name != "echo"} == {
        tool.name: id(tool) for tool in before.tools if tool.name != "echo"
    }


def test_a_name_in_a_description_is_looked_at_whenever_the_tools_change(registry: StoredRegistry) -> None:
    """Also of a row that did not change itself."""
    told = rows(description="Like `other`, but gives `text` back.")
    other = stored(RowKind.TOOL, TOOL | {"name": "other"})
    assert registry.load({"acme": (*told, other)}, SETTINGS).problems == ()
    assert [problem.rule for problem in registry.load({"acme": told}, SETTINGS).problems] == ["description_names"]


def test_other_settings_make_everything_again(registry: StoredRegistry) -> None:
    """What was sound under the former ones may not be any more."""
    kept = {"acme": rows(timeout_ms=60_000)}
    assert registry.load(kept, SETTINGS).problems == ()
    short = Settings(server=ServerSettings(max_call_seconds=5))
    assert [problem.rule for problem in registry.load(kept, short).problems] == ["timeout"]


def test_checking_changes_nothing(registry: StoredRegistry) -> None:
    """Rows that are only tried are not the registry."""
    before = catalogue(registry, {"acme": rows()})
    assert registry.check("acme", rows(odd=1), SETTINGS).catalogue is None
    tried = registry.check("acme", rows(title="Tried"), SETTINGS).catalogue
    assert tried is not None
    assert find(tried).tool.title == "Tried"
    assert registry.unusable == frozenset()
    assert catalogue(registry, {"acme": rows()}).digest == before.digest
