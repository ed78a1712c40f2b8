"""When Stripe wants to be asked less. See https://docs.stripe.com/rate-limits."""

from collections.abc import Iterator

from adapters.stripe.failures import WAIT_SECONDS
from adapters.transport.api import Pause
from adapters.transport.replies import Reply

_REASON = "Stripe-Rate-Limited-Reason"


def pauses(reply: Reply, _now: float) -> Iterator[Pause]:
    """Of the whole account when it is over its own limits. What is over a limit of one endpoint, or of one object,
    leaves the others be.
    """
    if reply.status == 429 and reply.headers.get(_REASON, "").startswith("global-"):
        yield Pause(seconds=WAIT_SECONDS if reply.retry_after_seconds is None else reply.retry_after_seconds)
