"""A vendor that knows what it did, and can be asked by the id of an effect."""

import asyncio
from typing import Any, TypedDict

from adapters.base import Finding, Invocation, Operation, Output, SideEffect, Target


class PayArguments(TypedDict):
    """What `pay` and `post` take."""

    to: str
    amount: int


class LedgerAdapter:
    """The operation `pay`, of which it can be asked, and `post`, of which it cannot.

    `effects` is what it did. A question waits for `gate` when there is one, then raises the first of `failures`, or
    gives `answer` when there is one, or else says what `effects` say. `asked` keeps every question, `credentials` what
    each one's credential revealed.
    """

    def __init__(self, name: str = "ledger") -> None:
        self.name = name
        self.open_circuits = 0
        self.effects: dict[str, dict[str, Any]] = {}
        self.failures: list[BaseException] = []
        self.answer: Any = None
        self.gate: asyncio.Event | None = None
        self.started = asyncio.Event()
        """Set when a question was asked, before it waits for `gate`."""
        self.asked: list[Invocation] = []
        self.credentials: list[str] = []
        self.operations = {
            "pay": self._operation("pay", can_be_asked=True),
            "post": self._operation("post", can_be_asked=False),
        }

    def check_target(self, _target: Target) -> list[str]:
        """Every target will do."""
        return []

    async def close(self) -> None:
        """Nothing is held."""

    def _operation(self, name: str, *, can_be_asked: bool) -> Operation:
        return Operation(
            name=name,
            arguments=PayArguments,
            side_effect=SideEffect.WRITE,
            prepare=dict,
            invoke=self._invoke,
            reconcile=self._reconcile if can_be_asked else None,
        )

    async def _invoke(self, invocation: Invocation) -> Output:
        self.effects[invocation.effect_id] = dict(invocation.arguments)
        return Output(receipt="Paid.")

    async def _reconcile(self, invocation: Invocation) -> Finding:
        self.asked.append(invocation)
        self.credentials.append(invocation.credential.reveal() if invocation.credential else "")
        self.started.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        if self.answer is not None:
            return self.answer  # type: ignore[no-any-return]  # a test may answer anything
        return Finding.DONE if invocation.effect_id in self.effects else Finding.NOT_DONE
