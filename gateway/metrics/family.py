"""What a metric is, and what is read of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Type(StrEnum):
    """How a metric is read."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Family:
    """One metric."""

    name: str
    """As it is queried; a histogram's without `_bucket`, `_sum` and `_count`."""
    type: Type
    labels: tuple[str, ...]
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """What a histogram holds: how many fell below each bound, and their sum."""

    bounds: tuple[float, ...]
    """Upper bounds, in seconds."""
    counts: tuple[int, ...]
    """How many fell between the bound before and this one; one more than bounds, for what is beyond all."""
    total: float
    """The sum of all, in seconds."""


Value = float | Distribution
Reading = tuple[Family, Sequence[tuple[tuple[str, ...], Value]]]
"""A metric, and its value for each combination of labels."""


def one(family: Family, value: float) -> Reading:
    """The reading of a metric that has no labels."""
    return family, [((), float(value))]
