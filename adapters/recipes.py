"""The contract of adapters whose operations stand in rows: any HTTP API, other people's MCP servers, gRPC services.

What a vendor's adapter knows by heart, such a row says in its binding's options. The adapter makes an operation of it,
once for each row that is loaded, so that a call does nothing that could be done before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from adapters.base import ArgumentIssue, Invocation, Operation, SideEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a tool's row says of the operation that it is bound to."""

    tool: str
    """The tool's public name."""
    operation: str
    """One of the adapter's `recipes`."""
    side_effect: SideEffect
    """What the row says that a call does: the operation does that."""
    options: Mapping[str, Any]
    """The binding's options, as they were read from JSON or YAML."""
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None


class RecipeProblem(Exception):  # noqa: N818 - it is the row's problem, not an error of ours
    """Raised by `make` alone, with every issue found. A path is a JSON Pointer into the options."""

    def __init__(self, *issues: ArgumentIssue) -> None:
        super().__init__("; ".join(f"{issue.path}: {issue.message}" for issue in issues))
        self.issues = issues


@runtime_checkable
class MakesOperations(Protocol):
    """An adapter, as far as it makes operations of rows. Its `operations` are empty."""

    @property
    def recipes(self) -> Sequence[str]:
        """The names that a binding's `operation` may have."""
        ...

    def make(self, recipe: Recipe) -> Operation:
        """The operation, whose `arguments` are `dict`: the row's schema alone says what they are.

        Pure, without a network, and the same for the same recipe. Raises `RecipeProblem` and nothing else.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Something that an upstream says it can do, of which a person may make a tool.

    Whatever is text in it is the upstream's: shown to people, never to a model before somebody has accepted it.
    """

    name: str
    """What the upstream calls it, exactly."""
    digest: str
    """`sha256:` and hex over what a row pins."""
    operation: str
    options: Mapping[str, Any] = field(repr=False)
    """What the row's binding has to say, the digest among it."""
    side_effect: SideEffect
    """What it seems to do. A hint: the row decides."""
    title: str = field(default="", repr=False)
    description: str = field(default="", repr=False)
    input_schema: Mapping[str, Any] = field(repr=False)
    output_schema: Mapping[str, Any] | None = field(default=None, repr=False)
    problems: tuple[str, ...] = ()
    """Why no tool can be made of it, one sentence each: for instance another tool of the same name."""
    also: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What a row's binding may say too, as it is now: a row that says otherwise is put aside."""


@runtime_checkable
class Offers(Protocol):
    """An adapter, as far as its upstreams say what they can do."""

    async def offers(self, invocation: Invocation) -> Sequence[Offer]:
        """All of them, by name. Raises `AdapterError`."""
        ...


@runtime_checkable
class ReadsDescriptions(Protocol):
    """An adapter whose upstreams can be described by a file, for those that say nothing of themselves."""

    def offers_in(self, description: bytes) -> Sequence[Offer]:
        """All that the file describes, by name. Raises ValueError with a sentence."""
        ...
