"""One try of one operation against a server on loopback, from the arguments to what the gateway makes of its end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from adapters.base import Adapter, AdapterError, Clock, Invocation, Operation, Output, Secret, SideEffect
from adapters.installed import build_adapters
from fakes.cases.base import Case
from fakes.clock import FakeClock
from gateway.errors import Reason
from gateway.invocation import Attempt, invoke

Build = Callable[[Clock, int], Mapping[str, Adapter]]
"""Adapters that may reach this port of loopback."""


def installed(clock: Clock, port: int) -> Mapping[str, Adapter]:
    """The adapters of the gateway."""
    return build_adapters(clock, private_targets=[f"127.0.0.1:{port}"])


@dataclass(frozen=True)
class Tried:
    """What came of it: `attempt` as the gateway has it, `error` as the adapter raised it."""

    attempt: Attempt
    error: AdapterError | None = None

    @property
    def wait(self) -> float | None:
        """What the agent is told to wait, in seconds. Who does not know what happened is told something else."""
        refusal = self.attempt.refusal
        if self.error is None or refusal is None or refusal.reason is Reason.OUTCOME_UNKNOWN:
            return None
        return self.error.retry_after_seconds


async def tried(
    case: Case, port: int, *, arguments: dict[str, Any] | None = None, seconds: float = 5.0, build: Build = installed
) -> Tried:
    """What the gateway makes of an operation; waits pass at once. Without arguments the case's own are taken."""
    clock = FakeClock(sleeps_pass=True)
    adapters = build(clock, port)
    operation = adapters[case.adapter].operations[case.operation]
    invocation = Invocation(
        arguments=operation.prepare(case.arguments(port) if arguments is None else arguments),
        target=case.target(port),
        credential=Secret(case.credential),
        deadline=clock.monotonic() + seconds,
        effect_id="effect-1",
    )
    try:
        return await _tried(operation, invocation, seconds)
    finally:
        for adapter in adapters.values():
            await adapter.close()


async def _tried(operation: Operation, invocation: Invocation, seconds: float) -> Tried:
    errors: list[AdapterError] = []

    async def noting(given: Invocation) -> Output:
        try:
            return await operation.invoke(given)
        except AdapterError as error:
            errors.append(error)
            raise

    has_effect = operation.side_effect is not SideEffect.READ
    attempt = await invoke(replace(operation, invoke=noting), invocation, seconds=seconds, has_effect=has_effect)
    return Tried(attempt, errors[-1] if errors else None)
