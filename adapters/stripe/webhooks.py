"""Stripe's webhooks: time and body are signed with the endpoint's secret, and the body has the event's id.

While a secret is rolled, Stripe signs with the old one and the new one: any signature of scheme `v1` may be the good
one. Other schemes are for tests, and count for nothing.
"""

import re
from collections.abc import Sequence

from adapters.base import Secret
from adapters.stripe.events import KINDS, read_event
from adapters.transport.events import loaded, matching
from adapters.transport.signatures import check_signature, check_window, seconds_of
from adapters.webhooks import Delivery, DeliveryRefused, Event, Fault, Greeting

_KIND = re.compile(r"[a-z0-9_.]{1,100}")
_MAX_HEADER = 4_096


class StripeWebhooks:
    """Stripe's webhooks."""

    kinds: Sequence[str] = KINDS

    def receive(self, delivery: Delivery, secrets: Sequence[Secret]) -> Event | Greeting | None:
        """See `Webhooks`. Events without their object (`v2.core.event`) are none."""
        _check(delivery, secrets)
        body = loaded(delivery.body)
        if body.get("object") == "v2.core.event":
            return None
        kind = matching(body.get("type"), _KIND)
        return read_event(body, kind) if kind in KINDS else None


def _check(delivery: Delivery, secrets: Sequence[Secret]) -> None:
    stamp, signatures = _parts(delivery.headers.get("stripe-signature", ""))
    seconds = seconds_of(stamp)
    check_signature(b"%b.%b" % (stamp.encode(), delivery.body), signatures, secrets)
    check_window(seconds, delivery.received_at)


def _parts(header: str) -> tuple[str, list[str]]:
    """The one time, and every signature that counts. Raises `DeliveryRefused` (unsigned)."""
    if len(header) > _MAX_HEADER:
        raise DeliveryRefused(Fault.UNSIGNED)
    parts = [part.partition("=") for part in header.split(",")]
    stamps = [value for name, _, value in parts if name == "t"]
    if len(stamps) != 1:
        raise DeliveryRefused(Fault.UNSIGNED)
    return stamps[0], [value for name, _, value in parts if name == "v1"]
