"""What is told of a call."""

from gateway.call import Answer, Failure, Pending, PendingState, Result
from gateway.errors import Reason
from gateway.handles.base import Seen


def test_a_call_has_ended_when_nothing_of_it_is_pending() -> None:
    """Neither its work nor a person."""
    ended = [Result(content=(), structured_json=b"", receipt=""), Failure(reason=Reason.CANCELLED, message="")]
    pending = [Pending(approval_id="", message="", state=state) for state in PendingState]
    outcomes = [*ended, *pending]
    seen = [Seen(answer=Answer(call_id="c", effect_id="e", outcome=outcome)) for outcome in outcomes]
    assert [one.has_ended for one in seen] == [True, True, False, False]
