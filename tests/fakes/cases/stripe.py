"""Operations of Stripe."""

from typing import Any

from fakes.cases.base import Case, api
from fakes.vendor import Asked, Said

CREATED = 1_767_139_200
"""A day before a `FakeClock` begins."""
CHARGE_ID = "ch_3SkZqALkdIwHu7ix0y1nQnYf"
PAYMENT_ID = "pi_3SkZqALkdIwHu7ix0bHcJk1m"
CUSTOMER_ID = "cus_TZQ1example01"


def charge(**changes: Any) -> dict[str, Any]:
    """A charge as Stripe tells of it."""
    usual: dict[str, Any] = {
        "id": CHARGE_ID,
        "object": "charge",
        "amount": 2000,
        "amount_captured": 2000,
        "amount_refunded": 0,
        "balance_transaction": "txn_3SkZqALkdIwHu7ix0aYfGhWd",
        "billing_details": {"email": "ann@corp.example", "name": "Ann Lee", "address": {"postal_code": "1011"}},
        "captured": True,
        "created": CREATED,
        "currency": "usd",
        "customer": CUSTOMER_ID,
        "description": "Subscription for December",
        "disputed": False,
        "failure_code": None,
        "livemode": False,
        "metadata": {},
        "paid": True,
        "payment_intent": PAYMENT_ID,
        "payment_method_details": {"type": "card", "card": {"brand": "visa", "last4": "4242", "exp_year": 2030}},
        "receipt_url": "https://pay.stripe.com/receipts/payment/CAcaFwoVYWNjdF8x",
        "refunded": False,
        "status": "succeeded",
    }
    return {**usual, **changes}


def payment(**changes: Any) -> dict[str, Any]:
    """A payment intent with its charge."""
    usual: dict[str, Any] = {
        "id": PAYMENT_ID,
        "object": "payment_intent",
        "amount": 2000,
        "amount_received": 2000,
        "client_secret": f"{PAYMENT_ID}_secret_J8sVUqPbq1",
        "created": CREATED,
        "currency": "usd",
        "customer": CUSTOMER_ID,
        "description": None,
        "last_payment_error": None,
        "latest_charge": charge(),
        "metadata": {},
        "status": "succeeded",
    }
    return {**usual, **changes}


def invoice(**changes: Any) -> dict[str, Any]:
    """An invoice with a line."""
    usual: dict[str, Any] = {
        "id": "in_1SkZqALkdIwHu7ixExample1",
        "object": "invoice",
        "amount_due": 2000,
        "amount_paid": 2000,
        "amount_remaining": 0,
        "created": CREATED,
        "currency": "usd",
        "customer": CUSTOMER_ID,
        "customer_email": "ann@corp.example",
        "customer_name": "Ann Lee",
        "description": None,
        "due_date": None,
        "hosted_invoice_url": "https://invoice.stripe.com/i/acct_1032D82eZvKYlo2C/test_YWNjd",
        "lines": {
            "object": "list",
            "data": [
                {"id": "il_1", "object": "line_item", "amount": 2000, "description": "Plan, December", "quantity": 1}
            ],
            "has_more": False,
        },
        "number": "F4A3-0001",
        "status": "paid",
        "total": 2000,
    }
    return {**usual, **changes}


def customer(**changes: Any) -> dict[str, Any]:
    """A customer."""
    usual: dict[str, Any] = {
        "id": CUSTOMER_ID,
        "object": "customer",
        "balance": 0,
        "created": CREATED,
        "currency": "usd",
        "delinquent": False,
        "description": None,
        "email": "ann@corp.example",
        "metadata": {},
        "name": "Ann Lee",
        "phone": None,
    }
    return {**usual, **changes}


def refund(**changes: Any) -> dict[str, Any]:
    """A refund."""
    usual: dict[str, Any] = {
        "id": "re_3SkZqALkdIwHu7ix0Example",
        "object": "refund",
        "amount": 2000,
        "charge": CHARGE_ID,
        "created": CREATED + 60,
        "currency": "usd",
        "metadata": {"tollhouse_effect": "effect-1"},
        "payment_intent": PAYMENT_ID,
        "reason": "duplicate",
        "status": "succeeded",
    }
    return {**usual, **changes}


def listed(*items: dict[str, Any], has_more: bool = False) -> dict[str, Any]:
    """A page of a list."""
    return {"object": "list", "url": "/v1/things", "has_more": has_more, "data": list(items)}


BALANCE = {
    "object": "balance",
    "available": [{"amount": 66_650, "currency": "usd", "source_types": {"card": 66_650}}],
    "pending": [{"amount": -250, "currency": "usd"}, {"amount": 500, "currency": "jpy"}],
    "livemode": False,
}
REFUND = {"payment": PAYMENT_ID, "amount_minor": 2000, "currency": "usd", "reason": "duplicate"}


def _refunding(asked: Asked) -> Said:
    return Said(refund() if asked.method == "POST" else payment())


def _always(value: dict[str, Any]) -> Any:
    return lambda _asked: Said(value)


CASES: tuple[Case, ...] = (
    api("stripe", "list_charges", {"customer": CUSTOMER_ID, "limit": 2}, _always(listed(charge(), has_more=True))),
    api("stripe", "get_charge", {"charge": CHARGE_ID}, _always(charge())),
    api("stripe", "list_payments", {"created_from": "2025-12-01"}, _always(listed(payment()))),
    api("stripe", "get_payment", {"payment": PAYMENT_ID}, _always(payment())),
    api("stripe", "list_invoices", {"status": "open"}, _always(listed(invoice()))),
    api("stripe", "get_invoice", {"invoice": "in_1SkZqALkdIwHu7ixExample1"}, _always(invoice())),
    api("stripe", "list_customers", {"email": "ann@corp.example"}, _always(listed(customer()))),
    api("stripe", "get_customer", {"customer": CUSTOMER_ID}, _always(customer())),
    api("stripe", "get_balance", {"currency": "usd"}, _always(BALANCE)),
    api("stripe", "create_refund", REFUND, _refunding),
)
