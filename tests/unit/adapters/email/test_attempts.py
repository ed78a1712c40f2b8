"""Attempts to get a connection."""

import pytest
from fakes.clock import FakeClock

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.email.attempts import MAX_CONNECTS, repeated
from adapters.email.failures import ConnectFailure


class Attempts:
    """Fails as often as it is told."""

    def __init__(self, failures: int, kind: type[AdapterError] = ConnectFailure) -> None:
        self.left, self.kind, self.count = failures, kind, 0

    async def __call__(self) -> str:
        """One attempt."""
        self.count += 1
        if self.count <= self.left:
            raise self.kind(ErrorKind.UNAVAILABLE, "x", happened=Happened.NO)
        return "done"


async def test_it_is_tried_again_with_longer_pauses() -> None:
    """And said how often."""
    clock = FakeClock(sleeps_pass=True)
    assert await repeated(Attempts(2), clock, lambda: 1.0, clock.monotonic() + 20) == ("done", 3)
    assert clock.slept == [0.5, 1.0]


async def test_it_is_tried_three_times_at_most() -> None:
    """The last error says so."""
    clock = FakeClock(sleeps_pass=True)
    with pytest.raises(ConnectFailure) as caught:
        await repeated(Attempts(9), clock, lambda: 0.0, clock.monotonic() + 20)
    assert caught.value.attempts == MAX_CONNECTS


@pytest.mark.parametrize(("kind", "seconds"), [(AdapterError, 20.0), (ConnectFailure, 0.4)])
async def test_nothing_else_is_repeated(kind: type[AdapterError], seconds: float) -> None:
    """Neither a failure of another kind, nor past the deadline."""
    clock = FakeClock(sleeps_pass=True)
    attempts = Attempts(1, kind)
    with pytest.raises(AdapterError):
        await repeated(attempts, clock, lambda: 1.0, clock.monotonic() + seconds)
    assert (attempts.count, clock.slept) == (1, [])
