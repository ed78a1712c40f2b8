"""What agents are told of an approval: safe for a model to read, and never by whom it was decided."""

import pytest

from gateway.approvals.told import (
    CUT_OFF,
    EXPIRED,
    NOT_KEPT,
    TOLD_CHARACTERS,
    UNKNOWN,
    WITHDRAWN,
    denial,
    running,
    waiting,
)
from gateway.call import Failure, PendingState
from gateway.errors import MESSAGE_BYTES, Code, Reason


def test_a_denial_tells_what_was_said() -> None:
    """On one line, cut, without anything that is no text."""
    told = denial("No.\n\x1b[2J Too   much\u202e.", is_told=True).message
    assert told.endswith("They said: No. [2J Too much .")
    assert denial("x" * 5000, is_told=True).message.count("x") == TOLD_CHARACTERS
    assert "They said" not in denial("x", is_told=False).message
    assert "They said" not in denial(" \n", is_told=True).message


@pytest.mark.parametrize("failure", [EXPIRED, WITHDRAWN, CUT_OFF, NOT_KEPT, UNKNOWN, denial("€" * 5000, is_told=True)])
def test_every_end_is_one_that_an_agent_can_read(failure: Failure) -> None:
    """It is short enough, and says what to do or not to do."""
    assert len(failure.message.encode()) <= MESSAGE_BYTES
    assert any(word in failure.message for word in ("again", "Do not", "not kept"))


def test_an_unknown_effect_is_never_told_as_a_failure_to_act() -> None:
    """Its code says that it may have happened."""
    assert UNKNOWN.code is Code.OUTCOME_UNKNOWN
    assert denial("", is_told=True).reason is Reason.APPROVAL_DENIED


def test_waiting_and_running_are_told_apart() -> None:
    """While it waits, nothing was done."""
    assert waiting("a1", "send").state is PendingState.APPROVAL
    assert "Nothing was done" in waiting("a1", "send").message
    assert running("a1").state is PendingState.RUNNING
