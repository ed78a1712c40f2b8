"""What health tells."""

import asyncio

from fakes.clock import FakeClock

from gateway.readiness import LOOK_SECONDS, Readiness


class Parts:
    """Two parts that a test turns on and off, and what was told of them."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.policy = True
        self.journal = True
        self.told: list[tuple[bool, tuple[str, ...]]] = []
        checks = {"policy": lambda: self.policy, "journal": lambda: self.journal}
        self.readiness = Readiness(
            checks, clock=self.clock, on_change=lambda is_ready, missing: self.told.append((is_ready, missing))
        )

    async def look(self) -> None:
        """Let the next look happen."""
        before = len(self.told)
        for _ in range(50):
            self.clock.advance(LOOK_SECONDS)
            await asyncio.sleep(0)
            if len(self.told) > before:
                return


async def test_it_is_told_at_start_and_at_every_change() -> None:
    """And not in between."""
    parts = Parts()
    parts.policy = False
    parts.readiness.start()
    parts.policy = True
    await parts.look()
    await parts.look()
    parts.journal = False
    await parts.look()
    await parts.readiness.stop()
    assert parts.told == [(False, ("policy",)), (True, ()), (False, ("journal",))]


async def test_draining_is_told_at_once_and_for_good() -> None:
    """Whatever becomes of the parts."""
    parts = Parts()
    parts.readiness.start()
    parts.readiness.drain()
    assert parts.told == [(True, ()), (False, ("draining",))]
    await parts.look()
    assert not parts.readiness.is_ready
    await parts.readiness.stop()


def test_a_part_that_cannot_say_is_not_ready() -> None:
    """Whatever it raises."""

    def broken() -> bool:
        raise RuntimeError

    readiness = Readiness({"policy": broken}, clock=FakeClock(), on_change=lambda *_: None)
    assert readiness.missing() == ("policy",)


async def test_stopping_what_was_not_started_is_harmless() -> None:
    """A start that failed half-way stops everything."""
    await Parts().readiness.stop()
