"""What comes of one row alone does not depend on another."""

from typing import Any

from fakes.adapter import FakeAdapter
from fakes.administration import AGENT, CONNECTION, TOOL

from gateway.arguments.schema import compile_schema
from gateway.documents import Document
from gateway.registry.making import Maker
from gateway.registry.manifest import AgentRow, ConnectionRow, ToolRow
from gateway.registry.places import Placed
from gateway.settings.load import Settings


def placed(model: Any, row: dict[str, Any]) -> Placed[Any]:
    """The row."""
    return Placed(row=model.model_validate(row), document=Document(file="x", value=row, lines={}), at=())


def maker(**settings: Any) -> Maker:
    """Over a fake vendor."""
    return Maker(adapters={"fake": FakeAdapter()}, settings=Settings(**settings), compile_schema=compile_schema)


def test_a_sound_row_is_made_whole() -> None:
    """Each kind, without a word."""
    tool = maker().tool(placed(ToolRow, TOOL | {"description": "Like `other`."}))
    assert (tool.problems, tool.named) == ((), {"other"})
    assert tool.tool is not None
    assert tool.compiled.schema is not None
    assert maker().connection(placed(ConnectionRow, CONNECTION)).connection.vendor == "fake"
    assert maker().agent(placed(AgentRow, AGENT)).agent.tools == {"echo"}


def test_a_row_with_a_problem_says_so_by_itself() -> None:
    """Schemas, settings and adapters are looked at; other rows are not."""
    broken = maker().tool(placed(ToolRow, TOOL | {"input_schema": {"type": 5}}))
    assert (broken.tool, [problem.rule for problem in broken.problems]) == (None, ["schema"])
    agent = maker(known_scopes=("other",)).agent(placed(AgentRow, AGENT))
    assert [problem.rule for problem in agent.problems] == ["known_scope"]
    connection = maker().connection(placed(ConnectionRow, CONNECTION | {"vendor": "nobody"}))
    assert [problem.rule for problem in connection.problems] == ["vendor"]


def test_the_digest_is_of_every_field() -> None:
    """And of nothing else."""
    first = maker().tool(placed(ToolRow, TOOL)).digest
    assert maker(known_scopes=("test:read",)).tool(placed(ToolRow, TOOL)).digest == first
    assert maker().tool(placed(ToolRow, TOOL | {"risk": "high"})).digest != first
