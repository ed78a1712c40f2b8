"""Stripe's events: the object of each as the tools tell it, its texts 1,000 characters long at most. Never a client's
secret, nor a link that lets in whoever has it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from adapters.stripe.answers import read_charge, read_customer, read_invoice, read_payment, read_refund
from adapters.stripe.values import (
    Json,
    Unreadable,
    currency_of,
    flag,
    id_of,
    identifier,
    money_of,
    object_of,
    text,
    whole,
)
from adapters.stripe.values import moment as told_moment
from adapters.transport.events import event_of, malformed, matching, moment
from adapters.transport.values import mappings, part
from adapters.webhooks import Event

_EVENT_ID = re.compile(r"evt_[A-Za-z0-9_]{1,120}")
_FIELD = re.compile(r"[a-z0-9_]{1,60}")


def read_event(body: Mapping[str, Any], kind: str) -> Event:
    """The event of one of `KINDS`. Raises `DeliveryRefused` (malformed)."""
    try:
        read, about = _READS[kind]
        data = read(part(body, "data").get("object"))
    except Unreadable as error:
        raise malformed() from error
    return event_of(
        id=matching(body.get("id"), _EVENT_ID),
        kind=kind,
        occurred_at=moment(body.get("created")),
        subject=next(found for name in (*about, "id") if (found := data[name])),
        data={
            "account": identifier(body.get("account")),
            "livemode": flag(body.get("livemode")),
            "changed": sorted(filter(_FIELD.fullmatch, part(part(body, "data"), "previous_attributes"))),
            **data,
        },
    )


def _dispute(value: Any) -> Json:
    raw = object_of(value, "dispute")
    return {
        "id": id_of(raw),
        **money_of(raw),
        "status": text(raw.get("status")),
        "reason": text(raw.get("reason")),
        "charge": identifier(raw.get("charge")),
        "payment": identifier(raw.get("payment_intent")),
        "evidence_due": told_moment(part(raw, "evidence_details").get("due_by")),
        "created": told_moment(raw.get("created")),
    }


def _subscription(value: Any) -> Json:
    raw = object_of(value, "subscription")
    return {
        "id": id_of(raw),
        "status": text(raw.get("status")),
        "customer": identifier(raw.get("customer")),
        "currency": text(raw.get("currency")),
        "items": [_item(one) for one in mappings(part(raw, "items").get("data"))],
        "cancel_at": told_moment(raw.get("cancel_at")),
        "cancel_at_period_end": flag(raw.get("cancel_at_period_end")),
        "canceled_at": told_moment(raw.get("canceled_at")),
        "trial_end": told_moment(raw.get("trial_end")),
        "created": told_moment(raw.get("created")),
    }


def _item(raw: Mapping[str, Any]) -> Json:
    price = part(raw, "price")
    return {
        "price": identifier(price),
        "product": identifier(price.get("product")),
        "unit_amount": whole(price.get("unit_amount")),
        "quantity": whole(raw.get("quantity")),
        "period_end": told_moment(raw.get("current_period_end")),
    }


def _session(value: Any) -> Json:
    raw = object_of(value, "checkout.session")
    return {
        "id": id_of(raw),
        "status": text(raw.get("status")),
        "payment_status": text(raw.get("payment_status")),
        "mode": text(raw.get("mode")),
        "amount_total": whole(raw.get("amount_total")),
        "currency": text(raw.get("currency")),
        "customer": identifier(raw.get("customer")),
        "payment": identifier(raw.get("payment_intent")),
        "subscription": identifier(raw.get("subscription")),
        "reference": text(raw.get("client_reference_id")),
        "created": told_moment(raw.get("created")),
    }


def _payout(value: Any) -> Json:
    raw = object_of(value, "payout")
    return {
        "id": id_of(raw),
        "amount": whole(raw.get("amount")),
        "currency": currency_of(raw),
        "status": text(raw.get("status")),
        "failure_code": text(raw.get("failure_code")),
        "arrival": told_moment(raw.get("arrival_date")),
        "created": told_moment(raw.get("created")),
    }


_Read = Callable[[Any], Json]
_THINGS: tuple[tuple[str, str, _Read, tuple[str, ...]], ...] = (
    ("payment_intent", "succeeded payment_failed canceled requires_action", read_payment, ()),
    ("charge", "succeeded failed captured refunded", read_charge, ()),
    ("charge.dispute", "created updated closed", _dispute, ("charge", "payment")),
    ("refund", "created updated failed", read_refund, ("charge", "payment")),
    ("customer", "created updated deleted", read_customer, ()),
    ("customer.subscription", "created updated deleted paused resumed trial_will_end", _subscription, ("customer",)),
    ("invoice", "created finalized paid payment_failed payment_action_required voided", read_invoice, ()),
    ("checkout.session", "completed expired", _session, ("payment",)),
    ("payout", "paid failed", _payout, ()),
)
"""A thing, what may happen to it, how its object is read, and what of that the tools take, when it is not its id."""
_READS: Mapping[str, tuple[_Read, tuple[str, ...]]] = {
    f"{thing}.{happened}": (read, about) for thing, all_of_it, read, about in _THINGS for happened in all_of_it.split()
}
KINDS = tuple(sorted(_READS))
