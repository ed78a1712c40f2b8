"""Stripe's deliveries have a time and any number of signatures in one header."""

import pytest
from fakes.deliveries import NOW, SECRET, STRIPE, VENDORS, changed, digest, secrets

from adapters.stripe.webhooks import StripeWebhooks
from adapters.webhooks import Delivery, DeliveryRefused, Event, Fault, Greeting

VENDOR = VENDORS["stripe"]
BODY = VENDOR.delivery(STRIPE["invoice.paid"]).body
T = str(int(NOW))
GOOD = digest(SECRET, T.encode() + b"." + BODY)
BAD = "0" * 64


def receive(header: str) -> Event | Greeting | Fault | None:
    """What comes of an invoice that was paid under a header."""
    try:
        return StripeWebhooks().receive(
            Delivery(headers={"stripe-signature": header}, body=BODY, received_at=NOW), secrets()
        )
    except DeliveryRefused as refusal:
        return refusal.fault


@pytest.mark.parametrize(
    "header",
    [
        f"t={T},v1={GOOD}",
        f"v1={GOOD},t={T}",
        f"t={T},v1={BAD},v1={GOOD},v0={BAD}",
        f"t={T},v1={GOOD},v1={BAD}",
        f"t={T},v2=new,v1={GOOD},x,=",
    ],
)
def test_one_good_signature_of_the_scheme_is_enough(header: str) -> None:
    """In any order, and whatever other schemes are beside it."""
    assert isinstance(receive(header), Event)


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        (f"t={T},v0={GOOD}", Fault.UNSIGNED),
        (f"t={T}", Fault.UNSIGNED),
        (f"v1={GOOD}", Fault.UNSIGNED),
        (f"t={T},t={T},v1={GOOD}", Fault.UNSIGNED),
        (f"t= {T},v1={GOOD}", Fault.UNSIGNED),
        (f"t={T}.0,v1={GOOD}", Fault.UNSIGNED),
        (f"t=nan,v1={GOOD}", Fault.UNSIGNED),
        (f"t={T}; v1={GOOD}", Fault.UNSIGNED),
        (f"t={T},v1={GOOD},{'x' * 4_096}", Fault.UNSIGNED),
        (f"t={T}" + f",v1={BAD}" * 16 + f",v1={GOOD}", Fault.UNSIGNED),
        (f"t={T},v1={BAD}", Fault.FORGED),
        (f"t={int(T) + 1},v1={GOOD}", Fault.FORGED),
        (f"t={T}000,v1={GOOD}", Fault.UNSIGNED),
    ],
)
def test_every_other_header_is_refused(header: str, fault: Fault) -> None:
    """A scheme for tests counts for nothing, and two times are none."""
    assert receive(header) is fault


def test_a_time_in_milliseconds_is_stale_when_it_is_signed() -> None:
    """It is a far future."""
    stamp = "99999999999"
    signature = digest(SECRET, stamp.encode() + b"." + BODY)
    assert receive(f"t={stamp},v1={signature}") is Fault.STALE


def test_an_event_without_its_object_is_nothing() -> None:
    """Stripe's newer events name it only."""
    sample = changed(STRIPE["invoice.paid"], "object", to="v2.core.event")
    assert StripeWebhooks().receive(VENDOR.delivery(sample), secrets()) is None
