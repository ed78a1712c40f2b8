"""Who is left alone after a limit."""

import pytest

from adapters.base import Happened
from adapters.stripe.limits import pauses
from adapters.transport.api import Pause
from adapters.transport.replies import Reply


def _pauses(status: int, reason: str, wait: float | None = None) -> list[Pause]:
    headers = {"Stripe-Rate-Limited-Reason": reason} if reason else {}
    reply = Reply(status=status, headers=headers, value={}, happened=Happened.NO, retry_after_seconds=wait)
    return list(pauses(reply, 0.0))


@pytest.mark.parametrize("reason", ["global-rate", "global-concurrency"])
def test_a_limit_of_the_account_is_for_all_of_it(reason: str) -> None:
    """For as long as Stripe says, or for a second."""
    assert _pauses(429, reason) == [Pause(seconds=1.0)]
    assert _pauses(429, reason, 30.0) == [Pause(seconds=30.0)]


@pytest.mark.parametrize("reason", ["endpoint-rate", "endpoint-concurrency", "resource-specific", "", "globalx"])
def test_any_other_limit_leaves_the_rest_be(reason: str) -> None:
    """An object that is held, or a list that was asked for too often, stops no refund."""
    assert _pauses(429, reason) == []


def test_a_good_answer_is_no_limit() -> None:
    """Whatever its headers say."""
    assert _pauses(200, "global-rate") == []
