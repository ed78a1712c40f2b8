"""When nobody can say yet that something was not done."""

from dataclasses import replace

import pytest
from fakes.clock import START, FakeClock

from adapters.base import Invocation, Target
from adapters.transport.lateness import EARLY_SECONDS, is_early

INVOCATION = Invocation(arguments={}, target=Target(name="t"), credential=None, deadline=0.0, effect_id="e")


@pytest.mark.parametrize(("after", "early"), [(0.0, True), (EARLY_SECONDS - 0.1, True), (EARLY_SECONDS, False)])
def test_a_request_may_be_on_its_way_for_a_while(after: float, early: bool) -> None:
    """To the moment."""
    clock = FakeClock()
    clock.advance(after)
    assert is_early(clock, replace(INVOCATION, since=START)) is early
