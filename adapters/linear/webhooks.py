"""Linear's webhooks: the body is signed, and when it was sent stands in it.

No header is signed, so `Linear-Delivery` names nothing that can be relied on. What names an event is the body without
the time of sending, which is another at every attempt.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from adapters.base import Secret
from adapters.linear.events import KINDS, read_event
from adapters.transport.events import digest_of, loaded, malformed
from adapters.transport.signatures import check_signature, check_window
from adapters.webhooks import Delivery, Event, Greeting

_SENT_AT = "webhookTimestamp"


class LinearWebhooks:
    """Linear's webhooks."""

    kinds: Sequence[str] = KINDS

    def receive(self, delivery: Delivery, secrets: Sequence[Secret]) -> Event | Greeting | None:
        """See `Webhooks`."""
        check_signature(delivery.body, [delivery.headers.get("linear-signature", "")], secrets)
        body = loaded(delivery.body)
        check_window(_sent_at(body), delivery.received_at)
        return read_event(body, lambda: _digest(body))


def _sent_at(body: Mapping[str, Any]) -> float:
    """In seconds; Linear counts milliseconds. Raises `DeliveryRefused` (malformed)."""
    sent_at = body.get(_SENT_AT)
    if isinstance(sent_at, bool) or not isinstance(sent_at, int | float):
        raise malformed()
    return sent_at / 1000


def _digest(body: Mapping[str, Any]) -> str:
    try:
        lasting = {name: value for name, value in body.items() if name != _SENT_AT}
        return digest_of(orjson.dumps(lasting, option=orjson.OPT_SORT_KEYS))
    except TypeError as error:  # deeper than can be written
        raise malformed() from error
