"""A circuit per connection and origin: what fails again and again is left alone for a while.

`purgatory` keeps the state; time is ours, because its own states read the wall clock.
"""

import math
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from purgatory.domain.model import HALF_OPENED, OPENED, Context, HalfOpenedState

from adapters.base import AdapterError, Clock, ErrorKind, Fault, Happened

_MAX_CIRCUITS = 1024
_FAILURES = frozenset({ErrorKind.UNAVAILABLE, ErrorKind.DEADLINE})
_SAYS_NOTHING = frozenset({ErrorKind.ADDRESS_REFUSED, ErrorKind.CIRCUIT_OPEN})

_FAILED = Exception()
"""What a failure is called towards purgatory, which only wants to see one."""


@dataclass(slots=True)
class Verdict:
    """Set `has_failed` when the block ends without an exception and the vendor is to blame all the same."""

    has_failed: bool = False


@dataclass(slots=True)
class _Circuit:
    context: Context
    opened_at: float = 0.0
    is_probed: bool = False


class Breaker:
    """Opens a circuit after `threshold` failures in a row; after `open_seconds` one call may try.

    Only an unreachable or silent vendor counts: an answer that refuses a request is an answer. The
    least recently used of 1,024 circuits is forgotten, so that strange hosts cannot fill the memory.
    """

    def __init__(self, clock: Clock, *, threshold: int = 5, open_seconds: float = 30.0) -> None:
        self._clock = clock
        self._threshold = threshold
        self._open_seconds = open_seconds
        self._circuits: OrderedDict[str, _Circuit] = OrderedDict()

    @property
    def open_circuits(self) -> int:
        """How many are open now."""
        return sum(circuit.context.state == OPENED for circuit in self._circuits.values())

    @contextmanager
    def guarding(self, name: str) -> Iterator["Verdict"]:
        """Judges the block by the `AdapterError` that leaves it, or by its verdict; cancellation is none.

        Raises `AdapterError` (circuit_open, nothing happened) instead of entering an open circuit.
        """
        circuit = self._circuit(name)
        is_probe = self._enter(circuit)
        verdict = Verdict()
        try:
            yield verdict
        except AdapterError as error:
            if error.kind not in _SAYS_NOTHING:
                self._judge(circuit, has_failed=error.kind in _FAILURES)
            raise
        else:
            self._judge(circuit, has_failed=verdict.has_failed)
        finally:
            if is_probe:
                circuit.is_probed = False

    def _circuit(self, name: str) -> _Circuit:
        circuit = self._circuits.get(name)
        if circuit is None:
            # An endless ttl keeps purgatory from closing by the wall clock.
            circuit = self._circuits[name] = _Circuit(Context(name, self._threshold, math.inf))
            if len(self._circuits) > _MAX_CIRCUITS:
                self._circuits.popitem(last=False)
        self._circuits.move_to_end(name)
        return circuit

    def _enter(self, circuit: _Circuit) -> bool:
        """Whether this call is the one that tries a circuit that was open."""
        if circuit.context.state == OPENED:
            wait = circuit.opened_at + self._open_seconds - self._clock.monotonic()
            if wait > 0:
                raise _open(wait)
            circuit.context.set_state(HalfOpenedState())
        if circuit.context.state != HALF_OPENED:
            return False
        if circuit.is_probed:
            raise _open(1.0)
        circuit.is_probed = True
        return True

    def _judge(self, circuit: _Circuit, *, has_failed: bool) -> None:
        if has_failed:
            circuit.context.handle_exception(_FAILED)
            circuit.opened_at = self._clock.monotonic()
        else:
            circuit.context.handle_end_request()
        circuit.context.messages.clear()  # events for listeners that we do not have


def _open(wait_seconds: float) -> AdapterError:
    return AdapterError(
        ErrorKind.CIRCUIT_OPEN,
        "The other side failed several times in a row and is left alone for a moment; try again later.",
        happened=Happened.NO,
        fault=Fault.REFUSED,
        retry_after_seconds=wait_seconds,
    )
