"""What the engine remembers of its OPA."""

import pytest
from fakes.clock import FakeClock

from adapters.base import Fault
from gateway.clients.opa import BundleState
from gateway.policy.opa_state import MAX_FAILURES, Breaker, Freshness


def _heard(at: float | None) -> BundleState:
    return BundleState(revision="r1", heard_at=at, error="")


def test_what_was_never_heard_of_is_stale() -> None:
    """Before the first look, and when OPA never heard from its bundle service."""
    clock = FakeClock()
    freshness = Freshness(clock, 10)
    assert freshness.is_stale
    freshness.heard(_heard(clock.now()))
    assert not freshness.is_stale
    freshness.heard(_heard(None))
    assert freshness.is_stale


@pytest.mark.parametrize(("ahead", "age"), [(0.0, 11.0), (3600.0, 11.0), (-5.0, 16.0)])
def test_only_a_change_makes_it_fresh(ahead: float, age: float) -> None:
    """Whatever OPA's clock says: the older of two ages counts."""
    clock = FakeClock()
    freshness = Freshness(clock, 10)
    heard = _heard(clock.now() + ahead)
    freshness.heard(heard)
    clock.advance(11)
    freshness.heard(heard)
    assert (freshness.age(), freshness.is_stale) == (pytest.approx(age), True)


def test_failures_in_a_row_open_the_breaker_and_an_answer_closes_it() -> None:
    """It says how the last one failed."""
    breaker = Breaker()
    for _ in range(MAX_FAILURES - 1):
        breaker.count(Fault.RESET)
    assert breaker.fault is None
    breaker.count(Fault.TIMEOUT)
    assert breaker.fault is Fault.TIMEOUT
    breaker.close()
    assert (breaker.fault, breaker.failures) == (None, 0)
