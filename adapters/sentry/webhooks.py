"""Sentry's webhooks: the body alone is signed, and `Sentry-Hook-Timestamp`, `Sentry-Hook-Resource` and `Request-ID`
are not.

Whoever has seen a delivery can send it again with other headers. So an event's id is made of the body, which makes
every repetition one that the receiver knows and drops, for as long as it keeps ids: nothing else tells a repetition.
Sentry's bodies do not say when they were sent: what happens twice and is told in the very same words is taken for a
repetition too. And a body counts as what its header says only when it has the parts of just that.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.base import Secret
from adapters.sentry.events import ACTIONS, KINDS, PARTS, read_event
from adapters.transport.events import digest_of, loaded, malformed
from adapters.transport.signatures import check_signature
from adapters.transport.values import part, word
from adapters.webhooks import Delivery, Event, Greeting

_EVERY_PART = frozenset(PARTS.values()) | {"activity", "seat", "installation"}


class SentryWebhooks:
    """Sentry's webhooks, of an integration."""

    kinds: Sequence[str] = KINDS

    def receive(self, delivery: Delivery, secrets: Sequence[Secret]) -> Event | Greeting | None:
        """See `Webhooks`."""
        check_signature(delivery.body, [delivery.headers.get("sentry-hook-signature", "")], secrets)
        body, resource = loaded(delivery.body), delivery.headers.get("sentry-hook-resource", "")
        if not resource:
            raise malformed()
        if resource not in PARTS:
            return None
        _check_parts(body, resource)
        kind = ACTIONS[resource].get(word(body, "action"))
        return None if kind is None else read_event(body, resource, kind, digest_of(delivery.body))


def _check_parts(body: Mapping[str, Any], resource: str) -> None:
    """Raises `DeliveryRefused` (malformed) when the body is another resource's than the header says."""
    if part(body, "data").keys() & _EVERY_PART != {PARTS[resource]} or not word(body, "action"):
        raise malformed()
