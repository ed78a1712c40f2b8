"""A document becomes proposed rows: one tool for each operation, one capability each. Pure: nothing is fetched."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.errors import StartError
from gateway.importing.answers import answer_of
from gateway.importing.arguments import arguments_of
from gateway.importing.closing import Closing
from gateway.importing.connections import ProposedConnection, connection_of
from gateway.importing.names import MAX_PREFIX, names_of, snake
from gateway.importing.operations import Choice, Described, check_possible, operations_of
from gateway.importing.reasons import Inexpressible, Skipped
from gateway.importing.references import References
from gateway.importing.scalars import Bounds, CompileSchema
from gateway.importing.texts import plain_text

Json = dict[str, Any]
Refusal = Callable[[Json], str]
"""Why the registry would refuse a tool's row, in a sentence; empty when it takes it."""

MAX_DESCRIPTION = 1000
MAX_TITLE = 80
TIMEOUT_MS = 30_000
MAX_ROWS = 16 * 1024 * 1024
"""Bytes of all rows as JSON: twice what fits into a manifest."""
_READS = ("GET", "HEAD")
_RISKS = {"GET": "low", "HEAD": "low", "DELETE": "high"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What whoever imports says of the rows."""

    connection: str
    """Also the first half of every tool's scopes and groups."""
    tenant: str
    prefix: str | None = None
    """Of every tool's name; the connection's name when it is None."""
    only: Sequence[str] = ()
    """As `Choice` has it; everything when empty."""
    base_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedTool:
    """The row, and what a person has to look at."""

    operation: str
    row: Json = field(repr=False)
    reviews: Mapping[str, str]
    """By the row's key."""
    notes: Sequence[str] = ()
    """What was left out of it, a sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """An operation of which no tool is proposed."""

    operation: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What is proposed, in the document's order, and what is not."""

    connection: ProposedConnection
    tools: Sequence[ProposedTool]
    skipped: Sequence[LeftOut]


def propose(
    document: Mapping[str, Any],
    wishes: Wishes,
    *,
    compile_schema: CompileSchema,
    refusal: Refusal,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> Proposal:
    """The proposed rows of an OpenAPI document. The same document and wishes always give the same.

    `tell` hears how many operations are done, and of how many. Raises `StartError` for a document that says nowhere
    where its service is, or that asks for more work than any that people write.
    """
    references = References(document)
    described = operations_of(document, references)
    prefix = prefix_of(wishes.connection if wishes.prefix is None else wishes.prefix)
    names = names_of({one.key: one.id for one in described}, prefix=prefix)
    choice = Choice(wishes.only)
    wanted = [one for one in described if choice.takes(one, names[one.key] or "")]
    making = _Making(document, wishes, references, compile_schema=compile_schema, refusal=refusal)
    tools: list[ProposedTool] = []
    skipped: list[LeftOut] = []
    size = 0
    for done, operation in enumerate(wanted):
        tell(done, len(wanted))
        try:
            tools.append(making.tool(operation, names[operation.key]))
            size += len(orjson.dumps(tools[-1].row))
        except (Skipped, Inexpressible) as why:
            reason = why.reason if isinstance(why, Skipped) else f"it {why.reason}"
            skipped.append(LeftOut(operation=operation.title, reason=reason[:300]))
        if size > MAX_ROWS:
            raise StartError("the rows would be larger than a manifest may be; choose fewer by --only")
    connection = connection_of(
        document, wanted, references, name=wishes.connection, tenant=wishes.tenant, base_url=wishes.base_url
    )
    return Proposal(connection=connection, tools=tools, skipped=skipped)


def reasons_of(skipped: Iterable[LeftOut]) -> list[tuple[str, int]]:
    """Why operations were skipped and how often, the most frequent first."""
    return Counter(one.reason for one in skipped).most_common()


def prefix_of(text: str) -> str:
    """What a text begins tools' names with."""
    return snake(text)[:MAX_PREFIX].rstrip("_")


class _Making:
    """Makes tools of one document's operations."""

    def __init__(
        self,
        document: Mapping[str, Any],
        wishes: Wishes,
        references: References,
        *,
        compile_schema: CompileSchema,
        refusal: Refusal,
    ) -> None:
        self._document = document
        self._wishes = wishes
        self._references = references
        self._bounds = Bounds(compile_schema)
        self._refusal = refusal

    def tool(self, operation: Described, name: str | None) -> ProposedTool:
        """The tool. Raises `Skipped` or `Inexpressible`."""
        if name is None:
            raise Skipped("its name cannot be told apart from another's")
        check_possible(operation, self._document, self._references)
        closing = Closing(self._references, self._bounds)
        taken = arguments_of(operation, self._references, closing)
        answer, output = answer_of(operation.own.get("responses"), operation.method, self._references)
        schema = taken.schema(closing.defs)
        row = self._row(operation, name, {**taken.options, **({"answer": answer} if answer else {})}, schema)
        row["input_schema"] = schema
        if output is not None:
            row["output_schema"] = output
        if why := self._refusal(row):
            raise Skipped(f"the registry would refuse it: {why}")
        return ProposedTool(operation=operation.title, row=row, reviews=_reviews(operation), notes=closing.notes)

    def _row(self, operation: Described, name: str, options: Json, schema: Json) -> Json:
        is_read = operation.method in _READS
        connection = self._wishes.connection
        effect = {"side_effect": "read"} if is_read else {"side_effect": "write", "idempotency": "optional"}
        title, description = _words(operation, _named(schema))
        return {
            "name": name,
            "title": title,
            "description": description,
            **effect,
            "risk": _RISKS.get(operation.method, "medium"),
            "requires": [f"{connection}:{'read' if is_read else 'write'}"],
            "groups": _groups(connection, operation.tags),
            "disposition": "optional",
            "surfaces": ["grpc"],
            "trust": "untrusted",
            "timeout_ms": TIMEOUT_MS,
            "binding": {"adapter": "http_api", "operation": "request", "connection": connection, "options": options},
        }


def _words(operation: Described, names: frozenset[str]) -> tuple[str, str]:
    """Title and description. A summary that the description begins with is not said twice."""
    summary = plain_text(operation.own.get("summary"), most=MAX_DESCRIPTION // 2, names=names)
    text = plain_text(operation.own.get("description"), most=MAX_DESCRIPTION, names=names)
    is_said = not summary or text.lower().startswith(summary.lower().rstrip("."))
    head = summary if summary.endswith((".", "!", "?", "…")) or not summary else f"{summary}."
    whole = text if is_said else f"{head} {text}".rstrip()
    fallback = f"{operation.method} {operation.path}"
    description = plain_text(whole or fallback, most=MAX_DESCRIPTION, names=names) or "An operation without words."
    title = plain_text(operation.own.get("summary"), most=MAX_TITLE)
    return title or snake(operation.id or fallback).replace("_", " ")[:MAX_TITLE], description


def _named(schema: Json) -> frozenset[str]:
    """The names that a description may put in backticks: those of the arguments."""
    return frozenset(schema["properties"])


def _groups(connection: str, tags: Sequence[str]) -> list[str]:
    """A group for each tag. They bear the connection's name, since every tool of a tenant shares the groups."""
    plain = (re.sub(r"[^a-z0-9_-]+", "_", tag.lower()[:200]).strip("_") for tag in tags)
    return list(dict.fromkeys(f"{connection}.{tag}"[:64] for tag in plain if tag))


def _reviews(operation: Described) -> dict[str, str]:
    hint = ", read when it only searches" if operation.method == "POST" else ""
    found = {
        "side_effect": f"guessed from {operation.method}{hint}",
        "risk": f"guessed from {operation.method}",
    }
    if operation.own.get("deprecated") is True:
        found["name"] = "the description calls it deprecated"
    return found
