"""What is counted while calls pass: plain sums in plain lists, since every call pays for them.

All of it belongs to the loop's thread. Nothing here knows the library that Prometheus reads through.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from gateway.call import Step
from gateway.metrics import families as f
from gateway.metrics.events import DELIVERIES, EVENTS_SENT, Received
from gateway.metrics.family import Distribution, Reading, Value
from gateway.metrics.upkeep import CHECKPOINTS_FAILED, CheckpointPlace

_MICROSECONDS = (
    *(25, 100, 250),
    *(1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000),
    *(1_000_000, 2_500_000, 10_000_000, 60_000_000),
)
"""Upper bounds of the buckets, from a step in memory to a slow vendor. Each is one line for every step and outcome in
every scrape, so there are not many."""
BOUNDS = tuple(each / 1_000_000 for each in _MICROSECONDS)
"""The same in seconds."""

_Row = list[int]
"""How many in each bucket, then those beyond all bounds, then the sum of all in microseconds."""


class Ended(Protocol):
    """What is counted of a call that ended: an audit line (`gateway.audit.base.Line`) is one."""

    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def outcome(self) -> str: ...  # noqa: D102
    @property
    def reason(self) -> str: ...  # noqa: D102
    @property
    def stopped_at(self) -> str: ...  # noqa: D102
    @property
    def replay(self) -> bool: ...  # noqa: D102
    @property
    def duration_us(self) -> int: ...  # noqa: D102
    @property
    def steps_us(self) -> Mapping[str, int]: ...  # noqa: D102


class _Cell:
    """How many calls ended in one way, and the row of their durations, shared by all ways of the same outcome."""

    __slots__ = ("count", "row")

    def __init__(self, row: _Row) -> None:
        self.count = 0
        self.row = row


class _Rows(dict[str, _Row]):
    """A row for each step; any other name shares one, and adds nothing."""

    def __missing__(self, name: str) -> _Row:
        return self[f.OTHER]


class Metrics:
    """Counts. No method raises, and none waits."""

    def __init__(self, *, listeners: Iterable[str] = ()) -> None:
        """`listeners`: the names that the settings give them."""
        self._cells: dict[tuple[str, str, str, str], _Cell] = {}
        self._ended: dict[tuple[str, str, str, str], _Cell] = {}
        self._durations: dict[tuple[str, str], _Row] = {}
        self._steps = _Rows({step: _row() for step in (*map(str, Step), f.OTHER)})
        self._audit = self._steps[Step.AUDIT.value]
        self._lag = _row()
        self._replays = 0
        self._withheld = 0
        self._unauthenticated = dict.fromkeys((*listeners, f.OTHER), 0)
        self._turned_away = dict.fromkeys(map(str, f.TurnedAway), 0)
        self._reloads = {(str(what), result): 0 for what in f.Reloaded for result in ("ok", "failed")}
        self._scrapes = dict.fromkeys(map(str, f.Scrape), 0)
        self._scrape_errors: dict[str, int] = {}
        self._checkpoints = dict.fromkeys(map(str, CheckpointPlace), 0)
        self._deliveries = dict.fromkeys(map(str, Received), 0)
        self._events_sent = 0
        self._cell_of(("call", "ok", "", ""))  # from zero on, so that the first one is an increase

    def called(self, ended: Ended, audit_us: int = -1) -> None:
        """A call ended. `audit_us`: how long its line took to be durable; left out when it is not known."""
        key = (ended.kind, ended.outcome, ended.reason, ended.stopped_at)
        cell = self._cells.get(key) or self._cell_of(key)
        cell.count += 1
        _add(cell.row, ended.duration_us)
        if ended.replay:
            self._replays += 1
        rows, bounds = self._steps, _MICROSECONDS
        for step, took_us in ended.steps_us.items():
            row = rows[step]
            row[bisect_left(bounds, took_us)] += 1  # `_add`, without a call for each step
            row[-1] += took_us
        if audit_us >= 0:
            _add(self._audit, audit_us)

    def withheld(self) -> None:
        """An answer did not leave, since its line could not be written."""
        self._withheld += 1

    def unauthenticated(self, listener: str) -> None:
        """Somebody came to a listener without a valid proof of identity."""
        self._unauthenticated[listener if listener in self._unauthenticated else f.OTHER] += 1

    def turned_away(self, why: str) -> None:
        """A request never became a call. `why`: a value of `TurnedAway`, such as the reason of a refusal."""
        self._turned_away[_known(why, self._turned_away)] += 1

    def reloaded(self, what: f.Reloaded, *, is_ok: bool) -> None:
        """A change was noticed: taken over, or refused."""
        self._reloads[str(what), "ok" if is_ok else "failed"] += 1

    def checkpoint_failed(self, where: str) -> None:
        """A checkpoint of the audit could not be signed, or not be kept there: a value of `CheckpointPlace`."""
        self._checkpoints[_known(where, self._checkpoints)] += 1

    def delivered(self, result: Received) -> None:
        """A delivery of a webhook ended so."""
        self._deliveries[str(result)] += 1

    def event_sent(self) -> None:
        """An event went to somebody who watches."""
        self._events_sent += 1

    def scraped(self, result: f.Scrape) -> None:
        """Somebody asked for the metrics."""
        self._scrapes[str(result)] += 1

    def scrape_failed(self, part: str) -> None:
        """A part could not be read. `part`: a field of `Gauges`."""
        self._scrape_errors[part] = self._scrape_errors.get(part, 0) + 1

    def loop_was_late(self, seconds: float) -> None:
        """The loop ran something so much later than it was due."""
        _add(self._lag, max(round(seconds * 1_000_000), 0))

    def read(self) -> Iterator[Reading]:
        """Everything that was counted."""
        yield f.CALLS, [(key, cell.count) for key, cell in self._ended.items()]
        yield f.CALL_SECONDS, [(key, _distribution(row)) for key, row in self._durations.items()]
        yield f.STEP_SECONDS, [((step,), _distribution(row)) for step, row in self._steps.items() if any(row)]
        yield f.REPLAYS, [((), self._replays)]
        yield f.WITHHELD, [((), self._withheld)]
        yield f.UNAUTHENTICATED, _by_one(self._unauthenticated)
        yield f.TURNED_AWAY, _by_one(self._turned_away)
        yield f.RELOADS, list(self._reloads.items())
        yield f.SCRAPES, _by_one(self._scrapes)
        yield f.SCRAPE_ERRORS, _by_one(self._scrape_errors)
        yield CHECKPOINTS_FAILED, _by_one(self._checkpoints)
        yield DELIVERIES, _by_one(self._deliveries)
        yield EVENTS_SENT, [((), self._events_sent)]
        yield f.LOOP_LAG, [((), _distribution(self._lag))]

    def _cell_of(self, key: tuple[str, str, str, str]) -> _Cell:
        """The cell of a way to end that was not seen yet; one with unknown words is counted among others."""
        kind, outcome, reason, step = map(str, key)
        known = (
            _known(kind, _KINDS),
            _known(outcome, f.OUTCOMES),
            _known(reason, f.REASONS),
            _known(step, f.STEPS) if step else f.DONE,
        )
        cell = self._ended.get(known)
        if cell is None:
            cell = self._ended[known] = _Cell(self._durations.setdefault(known[:2], _row()))
        if f.OTHER not in known:
            # As it was given: an enum and its text are equal, and not found by one another.
            self._cells[key] = cell
        return cell


_KINDS = frozenset(map(str, f.Kind))


def _row() -> _Row:
    return [0] * (len(_MICROSECONDS) + 2)


def _add(row: _Row, took_us: int) -> None:
    row[bisect_left(_MICROSECONDS, took_us)] += 1
    row[-1] += took_us


def _distribution(row: _Row) -> Distribution:
    return Distribution(bounds=BOUNDS, counts=tuple(row[:-1]), total=row[-1] / 1_000_000)


def _known(value: str, known: Iterable[str]) -> str:
    return value if value in known else f.OTHER


def _by_one(counts: Mapping[str, int]) -> list[tuple[tuple[str, ...], Value]]:
    return [((name,), count) for name, count in counts.items()]
