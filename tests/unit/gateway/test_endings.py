"""What callers are told when a call does not end well."""

import pytest
from fakes.principals import principal

from adapters.base import Happened, Secret
from gateway.audit.base import LineKind
from gateway.audit.trail import Trail
from gateway.call import Arguments, Decision, DecisionEffect, Known, Obligation, Request, Standing
from gateway.endings import (
    bare_output,
    denied,
    done_but,
    internal,
    left,
    refuse_missing_key,
    refuse_unrepeatable,
    scrubbed,
    untold,
    withheld,
)
from gateway.errors import Code, PolicyReason, Reason, Refusal
from gateway.invocation import Attempt

ARGUMENTS = Arguments(value={}, canonical=b"{}", digest="d1")


def trail(happened=None):
    """A call's trail at which the effect stands as given."""
    made = Trail(
        kind=LineKind.CALL,
        call_id="c1",
        principal=principal(),
        request=Request(tool="echo", arguments_json=b"{}"),
        now=0.0,
    )
    made.happened = happened
    return made


def known(standing, digest="d1"):
    return Known(standing=standing, call_id="c0", effect_id="c0", arguments_digest=digest)


def decision(*reasons, obligations=()):
    return Decision(effect=DecisionEffect.DENY, reasons=reasons, obligations=obligations, revision="r")


def test_a_key_with_other_arguments_is_a_conflict_whatever_its_standing():
    """Another action needs another key."""
    for standing in Standing:
        with pytest.raises(Refusal) as refused:
            refuse_unrepeatable(known(standing, "d2"), ARGUMENTS)
        assert refused.value.reason is Reason.KEY_REUSED


def test_a_call_at_work_says_when_to_ask_again():
    """The same key in progress is a conflict with a wait; one that is done, unknown or waiting may be repeated."""
    with pytest.raises(Refusal) as refused:
        refuse_unrepeatable(known(Standing.IN_PROGRESS), ARGUMENTS)
    assert (refused.value.reason, refused.value.retry_after_ms) == (Reason.KEY_IN_PROGRESS, 1000)
    refuse_unrepeatable(known(Standing.DONE), ARGUMENTS)
    refuse_unrepeatable(known(Standing.UNKNOWN), ARGUMENTS)
    refuse_unrepeatable(known(Standing.PARKED), ARGUMENTS)


def test_a_denial_speaks_in_its_authors_words():
    """The first reason's message and advice; a sentence of ours when there is none."""
    reasons = (PolicyReason(code="a", message="Not there.", advice="Ask Ann."), PolicyReason(code="b"))
    assert denied(decision(*reasons)).message == "Not there. Ask Ann."
    assert denied(decision(*reasons)).policy_reasons == reasons
    assert denied(decision()).message == "Policy does not allow this call."


def test_policy_can_demand_a_key():
    """Only the obligation does."""
    refuse_missing_key(decision())
    with pytest.raises(Refusal) as refused:
        refuse_missing_key(decision(obligations=(Obligation(type="require_key", value=True),)))
    assert refused.value.reason is Reason.KEY_REQUIRED


def test_an_effect_that_happened_is_an_output_though_its_answer_is_unusable():
    """Done is done; what did not happen is the refusal."""
    refusal = Refusal(Reason.VENDOR_MALFORMED, "The answer made no sense.")
    assert bare_output(Attempt(happened=Happened.YES, refusal=refusal)).receipt == "Done. The answer made no sense."
    with pytest.raises(Refusal):
        bare_output(Attempt(happened=Happened.NO, refusal=refusal))


def test_what_was_done_is_said_before_what_is_wrong():
    """An agent must not take a withheld answer for a failure to act."""
    refusal = done_but(Refusal(Reason.OUTPUT_INVALID, "Broken."))
    assert refusal.message == "This was done; do not do it again. Broken."
    assert refusal.reason is Reason.OUTPUT_INVALID


@pytest.mark.parametrize(
    ("happened", "told_left", "told_internal", "told_withheld"),
    [
        (None, Reason.CANCELLED, Reason.INTERNAL, Reason.AUDIT_UNAVAILABLE),
        (Happened.NO, Reason.CANCELLED, Reason.INTERNAL, Reason.AUDIT_UNAVAILABLE),
        (Happened.UNKNOWN, Reason.OUTCOME_UNKNOWN, Reason.OUTCOME_UNKNOWN, Reason.OUTCOME_UNKNOWN),
        (Happened.YES, Reason.OUTCOME_UNKNOWN, Reason.INTERNAL, Reason.OUTCOME_UNKNOWN),
    ],
)
def test_what_may_have_happened_is_never_told_as_nothing(happened, told_left, told_internal, told_withheld):
    """The caller left, the gateway failed, the line could not be written: the effect decides what is said."""
    assert left(trail(happened)).reason is told_left
    assert internal(trail(happened)).reason is told_internal
    assert withheld(trail(happened), Refusal(Reason.AUDIT_UNAVAILABLE, "x")).reason is told_withheld


def test_what_another_gateway_may_have_told_of_is_told_as_unknown():
    """Whatever came of it; nobody left, and asking again with the same key does no harm."""
    failure = untold()
    assert (failure.reason, failure.code) == (Reason.OUTCOME_UNKNOWN, Code.OUTCOME_UNKNOWN)
    assert "the same key is safe" in failure.message
    assert "left" not in failure.message


def test_a_confirmed_effect_is_said_to_be_done_when_the_gateway_fails_after_it():
    """Internal error, and do not do it again."""
    failure = internal(trail(Happened.YES))
    assert failure.code is Code.INTERNAL_ERROR
    assert "This was done" in failure.message


def test_a_message_loses_the_credential():
    """And is replaced as a whole when that fails."""
    assert "hunter-22" not in scrubbed("it was hunter-22", (Secret("hunter-22"),))
    assert scrubbed("it was hunter-22", (None,)) == "The call was stopped. The operator can find it by its id."
