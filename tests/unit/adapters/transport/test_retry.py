"""What is worth repeating, after how long, and when it is over."""

# ruff: noqa: RUF001 - look-alike characters are what is tested

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from fakes.clock import START, FakeClock
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.transport.retry import MAX_ATTEMPTS, Patience, retry_after_seconds


@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int
    retry_after_seconds: float | None = None


class Script:
    """Attempts that end as a test has written down."""

    def __init__(self, *outcomes: Reply | AdapterError) -> None:
        self.outcomes = list(outcomes)
        self.count = 0

    async def attempt(self) -> Reply:
        """The next outcome; the last one stays."""
        self.count += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, AdapterError):
            raise outcome
        return outcome


def _error(kind: ErrorKind) -> AdapterError:
    return AdapterError(kind, "x", happened=Happened.NO)


def _patience(clock: FakeClock, seconds: float = 60.0) -> Patience:
    return Patience(clock=clock, random=lambda: 1.0, deadline=clock.monotonic() + seconds)


def _date(year: int) -> str:
    return format_datetime(datetime(year, 10, 21, 7, 28, tzinfo=UTC), usegmt=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["0"], 0.0),
        (["7"], 7.0),
        (["1.5"], 1.5),
        ([" 7 "], 7.0),
        (["-3"], 0.0),
        (["1e9"], 100.0),
        (["1e999"], 100.0),
        (["9" * 30], 100.0),
        (["Thu, 01 Jan 2026 00:00:30 GMT"], 30.0),
        (["Thu, 01 Jan 2026 00:00:30 -0000"], 30.0),
        ([_date(2020)], 0.0),
        ([_date(2027)], 100.0),
        (["Wed, 21 Oct 99999 07:28:00 GMT"], None),
        (["Wed, 21 Oct 2026 25:99:00 GMT"], None),
        (["soon"], None),
        ([""], None),
        ([], None),
        (["nan"], None),
        (["inf"], None),
        (["0x10"], None),
        (["٧"], None),
        (["-"], None),
        (["7 seconds"], None),
        (["3", "9"], 9.0),
        (["9", "3"], 9.0),
        (["3, 9"], 9.0),
        (["soon", "4"], 4.0),
        (["4", "Thu, 01 Jan 2026 00:00:30 GMT"], 30.0),
        (["x" * 100_000], None),
    ],
)
def test_g12_retry_after_is_read_or_left_alone(values: list[str], expected: float | None) -> None:
    """Seconds, fractions and dates; what is past is 0, what is large is the ceiling, nonsense is None."""
    assert retry_after_seconds(values, START, 100.0) == expected


@given(
    st.lists(st.text(max_size=40) | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ \d+:\d+:\d+ .*"), max_size=3)
)
def test_g12_retry_after_never_raises(values: list[str]) -> None:
    """Whatever a vendor sends, the wait lies between 0 and the ceiling or is left to us."""
    wait = retry_after_seconds(values, START, 60.0)
    assert wait is None or 0.0 <= wait <= 60.0


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_passing_fault_is_repeated(status: int) -> None:
    """Until it has passed, with a pause in between that grows."""
    clock, script = FakeClock(sleeps_pass=True), Script(Reply(status), Reply(status), Reply(200))
    assert await _patience(clock).repeat(script.attempt) == Reply(200)
    assert clock.slept == [0.25, 1.0]


@pytest.mark.parametrize("status", [200, 301, 400, 401, 404, 409, 500, 501])
async def test_an_answer_is_kept(status: int) -> None:
    """Everything else is the answer at once, a plain 500 too."""
    clock, script = FakeClock(), Script(Reply(status))
    assert await _patience(clock).repeat(script.attempt) == Reply(status)
    assert script.count == 1


async def test_g12_never_more_than_three_attempts() -> None:
    """Then the last answer stands, or the last error."""
    clock = FakeClock(sleeps_pass=True)
    script = Script(Reply(503))
    assert await _patience(clock).repeat(script.attempt) == Reply(503)
    assert script.count == MAX_ATTEMPTS == 3
    failing = Script(_error(ErrorKind.UNAVAILABLE))
    with pytest.raises(AdapterError):
        await _patience(clock).repeat(failing.attempt)
    assert failing.count == 3


async def test_a_broken_connection_is_repeated() -> None:
    """An unavailable vendor may be back a moment later."""
    clock, script = FakeClock(sleeps_pass=True), Script(_error(ErrorKind.UNAVAILABLE), Reply(200))
    assert await _patience(clock).repeat(script.attempt) == Reply(200)


@pytest.mark.parametrize("kind", sorted(set(ErrorKind) - {ErrorKind.UNAVAILABLE}))
async def test_other_errors_are_not_repeated(kind: ErrorKind) -> None:
    """They would be the same a second later, or the time is up."""
    script = Script(_error(kind))
    with pytest.raises(AdapterError):
        await _patience(FakeClock()).repeat(script.attempt)
    assert script.count == 1


async def test_g12_what_the_vendor_asks_for_is_waited() -> None:
    """Retry-After counts when it is longer than our own pause."""
    clock, script = FakeClock(sleeps_pass=True), Script(Reply(429, 7.0), Reply(429, 0.0), Reply(200))
    assert await _patience(clock).repeat(script.attempt) == Reply(200)
    assert clock.slept == [7.0, 1.0]


async def test_g12_a_wait_beyond_the_deadline_is_not_begun() -> None:
    """The answer that asked for it comes back at once and nothing is slept."""
    clock, script = FakeClock(), Script(Reply(429, 61.0))
    assert await _patience(clock, 60.0).repeat(script.attempt) == Reply(429, 61.0)
    assert (script.count, clock.slept) == (1, [])


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
async def test_pauses_are_spread(chance: float) -> None:
    """From half to the whole of the pause, so that many callers do not come back together."""
    clock, script = FakeClock(sleeps_pass=True), Script(Reply(503), Reply(200))
    patience = Patience(clock=clock, random=lambda: chance, deadline=clock.monotonic() + 60)
    await patience.repeat(script.attempt)
    assert clock.slept == [0.125 + 0.125 * chance]
