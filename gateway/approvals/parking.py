"""Parking without a store: the call ends as pending, its line says so, and nothing runs."""

from gateway.call import Arguments, Decision, Pending, Principal
from gateway.rows import Tool


class Parking:
    """Gives every parked call an approval id that its audit line carries."""

    async def park(
        self,
        *,
        call_id: str,
        principal: Principal,  # noqa: ARG002 - a store binds the approval to it
        tool: Tool,
        arguments: Arguments,  # noqa: ARG002 - a store binds the approval to them
        decision: Decision,
    ) -> Pending:
        """The call as pending. Never raises."""
        return Pending(
            approval_id=f"apr_{call_id}",
            message=f"A person has to approve this call of {tool.name}. Nothing was done.",
            policy_reasons=decision.reasons,
        )
