"""A call at work in this process."""

import asyncio

import pytest
from fakes.clock import FakeClock
from fakes.handles import TOOLS, FakeCourse, Heard, request_of
from fakes.principals import principal

from adapters.base import Happened
from gateway.call import Failure, Pending
from gateway.errors import Reason
from gateway.handles.running import Here, Running, pending

CALLER = principal()


def _begun(here: Here, heard: Heard | None = None, course: FakeCourse | None = None) -> Running:
    running = Running(here, CALLER, request_of(), heard or Heard())
    running.begin("c1")
    if course is not None:
        running.follow(course)
    return running


@pytest.fixture
def clock() -> FakeClock:
    """The time."""
    return FakeClock()


@pytest.fixture
def here(clock: FakeClock) -> Here:
    """Every call at work."""
    return Here(clock.monotonic)


async def test_what_is_announced_goes_on_to_the_surface(here: Here) -> None:
    """The id, and the end."""
    heard = Heard()
    running = _begun(here, heard)
    assert (heard.call_id, heard.has_ended) == ("c1", False)
    running.end()
    assert heard.has_ended
    assert not running.ask()


async def test_a_call_is_known_to_its_agent_from_its_beginning_until_it_is_forgotten(here: Here) -> None:
    """Whoever of the agent asks; to others there is none."""
    running = _begun(here)
    assert here.of(CALLER, "c1") is here.of(principal(id="helper-2"), "c1") is running
    assert here.of(principal(agent="other"), "c1") is None
    assert here.of(principal(tenant="other"), "c1") is None
    running.forget()
    assert here.of(CALLER, "c1") is None


async def test_a_call_that_never_began_is_none(here: Here) -> None:
    """Forgetting it is harmless."""
    Running(here, CALLER, request_of(), Heard()).forget()
    assert not here.by_id


async def test_a_running_call_tells_its_step_and_how_long_it_took(here: Here, clock: FakeClock) -> None:
    """Nobody can tell the step before it is followed."""
    running = _begun(here)
    clock.advance(1.5)
    assert (running.seen().step, running.seen().elapsed_ms) == ("", 1500)
    course = FakeCourse("e1", step="policy")
    running.follow(course)
    seen = running.seen()
    assert (seen.step, seen.answer.effect_id, seen.progress) == ("policy", "e1", None)
    assert isinstance(seen.answer.outcome, Pending)
    course.progress = (1.0, 3.0)
    assert running.seen().progress == (1.0, 3.0)
    running.over(pending("c1", "e1"))
    assert running.seen().step == ""


async def test_whoever_waits_wakes_when_it_ends(here: Here) -> None:
    """Or is forgotten; and otherwise when the time is over."""
    running = _begun(here)
    await running.changed(0.001)
    assert running.answer is None
    waiting = [asyncio.create_task(running.changed(60)) for _ in range(2)]
    await asyncio.sleep(0)
    running.over(running.pending())
    await asyncio.gather(*waiting)
    await running.changed(60)
    other = _begun(here)
    waiting_too = asyncio.create_task(other.changed(60))
    await asyncio.sleep(0)
    other.forget()
    await waiting_too


@pytest.mark.parametrize(
    ("happened", "reason"),
    [
        (None, Reason.CANCELLED),
        (Happened.NO, Reason.CANCELLED),
        (Happened.UNKNOWN, Reason.OUTCOME_UNKNOWN),
        (Happened.YES, Reason.OUTCOME_UNKNOWN),
    ],
)
async def test_what_was_cut_off_is_certain_before_its_intent_alone(
    here: Here, happened: Happened | None, reason: Reason
) -> None:
    """Nobody knows what came after."""
    outcome = _begun(here, course=FakeCourse("e1", happened=happened)).cut_off().outcome
    assert isinstance(outcome, Failure)
    assert outcome.reason is reason


async def test_of_a_call_that_nobody_followed_nothing_is_certain(here: Here) -> None:
    """It counts as one that may have done something."""
    running = _begun(here)
    outcome = running.cut_off().outcome
    assert isinstance(outcome, Failure)
    assert outcome.reason is Reason.OUTCOME_UNKNOWN
    assert (running.effect_id, running.has_effect) == ("c1", True)
    running.follow(FakeCourse("e1", tool=TOOLS["echo"]))
    assert (running.effect_id, running.has_effect) == ("e1", False)
