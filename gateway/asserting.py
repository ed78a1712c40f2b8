"""Who makes a call, for the service that it goes to: what is asserted of a call on its way."""

from collections.abc import Awaitable, Callable

from adapters.base import Invocation, Secret
from gateway.assertions.issuing import Assertions, Facts
from gateway.audit.trail import Trail

Asserting = Callable[[Trail, Invocation], Callable[[], Awaitable[Secret]]]
"""Makes what asserts of one call who made it (see `Invocation.assertion`). Nothing is done before that is asked."""


def asserting_by(assertions: Assertions | None) -> Asserting:
    """Signed by these; without any, whoever needs an assertion is told that nobody makes one."""
    if assertions is None:
        return unasserted

    def asserting(trail: Trail, invocation: Invocation) -> Callable[[], Awaitable[Secret]]:
        return assertions.of(facts_of(trail), invocation.target, deadline=invocation.deadline, learn=invocation.learn)

    return asserting


def unasserted(_trail: Trail, invocation: Invocation) -> Callable[[], Awaitable[Secret]]:
    """Nobody asserts anything."""
    return invocation.assertion


def facts_of(trail: Trail) -> Facts:
    """What is said of a call that policy has decided on."""
    tool, arguments, decision = trail.tool, trail.arguments, trail.decision
    assert tool is not None
    assert arguments is not None
    assert decision is not None
    return Facts(
        principal=trail.principal,
        kind=trail.kind.value,
        call_id=trail.call_id,
        run_id=trail.request.run_id,
        tool=tool.name,
        side_effect=tool.side_effect.value,
        policy_revision=decision.revision,
        arguments_digest=arguments.digest,
    )
