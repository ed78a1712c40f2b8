"""What comes of one row alone: the frozen row, its compiled schemas and what is wrong with it. None of it depends on
another row, so that it can be kept while the others change.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import orjson
from pydantic import BaseModel

from adapters.base import Adapter, Operation
from gateway.documents import Problem
from gateway.registry.frozen import agent_of, connection_of, target_of, tool_of
from gateway.registry.manifest import AgentRow, ConnectionRow, ToolRow
from gateway.registry.places import Placed
from gateway.registry.row_checks import check_agent, check_connection
from gateway.registry.tool_checks import Compiled, CompileSchema, bind_tool, check_tool, compile_tool, named_elsewhere
from gateway.rows import Agent, Connection, Tool
from gateway.settings.load import Settings

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made(Generic[R]):
    """One row, and all that was found out about it alone."""

    placed: Placed[R]
    problems: tuple[Problem, ...]
    digest: bytes
    """Over every field of the row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeTool(Made[ToolRow]):
    """A tool. What it is made into is None when its input schema cannot be used."""

    tool: Tool | None
    compiled: Compiled
    operation: Operation | None
    """What it is bound to, made once; None when there is no such thing."""
    named: frozenset[str]
    """What its description names that only another tool can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeConnection(Made[ConnectionRow]):
    """A connection."""

    connection: Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeAgent(Made[AgentRow]):
    """An agent."""

    agent: Agent


class Maker:
    """Makes rows as these adapters and settings have it."""

    def __init__(self, *, adapters: Mapping[str, Adapter], settings: Settings, compile_schema: CompileSchema) -> None:
        self.adapters = adapters
        self.settings = settings
        self._compile_schema = compile_schema

    def tool(self, placed: Placed[ToolRow]) -> MadeTool:
        """The tool."""
        compiled, problems = compile_tool(placed, self._compile_schema)
        operation, unbound = bind_tool(placed, compiled, self.adapters)
        problems += [*unbound, *check_tool(placed, compiled, operation=operation, settings=self.settings)]
        longest_ms = int(self.settings.server.max_call_seconds * 1000)
        return MadeTool(
            placed=placed,
            problems=tuple(problems),
            digest=_digest(placed.row),
            tool=tool_of(placed.row, longest_ms=longest_ms) if compiled.schema is not None else None,
            compiled=compiled,
            operation=operation,
            named=named_elsewhere(placed) if compiled.are_sound(placed) else frozenset(),
        )

    def connection(self, placed: Placed[ConnectionRow]) -> MadeConnection:
        """The connection."""
        problems = list(check_connection(placed, adapters=self.adapters, settings=self.settings))
        adapter = self.adapters.get(placed.row.vendor)
        sentences = [] if adapter is None else adapter.check_target(target_of(placed.row))
        problems += [placed.problem((), "target", sentence) for sentence in sentences]
        return MadeConnection(
            placed=placed,
            problems=tuple(problems),
            digest=_digest(placed.row),
            connection=connection_of(placed.row),
        )

    def agent(self, placed: Placed[AgentRow]) -> MadeAgent:
        """The agent."""
        problems = tuple(check_agent(placed, self.settings))
        return MadeAgent(placed=placed, problems=problems, digest=_digest(placed.row), agent=agent_of(placed.row))


def _digest(row: BaseModel) -> bytes:
    """The kind of a row is told by its keys. Sets are sorted first."""
    written = {key: sorted(value) if isinstance(value, frozenset) else value for key, value in row.model_dump().items()}
    return hashlib.sha256(orjson.dumps(written, option=orjson.OPT_SORT_KEYS)).digest()
