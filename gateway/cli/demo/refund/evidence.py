"""Everything that the second scene was seen to do."""

from dataclasses import dataclass, field
from typing import Any

from gateway.cli.demo.record import Record

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """The scene was not played, and why: one sentence."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundEvidence(Record):
    """A record, and what the vendors themselves say was done."""

    refunds: tuple[Json, ...] = field(repr=False)
    issues: tuple[Json, ...] = field(repr=False)
    messages: tuple[Json, ...] = field(repr=False)
    counted: int
    """How often Valkey was asked meanwhile."""
    credentials: frozenset[str]
    """The references that the vendors' keys are lent by."""
