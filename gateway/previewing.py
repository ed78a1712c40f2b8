"""What is and what would be, asked of a vendor before a person is: it is stored with what they approve."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from adapters.base import AdapterError, Fault, Invocation, Secret
from gateway.arguments.canonical import canonical
from gateway.errors import Reason, Refusal
from gateway.invocation import REASON_OF
from gateway.result.scrub import scrub_json

PREVIEW_SECONDS = 10.0
PREVIEW_BYTES = 256 * 1024

Ask = Callable[[Invocation], Awaitable[Any]]
Secrets = Callable[[], tuple[Secret, ...]]
"""All that the invocation has learned by the time it is asked."""


async def preview(
    ask: Ask, invocation: Invocation, *, secrets: Secrets = tuple, seconds: float = PREVIEW_SECONDS
) -> bytes:
    """What the adapter would change, as JSON, without any form of the invocation's credential and of these secrets.

    Raises `Refusal` when it cannot be told: nobody is asked to approve what they cannot see.
    """
    try:
        async with asyncio.timeout(seconds):
            shown = await ask(invocation)
        raw = _without(shown, invocation.credential, secrets())
    except AdapterError as error:
        raise Refusal(REASON_OF[error.kind], error.message, fault=error.fault) from error
    except TimeoutError as error:
        raise _unshown(Fault.TIMEOUT) from error
    except Exception as error:  # an adapter must raise AdapterError alone, and give JSON
        raise _unshown(Fault.MALFORMED) from error
    if len(raw) > PREVIEW_BYTES:
        raise _unshown(Fault.MALFORMED)
    return raw


def _without(shown: Any, credential: Secret | None, secrets: tuple[Secret, ...]) -> bytes:
    """A vendor may repeat what it was sent, and whoever approves must not read it."""
    known = (*secrets, *([credential] if credential is not None else []))
    return canonical(scrub_json(shown, canonical(shown), known)[0])


def _unshown(fault: Fault) -> Refusal:
    message = "What this would change cannot be shown to whoever has to approve it, so nobody was asked. Try later."
    return Refusal(Reason.APPROVALS_UNAVAILABLE, message, fault=fault)
