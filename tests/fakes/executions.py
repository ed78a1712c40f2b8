"""What an executor works with, in memory."""

import asyncio
from collections.abc import Sequence

from fakes.lines import result
from fakes.principals import principal
from gateway.approvals.base import Approved, Terms
from gateway.call import Answer, Failure, Outcome, Request
from gateway.errors import Reason, Refusal

TERMS = Terms(roles=("approver",), count=1, expires_in_seconds=3600)
DOWN = Refusal(Reason.APPROVALS_UNAVAILABLE, "Down.")


def approved(approval_id: str = "a1", *, edited: bool = False) -> Approved:
    """What an approved call runs with."""
    return Approved(
        call_id=f"call of {approval_id}",
        effect_id="e1",
        key="k1",
        principal=principal(),
        request=Request(tool="send", arguments_json=b"{}"),
        approval_id=approval_id,
        arguments_digest="sha256:aa",
        tool_version="1",
        connection="fake",
        terms=TERMS,
        otherwise=TERMS,
        revision="r1",
        decisions=(),
        expires_at=2e9,
        age_seconds=1.0,
        edited=edited,
    )


class FakeExecutions:
    """`Executions`: approvals that may run, and what became of each. While `is_down` it refuses."""

    def __init__(self, *runnable: str) -> None:
        self.runnable = list(runnable)
        self.unused: tuple[str, ...] = ()
        self.told: list[tuple[str, Outcome]] = []
        self.tidied: list[str] = []
        self.is_again = False
        self.is_down = False
        self.refuses = ""
        """An approval whose outcome is not taken."""

    async def approved(self, tenant: str, approval_id: str) -> Approved | None:
        """Those that may run."""
        self._check()
        assert tenant == "acme"
        return approved(approval_id) if approval_id in self.runnable else None

    async def ended(self, approved: Approved, outcome: Outcome) -> bool:
        """Keep it."""
        self._check()
        if approved.approval_id == self.refuses:
            raise DOWN
        self.told.append((approved.approval_id, outcome))
        if not self.is_again:
            self.runnable.remove(approved.approval_id)
        return self.is_again

    async def tidy(self, tenant: str) -> tuple[str, ...]:
        """Those that nobody has used."""
        self._check()
        self.tidied.append(tenant)
        return self.unused

    def _check(self) -> None:
        if self.is_down:
            raise DOWN


class Path:
    """Carries out what it is given: the outcomes in order, then results. While the gate is shut it waits at it."""

    def __init__(self, *outcomes: Outcome | BaseException) -> None:
        self.outcomes: Sequence[Outcome | BaseException] = outcomes
        self.ran: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, approved: Approved) -> Answer:
        """The next outcome."""
        self.ran.append(approved.approval_id)
        await self.gate.wait()
        outcome, self.outcomes = (self.outcomes[0], self.outcomes[1:]) if self.outcomes else (result(), ())
        if isinstance(outcome, BaseException):
            raise outcome
        return Answer(call_id=approved.call_id, effect_id=approved.effect_id, outcome=outcome)


LATER = Failure(reason=Reason.POLICY_UNAVAILABLE, message="Later.")
