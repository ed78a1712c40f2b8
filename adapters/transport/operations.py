"""Operations of APIs, which all need the connection's credential."""

from collections.abc import Awaitable, Callable
from typing import Any

from adapters.base import Finding, Invocation, Operation, Output, SideEffect

Prepare = Callable[[dict[str, Any]], dict[str, Any]]
Invoke = Callable[[Invocation], Awaitable[Output]]
Reconcile = Callable[[Invocation], Awaitable[Finding]]
Preview = Callable[[Invocation], Awaitable[Any]]


def reading(name: str, arguments: type, prepare: Prepare, invoke: Invoke) -> Operation:
    """An operation that changes nothing."""
    return Operation(
        name=name,
        arguments=arguments,
        side_effect=SideEffect.READ,
        prepare=prepare,
        invoke=invoke,
        needs_credential=True,
    )


def changing(  # noqa: PLR0913 - what an operation is made of
    name: str,
    arguments: type,
    prepare: Prepare,
    invoke: Invoke,
    reconcile: Reconcile,
    *,
    preview: Preview | None = None,
    side_effect: SideEffect = SideEffect.WRITE,
    has_native_key: bool = False,
) -> Operation:
    """An operation that writes or sends. Whether it happened can be asked; without a native key nothing else can."""
    return Operation(
        name=name,
        arguments=arguments,
        side_effect=side_effect,
        prepare=prepare,
        invoke=invoke,
        has_native_key=has_native_key,
        needs_credential=True,
        reconcile=reconcile,
        preview=preview,
    )
