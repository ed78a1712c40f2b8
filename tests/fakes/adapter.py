"""An adapter that does what a test tells it, and remembers what it was asked."""

import asyncio
from collections.abc import Callable
from typing import Any, NotRequired, TypedDict

from adapters.base import Finding, Invocation, Operation, Output, Secret, SideEffect, Target


class EchoArguments(TypedDict):
    """What `echo` takes."""

    text: str
    times: NotRequired[int]
    tags: NotRequired[list[str]]


class WriteArguments(TypedDict):
    """What `write` takes."""

    path: str
    body: NotRequired[str]


class SendArguments(TypedDict):
    """What `send` takes."""

    to: list[str]
    body: str


class FakeAdapter:
    """The operations `echo` (read), `write` (write) and `send` (send). Set the attributes before the call.

    `invocations` holds every attempt, in order. Each attempt waits for `gate` when there is one, then
    raises the first of `failures` (anything at all, used up one by one) or returns `output`; without an
    `output` the prepared arguments come back under `echo`.
    """

    def __init__(self, name: str = "fake", *, needs_credential: bool = False, has_native_key: bool = False) -> None:
        self.name = name
        self.output: Output | None = None
        self.failures: list[BaseException] = []
        self.gate: asyncio.Event | None = None
        self.started = asyncio.Event()
        """Set when an attempt has begun, before it waits for `gate`."""
        self.finding = Finding.STILL_UNKNOWN
        self.prepare: Callable[[dict[str, Any]], dict[str, Any]] = dict
        self.target_problems: list[str] = []
        self.invocations: list[Invocation] = []
        self.credentials: list[str] = []
        """What each attempt's credential revealed; empty for none."""
        self.mints: list[str] = []
        """Secrets that each attempt makes, and tells its invocation of."""
        self.minted: list[Secret] = []
        """Those of the last attempt."""
        self.is_closed = False
        self.open_circuits = 0
        self.operations = {
            operation: Operation(
                name=operation,
                arguments=arguments,
                side_effect=side_effect,
                prepare=self._prepare,
                invoke=self._invoke,
                has_native_key=has_native_key,
                needs_credential=needs_credential,
                reconcile=self._reconcile,
            )
            for operation, arguments, side_effect in (
                ("echo", EchoArguments, SideEffect.READ),
                ("write", WriteArguments, SideEffect.WRITE),
                ("send", SendArguments, SideEffect.SEND),
            )
        }

    def check_target(self, target: Target) -> list[str]:
        """Whatever `target_problems` says."""
        return list(self.target_problems)

    async def close(self) -> None:
        """Remembers it."""
        self.is_closed = True

    def _prepare(self, value: dict[str, Any]) -> dict[str, Any]:
        # Looked up at the call, so that a test can set `prepare` afterwards.
        return self.prepare(value)

    async def _invoke(self, invocation: Invocation) -> Output:
        self.invocations.append(invocation)
        self.credentials.append(invocation.credential.reveal() if invocation.credential else "")
        self.minted = [Secret(value) for value in self.mints]
        for secret in self.minted:
            invocation.learn(secret)
        self.started.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        if self.output is not None:
            return self.output
        return Output(structured={"echo": dict(invocation.arguments)}, receipt="Done.")

    async def _reconcile(self, _invocation: Invocation) -> Finding:
        return self.finding
