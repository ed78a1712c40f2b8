"""Progress of calls."""

from typing import Any

from fakes.clock import FakeClock

from adapters.mcp_upstream.following import Following
from adapters.mcp_upstream.rpc import Notice


class _Told:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.following = Following(self.clock)
        self.heard: list[tuple[float, float | None]] = []
        self.following.begin(7, lambda done, total: self.heard.append((done, total)))

    def tell(self, progress: Any, total: Any = None, token: Any = 7, *, after: float = 1.0) -> None:
        self.clock.advance(after)
        params = {"progressToken": token, "progress": progress, "total": total}
        self.following.hear(Notice(method="notifications/progress", params=params))


def test_what_goes_on_is_passed_on() -> None:
    """With how much there is in all, when that is known."""
    told = _Told()
    told.tell(1, 10)
    told.tell(2.5)
    assert told.heard == [(1.0, 10.0), (2.5, None)]


def test_only_numbers_that_grow() -> None:
    """Neither backwards, nor the same again, nor what is no number."""
    told = _Told()
    for progress in (2, 1, 2, "3", True, None, float("nan"), float("inf"), [4], 3):
        told.tell(progress, "much")
    assert told.heard == [(2.0, None), (3.0, None)]


def test_only_of_calls_that_run() -> None:
    """Another token is nobody's, and nothing comes after the end."""
    told = _Told()
    for token in (8, "7", True, None, [7]):
        told.tell(1, token=token)
    told.following.end(7)
    told.tell(1)
    assert told.heard == []


def test_no_faster_than_anybody_reads() -> None:
    """A flood is thinned out."""
    told = _Told()
    for progress in range(1000):
        told.tell(progress, after=0.001)
    assert 9 <= len(told.heard) <= 11


def test_who_has_told_anything_has_begun() -> None:
    """Whether it was passed on or not; who was not followed has not."""
    told = _Told()
    assert not told.following.has_begun(7)
    told.tell("nonsense")
    assert told.following.has_begun(7)
    assert not told.following.has_begun(8)
