"""Step 8: a call that needs a person waits for one."""

from typing import Protocol

from gateway.call import Arguments, Decision, Pending, Principal
from gateway.rows import Tool


class Approvals(Protocol):
    """Parks calls."""

    async def park(
        self, *, call_id: str, principal: Principal, tool: Tool, arguments: Arguments, decision: Decision
    ) -> Pending:
        """The call is parked; nothing was done. Raises `Refusal` when it cannot be."""
        ...
