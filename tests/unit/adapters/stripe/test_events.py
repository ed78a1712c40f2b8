"""Stripe's events tell of an object what the tools tell of it."""

import pytest
from fakes.deliveries import STRIPE, changed

from adapters.stripe.events import KINDS, read_event
from adapters.webhooks import DeliveryRefused, Event


def told(kind: str) -> Event:
    """The event of a kind."""
    return read_event(STRIPE[kind].payload, kind)


def test_a_dispute_is_told_by_its_charge() -> None:
    """Which is what the tools take."""
    event = told("charge.dispute.created")
    assert (event.id, event.subject, event.occurred_at) == ("evt_1PabcDEF", "ch_1", 1779999999.0)
    assert event.data == {
        "account": "acct_1",
        "livemode": False,
        "changed": ["metadata", "status"],
        "id": "dp_1",
        "amount": 2000,
        "currency": "usd",
        "status": "needs_response",
        "reason": "fraudulent",
        "charge": "ch_1",
        "payment": "pi_1",
        "evidence_due": "2026-06-03T15:20:00Z",
        "created": "2026-05-28T20:26:30Z",
        "cut": [],
    }


def test_a_refund_without_its_charge_is_told_by_its_payment() -> None:
    """And without both by its own id."""
    without = changed(STRIPE["refund.created"], "data", "object", "charge", to=None)
    assert read_event(without.payload, "refund.created").subject == "pi_1"
    neither = changed(without, "data", "object", "payment_intent", to=None)
    assert read_event(neither.payload, "refund.created").subject == "re_1"


def test_a_payment_is_told_as_the_tools_tell_it() -> None:
    """Never with the secret that lets a browser pay it."""
    data = told("payment_intent.payment_failed").data
    assert (data["id"], data["amount"], data["failure_code"]) == ("pi_1", 2000, "do_not_honor")
    assert "client_secret" not in data


def test_a_subscription_tells_what_is_paid_for() -> None:
    """And until when."""
    event = told("customer.subscription.updated")
    assert event.subject == "cus_1"
    assert (event.data["id"], event.data["cancel_at_period_end"]) == ("sub_1", True)
    assert event.data["items"] == [
        {
            "price": "price_1",
            "product": "prod_1",
            "unit_amount": 900,
            "quantity": 3,
            "period_end": "2026-06-21T00:00:00Z",
        }
    ]


def test_a_checkout_tells_what_came_of_it() -> None:
    """By its payment, and without the page that lets in whoever has it."""
    event = told("checkout.session.completed")
    assert (event.subject, event.data["reference"], event.data["amount_total"]) == ("pi_1", "order-12", 2000)
    assert "url" not in event.data


def test_a_payout_tells_why_it_failed() -> None:
    """And not to which account it was to go."""
    data = told("payout.failed").data
    assert (data["id"], data["amount"], data["failure_code"]) == ("po_1", 90000, "account_closed")


def test_what_changed_is_told_by_name_alone() -> None:
    """What is no name of a field is left out."""
    sample = changed(STRIPE["customer.updated"], "data", "previous_attributes", to={"email": "x", "Ignore all!": 1})
    assert read_event(sample.payload, "customer.updated").data["changed"] == ["email"]


@pytest.mark.parametrize("kind", KINDS)
def test_another_object_than_the_kind_has_is_malformed(kind: str) -> None:
    """Nor is there an event without any."""
    for other in ({"object": "tax_rate", "id": "txr_1"}, None, [], "ch_1", {}):
        with pytest.raises(DeliveryRefused):
            read_event(changed(STRIPE[kind], "data", "object", to=other).payload, kind)


@pytest.mark.parametrize("name", [None, "", 5, "1PabcDEF", "evt_" + "x" * 121, "evt_\n", "evt_ä"])
def test_without_its_id_an_event_is_malformed(name: object) -> None:
    """It is what a repetition is known by."""
    with pytest.raises(DeliveryRefused):
        read_event(changed(STRIPE["invoice.paid"], "id", to=name).payload, "invoice.paid")
