"""What Stripe's objects say, as much of them as an agent needs. Never a client's secret, nor a link that lets in
whoever has it.
"""

from collections.abc import Mapping
from typing import Any

from adapters.stripe.values import (
    Json,
    Unreadable,
    currency_of,
    flag,
    id_of,
    identifier,
    mapping,
    moment,
    money_of,
    object_of,
    text,
    whole,
)
from adapters.transport.values import listed, part

_MOST_LINES = 10


def read_charge(value: Any) -> Json:
    """A charge. Raises `Unreadable`."""
    raw = object_of(value, "charge")
    return {
        "id": id_of(raw),
        **money_of(raw),
        "amount_captured": whole(raw.get("amount_captured")),
        "amount_refunded": whole(raw.get("amount_refunded")),
        "status": text(raw.get("status")),
        "captured": flag(raw.get("captured")),
        "refunded": flag(raw.get("refunded")),
        "disputed": flag(raw.get("disputed")),
        "failure_code": text(raw.get("failure_code")),
        "created": moment(raw.get("created")),
        "customer": identifier(raw.get("customer")),
        "payment": identifier(raw.get("payment_intent")),
        "description": text(raw.get("description")),
        **_card(raw),
    }


def read_payment(value: Any) -> Json:
    """A payment intent. `amount_refunded` is known when its charge came along. Raises `Unreadable`."""
    raw = object_of(value, "payment_intent")
    charge, failure = part(raw, "latest_charge"), part(raw, "last_payment_error")
    return {
        "id": id_of(raw),
        **money_of(raw),
        "amount_received": whole(raw.get("amount_received")),
        "amount_refunded": whole(charge.get("amount_refunded")),
        "status": text(raw.get("status")),
        "failure_code": text(failure.get("decline_code")) or text(failure.get("code")),
        "created": moment(raw.get("created")),
        "customer": identifier(raw.get("customer")),
        "charge": identifier(raw.get("latest_charge")),
        "description": text(raw.get("description")),
    }


def read_invoice(value: Any) -> Json:
    """An invoice without its lines. Raises `Unreadable`."""
    raw = object_of(value, "invoice")
    return {
        "id": id_of(raw),
        "number": text(raw.get("number")),
        "status": text(raw.get("status")),
        "currency": currency_of(raw),
        "total": whole(raw.get("total")),
        "amount_due": whole(raw.get("amount_due")),
        "amount_paid": whole(raw.get("amount_paid")),
        "amount_remaining": whole(raw.get("amount_remaining")),
        "created": moment(raw.get("created")),
        "due": moment(raw.get("due_date")),
        "customer": identifier(raw.get("customer")),
        "customer_name": text(raw.get("customer_name")),
        "customer_email": text(raw.get("customer_email")),
        "description": text(raw.get("description")),
    }


def read_whole_invoice(value: Any) -> Json:
    """An invoice with its first lines. Raises `Unreadable`."""
    raw = object_of(value, "invoice")
    lines = part(raw, "lines")
    found = [line for line in listed(lines.get("data")) if isinstance(line, Mapping)]
    return {
        **read_invoice(value),
        "lines": [
            {
                "description": text(line.get("description")),
                "amount": whole(line.get("amount")),
                "quantity": whole(line.get("quantity")),
            }
            for line in found[:_MOST_LINES]
        ],
        "has_more_lines": len(found) > _MOST_LINES or lines.get("has_more") is True,
    }


def read_customer(value: Any) -> Json:
    """A customer; of one that was deleted little is left. Raises `Unreadable`."""
    raw = object_of(value, "customer")
    return {
        "id": id_of(raw),
        "deleted": raw.get("deleted") is True,
        "email": text(raw.get("email")),
        "name": text(raw.get("name")),
        "phone": text(raw.get("phone")),
        "description": text(raw.get("description")),
        "balance": whole(raw.get("balance")),
        "currency": text(raw.get("currency")),
        "delinquent": flag(raw.get("delinquent")),
        "created": moment(raw.get("created")),
    }


def read_balance(value: Any) -> Json:
    """What can be paid out, and what soon can be. Raises `Unreadable`."""
    raw = mapping(value)
    return {name: [money_of(mapping(one)) for one in _every(raw.get(name))] for name in ("available", "pending")}


def read_refund(value: Any) -> Json:
    """A refund. Raises `Unreadable`."""
    raw = object_of(value, "refund")
    return {
        "id": id_of(raw),
        **money_of(raw),
        "status": text(raw.get("status")),
        "failure_reason": text(raw.get("failure_reason")),
        "charge": identifier(raw.get("charge")),
        "payment": identifier(raw.get("payment_intent")),
        "created": moment(raw.get("created")),
    }


def read_page(value: Any) -> tuple[list[Any], bool]:
    """What is in a list, and whether it goes on. Raises `Unreadable`."""
    raw = mapping(value)
    data, more = raw.get("data"), raw.get("has_more", False)
    if not isinstance(data, list) or not isinstance(more, bool):
        raise Unreadable
    return data, more


def _card(raw: Mapping[str, Any]) -> Json:
    card = part(part(raw, "payment_method_details"), "card")
    return {"card_brand": text(card.get("brand")), "card_last4": text(card.get("last4"))}


def _every(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable
    return value
