"""How long Slack wants to be left alone. It counts each method by itself, and says so by `Retry-After`.

With the status 429 the transport takes care of it. Here is the other form: `ok: false` in an answer with 200.
"""

from collections.abc import Iterable

from adapters.base import ErrorKind
from adapters.slack.failures import judge
from adapters.transport.api import Pause
from adapters.transport.replies import Reply


def pauses(reply: Reply, _now: float) -> Iterable[Pause]:
    """The pause that an answer without the status for it asks for: of the method that was called."""
    error = judge(reply) if reply.status == 200 else None
    if error is not None and error.kind is ErrorKind.RATE_LIMITED and error.retry_after_seconds:
        yield Pause(seconds=error.retry_after_seconds, is_of_call=True)
