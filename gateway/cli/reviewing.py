"""What upstreams publish today against what rows have accepted, and the row that accepts it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from adapters.recipes import Offer
from gateway.arguments.schema import compile_schema
from gateway.cli.upstreams import Upstream
from gateway.importing.offers import proposed

Json = dict[str, Any]
_TEXTS = ("description", "input_schema")
"""What of a row says what the tool is, beside its binding. What its output has to be is what people demand of it."""


class Standing(StrEnum):
    """How something that an upstream offers stands to the rows."""

    ACCEPTED = "accepted"
    """It is what the row has pinned."""
    CHANGED = "changed"
    """The row's tool is put aside until somebody accepts what it has become."""
    GONE = "gone"
    """A row's tool is not offered any more."""
    UNUSABLE = "unusable"
    """It is offered, and no tool may be made of it."""
    NEW = "new"
    """No row is bound to it."""
    UNKNOWN = "unknown"
    """The upstream did not say."""

    @property
    def waits(self) -> bool:
        """Whether somebody has to look, since calls are refused."""
        return self in (Standing.CHANGED, Standing.GONE, Standing.UNUSABLE, Standing.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that an upstream offers, or a row that is bound to it."""

    connection: str
    tenant: str
    upstream: str
    """What the upstream calls it; empty when the whole upstream is meant."""
    standing: Standing
    tool: str = ""
    """The row's name; empty when there is none."""
    row: Json | None = field(default=None, repr=False)
    offer: Offer | None = field(default=None, repr=False)
    why: str = ""
    """One sentence, for what cannot be used or is not known."""

    @property
    def digest(self) -> str:
        """Over what the row would pin; empty when nothing is offered."""
        return self.offer.digest if self.offer is not None else ""


def findings(tools: Sequence[Json], upstreams: Iterable[Upstream]) -> Iterator[Finding]:
    """What is to be said of every upstream; `tools` are the rows as they are written."""
    for upstream in upstreams:
        connection = upstream.connection
        bound = [row for row in tools if row["binding"]["connection"] == connection.name]
        if upstream.problem:
            yield _finding(upstream, Standing.UNKNOWN, why=upstream.problem)
        else:
            yield from _of(upstream, bound)


def accepted(finding: Finding, *, is_pin_only: bool) -> Json:
    """The finding's row as it accepts what is offered now, under a new version, so that no approval of the former one
    covers it. With `is_pin_only` its texts and schemas stay as a person wrote them.

    Raises `Skipped` when no tool can be made of what is offered.
    """
    assert finding.row is not None
    assert finding.offer is not None
    row, offer = finding.row, finding.offer
    options = row["binding"].get("options", {})
    also = {key: value for key, value in offer.also.items() if key in options}
    binding = row["binding"] | {"options": {**options, **also, **offer.options}}
    texts: Mapping[str, Any] = {}
    if not is_pin_only:
        fresh = proposed(
            offer,
            name=row["name"],
            adapter=row["binding"]["adapter"],
            connection=finding.connection,
            compile_schema=compile_schema,
        )
        texts = {key: fresh.row[key] for key in _TEXTS if key in fresh.row}
    kept = {key: value for key, value in row.items() if is_pin_only or key not in _TEXTS}
    return {**kept, **texts, "binding": binding, "version": _next(str(row.get("version", "1")))}


def _of(upstream: Upstream, bound: Sequence[Json]) -> Iterator[Finding]:
    offers = {offer.name: offer for offer in upstream.offers}
    named = [(row, _named(row, upstream.offers)) for row in bound]
    for row, offer in named:
        if offer is None:
            yield _finding(upstream, Standing.GONE, row=row)
        else:
            yield _finding(upstream, _standing(row, offer), row=row, offer=offer)
    taken = {offer.name for _, offer in named if offer is not None}
    for name in sorted(offers.keys() - taken):
        standing = Standing.UNUSABLE if offers[name].problems else Standing.NEW
        yield _finding(upstream, standing, offer=offers[name])


def _named(row: Json, offers: Iterable[Offer]) -> Offer | None:
    """The offer that the row's binding names: by the option in which an offer has its own name."""
    options = row["binding"].get("options", {})
    for offer in offers:
        if any(value == offer.name and options.get(key) == value for key, value in offer.options.items()):
            return offer
    return None


def _standing(row: Json, offer: Offer) -> Standing:
    if offer.problems:
        return Standing.UNUSABLE
    options = row["binding"].get("options", {})
    is_same = all(options.get(key, value) == value for key, value in offer.also.items())
    return Standing.ACCEPTED if is_same and options.get("pin") == offer.digest else Standing.CHANGED


def _finding(
    upstream: Upstream, standing: Standing, *, row: Json | None = None, offer: Offer | None = None, why: str = ""
) -> Finding:
    return Finding(
        connection=upstream.connection.name,
        tenant=upstream.connection.tenant,
        upstream=offer.name if offer is not None else "",
        standing=standing,
        tool=row["name"] if row is not None else "",
        row=row,
        offer=offer,
        why=why or "; ".join(offer.problems if offer is not None else ()),
    )


def _next(version: str) -> str:
    """The version after this one."""
    head = version.rstrip("0123456789")
    number = version[len(head) :]
    return f"{head}{int(number) + 1}" if number else f"{version}.2"
