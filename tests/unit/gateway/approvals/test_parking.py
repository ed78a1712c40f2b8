"""Step 8 without a store."""

from fakes.principals import principal
from fakes.rows import tool

from gateway.approvals.parking import Parking
from gateway.call import Arguments, Decision, DecisionEffect
from gateway.errors import PolicyReason


async def test_a_parked_call_has_an_id_and_says_why():
    """The approval's id comes from the call's, and policy's reasons go along."""
    reasons = (PolicyReason(code="high_risk", message="High risk."),)
    decision = Decision(effect=DecisionEffect.REQUIRE_APPROVAL, reasons=reasons, obligations=(), revision="r")
    pending = await Parking().park(
        call_id="c1",
        principal=principal(),
        tool=tool(),
        arguments=Arguments(value={}, canonical=b"{}", digest="d"),
        decision=decision,
    )
    assert pending.approval_id == "apr_c1"
    assert pending.policy_reasons == reasons
    assert "Nothing was done" in pending.message
