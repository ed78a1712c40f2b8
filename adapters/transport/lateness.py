"""When what is not at a vendor may still come: a request that nobody waits for any more is on its way for a while."""

from adapters.base import Clock, Invocation

EARLY_SECONDS = 180.0
"""Since `Invocation.since`. Some vendors need longer, and say so where they are asked."""


def is_early(clock: Clock, invocation: Invocation) -> bool:
    """Whether a `reconcile` cannot say yet that nothing was done."""
    return clock.now() - invocation.since < EARLY_SECONDS
