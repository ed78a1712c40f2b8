"""What an upstream offers becomes a proposed row, which a person reads before an agent does."""

from collections.abc import Iterable, Mapping
from typing import Any

from adapters.base import SideEffect
from adapters.recipes import Offer
from gateway.importing.closing import Closing
from gateway.importing.names import names_of
from gateway.importing.proposing import ProposedTool, prefix_of
from gateway.importing.reasons import Inexpressible, Skipped
from gateway.importing.references import References
from gateway.importing.scalars import Bounds, CompileSchema
from gateway.importing.taken import Taken
from gateway.importing.texts import plain_text

Json = dict[str, Any]

MAX_DESCRIPTION = 1000
MAX_TITLE = 80
TIMEOUT_MS = 30_000
_MORE = frozenset({"$ref", "allOf", "anyOf", "oneOf", "additionalProperties"})
_ELSEWHERE = ("$schema", "$id", "$defs", "definitions")
_REVIEWS = {
    "description": "the upstream wrote it, and agents will read it",
    "side_effect": "guessed from what the upstream says of itself",
    "risk": "guessed from the side effect",
}


def proposed(offer: Offer, *, name: str, adapter: str, connection: str, compile_schema: CompileSchema) -> ProposedTool:
    """The row of an offer, under this name.

    The same offer always gives the same row. Raises `Skipped` for one of which no tool can be made.
    """
    if offer.problems:
        raise Skipped("; ".join(offer.problems))
    schema, notes = _closed(offer.input_schema, compile_schema)
    is_read = offer.side_effect is SideEffect.READ
    title = plain_text(offer.title, most=MAX_TITLE) or plain_text(offer.name, most=MAX_TITLE)
    row: Json = {
        "name": name,
        "title": title,
        "description": plain_text(offer.description, most=MAX_DESCRIPTION, names=set(schema["properties"]))
        or f"{title}.",
        "side_effect": offer.side_effect.value,
        **({} if is_read else {"idempotency": "optional"}),
        "risk": "low" if is_read else "medium",
        "requires": [f"{connection}:{'read' if is_read else 'write'}"],
        "groups": [connection],
        "disposition": "optional",
        "surfaces": ["grpc"],
        "trust": "untrusted",
        "timeout_ms": TIMEOUT_MS,
        "binding": {
            "adapter": adapter,
            "operation": offer.operation,
            "connection": connection,
            "options": dict(offer.options),
        },
        "input_schema": schema,
    }
    return ProposedTool(operation=offer.name, row=row, reviews=_REVIEWS, notes=notes)


def offered_names(offers: Iterable[Offer], prefix: str) -> dict[str, str | None]:
    """A legal name for each offer by the upstream's own, of which no two look alike; None for one that cannot be told
    apart.
    """
    named = names_of({("", one.name): one.name.rpartition("/")[2] for one in offers}, prefix=prefix_of(prefix))
    return {upstream: name for (_, upstream), name in named.items()}


def _closed(schema: Mapping[str, Any], compile_schema: CompileSchema) -> tuple[Json, list[str]]:
    """The input schema as the registry has it: every object says all that may be in it."""
    closing = Closing(References(schema), Bounds(compile_schema))
    root = {key: value for key, value in schema.items() if key not in _ELSEWHERE}
    if not root.get("properties") and not root.keys() & _MORE:
        return Taken().schema({}), []  # it takes nothing
    try:
        closed = closing.close({**root, "type": "object"}, "the arguments")
    except Inexpressible as why:
        raise Skipped(f"its arguments: it {why.reason}") from why
    if "properties" not in closed and closed.get("type") != "object":
        raise Skipped("its arguments are not one object")
    taken = Taken(properties=dict(closed.get("properties", {})), required=list(closed.get("required", [])))
    return taken.schema(closing.defs), closing.notes
