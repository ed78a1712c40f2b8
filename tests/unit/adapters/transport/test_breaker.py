"""A circuit opens on failures in a row, lets one call try after a while, and closes on success."""

import asyncio

import pytest
from fakes.clock import FakeClock

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.transport.breaker import Breaker


def _fail(breaker: Breaker, kind: ErrorKind = ErrorKind.UNAVAILABLE, name: str = "a") -> ErrorKind:
    """The kind of what leaves a block that fails this way."""
    with pytest.raises(AdapterError) as caught, breaker.guarding(name):
        raise AdapterError(kind, "x", happened=Happened.UNKNOWN)
    return caught.value.kind


def _succeed(breaker: Breaker, name: str = "a") -> None:
    with breaker.guarding(name):
        pass


def _opened(clock: FakeClock) -> Breaker:
    breaker = Breaker(clock, threshold=3, open_seconds=30)
    for _ in range(3):
        _fail(breaker)
    return breaker


@pytest.mark.parametrize("kind", [ErrorKind.UNAVAILABLE, ErrorKind.DEADLINE])
def test_opens_after_failures_in_a_row(kind: ErrorKind) -> None:
    """From then on nothing is tried, nothing happened, and the caller is told how long to wait."""
    breaker = Breaker(FakeClock(), threshold=3, open_seconds=30)
    assert [_fail(breaker, kind) for _ in range(3)] == [kind] * 3
    with pytest.raises(AdapterError) as caught, breaker.guarding("a"):
        raise AssertionError("an open circuit was entered")
    assert caught.value.kind is ErrorKind.CIRCUIT_OPEN
    assert caught.value.happened is Happened.NO
    assert caught.value.retry_after_seconds == 30


def test_success_in_between_starts_the_count_again() -> None:
    """Only failures in a row count."""
    breaker = Breaker(FakeClock(), threshold=3)
    for _ in range(5):
        _fail(breaker)
        _fail(breaker)
        _succeed(breaker)
    _succeed(breaker)


@pytest.mark.parametrize(
    "kind",
    sorted(
        set(ErrorKind) - {ErrorKind.UNAVAILABLE, ErrorKind.DEADLINE, ErrorKind.CIRCUIT_OPEN, ErrorKind.ADDRESS_REFUSED}
    ),
)
def test_a_refusal_is_an_answer(kind: ErrorKind) -> None:
    """A vendor that says no is alive; its answers even end a row of failures."""
    breaker = Breaker(FakeClock(), threshold=3)
    for _ in range(4):
        _fail(breaker)
        _fail(breaker, kind)
    _succeed(breaker)


def test_a_refused_address_says_nothing_about_the_vendor() -> None:
    """It neither counts nor ends a row."""
    breaker = Breaker(FakeClock(), threshold=3)
    for kind in (ErrorKind.UNAVAILABLE, ErrorKind.ADDRESS_REFUSED, ErrorKind.UNAVAILABLE, ErrorKind.UNAVAILABLE):
        _fail(breaker, kind)
    assert _fail(breaker) is ErrorKind.CIRCUIT_OPEN


def test_a_verdict_counts_like_an_exception() -> None:
    """An answer with a 5xx status is a failure without an exception."""
    breaker = Breaker(FakeClock(), threshold=2)
    for _ in range(2):
        with breaker.guarding("a") as verdict:
            verdict.has_failed = True
    assert _fail(breaker) is ErrorKind.CIRCUIT_OPEN


def test_after_a_while_one_call_tries_and_closes_it() -> None:
    """While it tries, others still wait; when it worked, everybody may go on."""
    clock = FakeClock()
    breaker = _opened(clock)
    clock.advance(29.9)
    assert _fail(breaker) is ErrorKind.CIRCUIT_OPEN
    clock.advance(0.2)
    with breaker.guarding("a"):
        assert _fail(breaker) is ErrorKind.CIRCUIT_OPEN
    assert [_fail(breaker), _fail(breaker)] == [ErrorKind.UNAVAILABLE] * 2


def test_a_failed_try_opens_it_again() -> None:
    """For the whole time, from the failure on."""
    clock = FakeClock()
    breaker = _opened(clock)
    clock.advance(31)
    assert _fail(breaker) is ErrorKind.UNAVAILABLE
    clock.advance(29)
    assert _fail(breaker) is ErrorKind.CIRCUIT_OPEN


def test_a_cancelled_try_leaves_the_next_one_its_turn() -> None:
    """Cancellation is no verdict, and does not keep the place of the one that tries."""
    clock = FakeClock()
    breaker = _opened(clock)
    clock.advance(31)
    with pytest.raises(asyncio.CancelledError), breaker.guarding("a"):
        raise asyncio.CancelledError
    _succeed(breaker)
    _succeed(breaker)


def test_circuits_are_apart() -> None:
    """What fails at one origin closes nothing at another."""
    breaker = _opened(FakeClock())
    _succeed(breaker, "b")


def test_strange_names_do_not_fill_the_memory() -> None:
    """The least recently used circuits are forgotten."""
    breaker = _opened(FakeClock())
    for index in range(5000):
        _succeed(breaker, f"host-{index}")
    assert len(breaker._circuits) == 1024
    _succeed(breaker)
