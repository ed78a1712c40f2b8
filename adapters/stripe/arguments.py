"""What agents say to Stripe's operations, and how it is understood."""

from collections.abc import Callable
from typing import Any, Literal, NotRequired, TypedDict

from adapters.stripe.fields import LIMIT, MAX_LIMIT, Reader
from adapters.stripe.money import units
from adapters.transport.cursors import with_page

INVOICE_STATES = ("draft", "open", "paid", "uncollectible", "void")
REASONS = ("duplicate", "fraudulent", "requested_by_customer")

Prepared = dict[str, Any]
InvoiceState = Literal["draft", "open", "paid", "uncollectible", "void"]
Reason = Literal["duplicate", "fraudulent", "requested_by_customer"]


class Page(TypedDict):
    """Which part of a list."""

    limit: NotRequired[int]
    cursor: NotRequired[str]


class Created(Page):
    """Of what was made when."""

    customer: NotRequired[str]
    created_from: NotRequired[str]
    created_before: NotRequired[str]


class ListCharges(Created):
    """What an agent sends."""

    payment: NotRequired[str]


class ListPayments(Created):
    """What an agent sends."""


class ListInvoices(Created):
    """What an agent sends."""

    status: NotRequired[InvoiceState]


class ListCustomers(Page):
    """What an agent sends."""

    email: str


class GetCharge(TypedDict):
    """What an agent sends."""

    charge: str


class GetPayment(TypedDict):
    """What an agent sends."""

    payment: str


class GetInvoice(TypedDict):
    """What an agent sends."""

    invoice: str


class GetCustomer(TypedDict):
    """What an agent sends."""

    customer: str


class GetBalance(TypedDict):
    """What an agent sends."""

    currency: NotRequired[str]


class CreateRefund(TypedDict):
    """What an agent sends."""

    payment: str
    amount_minor: int
    currency: str
    reason: NotRequired[Reason]


def prepare_list_charges(arguments: Prepared) -> Prepared:
    """Of a customer or a payment, and of a time."""
    return _listing("list_charges", arguments, lambda read: {"payment": read.id("payment", "intent"), **_created(read)})


def prepare_list_payments(arguments: Prepared) -> Prepared:
    """Of a customer and of a time."""
    return _listing("list_payments", arguments, _created)


def prepare_list_invoices(arguments: Prepared) -> Prepared:
    """Of a customer, a state and a time."""
    return _listing(
        "list_invoices", arguments, lambda read: {"status": read.word("status", INVOICE_STATES), **_created(read)}
    )


def prepare_list_customers(arguments: Prepared) -> Prepared:
    """Of one address; `domain` is what policy judges."""

    def by_email(read: Reader) -> Prepared:
        email = read.email("email")
        return {"email": email, "domain": email.rpartition("@")[2].lower()}

    return _listing("list_customers", arguments, by_email)


def prepare_get_charge(arguments: Prepared) -> Prepared:
    """One charge."""
    return _one("charge", "charge", arguments)


def prepare_get_payment(arguments: Prepared) -> Prepared:
    """One payment."""
    return _one("payment", "intent", arguments)


def prepare_get_invoice(arguments: Prepared) -> Prepared:
    """One invoice."""
    return _one("invoice", "invoice", arguments)


def prepare_get_customer(arguments: Prepared) -> Prepared:
    """One customer."""
    return _one("customer", "customer", arguments)


def prepare_get_balance(arguments: Prepared) -> Prepared:
    """Of one currency, or of all."""
    read = Reader(arguments)
    return read.checked({"currency": None if arguments.get("currency") is None else read.currency("currency")})


def prepare_create_refund(arguments: Prepared) -> Prepared:
    """`of` says what kind of thing is refunded, and `amount` how much in units of the currency, for policy. `money`
    holds the minor units under the currency's name: a tool whose cost is counted in another currency refuses the call,
    since the amount is not where it looks.
    """
    read = Reader(arguments)
    payment, minor, currency = read.id("payment", "refundable"), read.amount("amount_minor"), read.currency("currency")
    return read.checked(
        {
            "payment": payment,
            "of": "payment_intent" if str(payment).startswith("pi_") else "charge",
            "amount": units(minor, currency),
            "amount_minor": minor,
            "currency": currency.upper(),
            "money": {currency.upper(): minor},
            "reason": read.word("reason", REASONS),
        }
    )


def _one(name: str, form: str, arguments: Prepared) -> Prepared:
    read = Reader(arguments)
    return read.checked({name: read.id(name, form)})


def _listing(operation: str, arguments: Prepared, filters: Callable[[Reader], Prepared]) -> Prepared:
    read = Reader(arguments)
    prepared = read.checked({**filters(read), "limit": read.limit(LIMIT, MAX_LIMIT), "cursor": arguments.get("cursor")})
    return with_page(operation, prepared)


def _created(read: Reader) -> Prepared:
    return {
        "customer": read.id("customer", "customer"),
        "created_from": read.seconds("created_from"),
        "created_before": read.seconds("created_before"),
    }
