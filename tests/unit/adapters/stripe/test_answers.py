"""What is told of Stripe's objects."""

from typing import Any

import pytest
from fakes.cases.stripe import BALANCE, charge, customer, invoice, listed, payment, refund

from adapters.stripe.answers import (
    read_balance,
    read_charge,
    read_customer,
    read_invoice,
    read_page,
    read_payment,
    read_refund,
    read_whole_invoice,
)
from adapters.stripe.values import Unreadable

READERS = {
    read_charge: charge,
    read_payment: payment,
    read_invoice: invoice,
    read_whole_invoice: invoice,
    read_customer: customer,
    read_refund: refund,
}


def test_a_charge_tells_its_money_state_and_card() -> None:
    """And no link to a receipt."""
    assert read_charge(charge(amount_refunded=500)) == {
        "id": "ch_3SkZqALkdIwHu7ix0y1nQnYf",
        "amount": 2000,
        "currency": "usd",
        "amount_captured": 2000,
        "amount_refunded": 500,
        "status": "succeeded",
        "captured": True,
        "refunded": False,
        "disputed": False,
        "failure_code": None,
        "created": "2025-12-31T00:00:00Z",
        "customer": "cus_TZQ1example01",
        "payment": "pi_3SkZqALkdIwHu7ix0bHcJk1m",
        "description": "Subscription for December",
        "card_brand": "visa",
        "card_last4": "4242",
    }


def test_a_payment_knows_what_was_given_back_when_its_charge_came_along() -> None:
    """Else it knows the charge's id at most."""
    whole = read_payment(payment(latest_charge=charge(amount_refunded=700)))
    assert (whole["charge"], whole["amount_refunded"]) == (charge()["id"], 700)
    bare = read_payment(payment(latest_charge="ch_9"))
    assert (bare["charge"], bare["amount_refunded"]) == ("ch_9", None)
    none = read_payment(payment(latest_charge=None))
    assert (none["charge"], none["amount_refunded"]) == (None, None)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": "card_declined", "decline_code": "insufficient_funds"}, "insufficient_funds"),
        ({"code": "expired_card"}, "expired_card"),
        (None, None),
        ("no", None),
    ],
)
def test_a_payment_says_why_it_failed(error: Any, code: str | None) -> None:
    """By the bank's code, or by Stripe's."""
    assert read_payment(payment(last_payment_error=error))["failure_code"] == code


def test_no_secret_and_no_link_comes_along() -> None:
    """Whoever has a client's secret or a hosted page's address can act as the customer."""
    told = repr([read(make()) for read, make in READERS.items()])
    assert "secret" not in told
    assert "https://" not in told


def test_an_invoice_has_ten_lines_at_most() -> None:
    """And says that there are more; what is no line is passed over."""
    line = {"amount": 100, "description": "Plan", "quantity": 2}
    many = read_whole_invoice(invoice(lines={"data": [line] * 12, "has_more": False}))
    assert (many["lines"], many["has_more_lines"]) == ([line] * 10, True)
    odd = read_whole_invoice(invoice(lines={"data": [line, "x", None], "has_more": True}))
    assert (odd["lines"], odd["has_more_lines"]) == ([line], True)
    none = read_whole_invoice(invoice(lines=None))
    assert (none["lines"], none["has_more_lines"]) == ([], False)


def test_of_a_deleted_customer_the_id_is_left() -> None:
    """And nothing else."""
    told = read_customer({"id": "cus_1", "object": "customer", "deleted": True})
    assert {name for name, value in told.items() if value is not None} == {"id", "deleted"}
    assert told["deleted"] is True


def test_a_balance_is_told_by_currency() -> None:
    """What is available, and what is pending."""
    assert read_balance(BALANCE) == {
        "available": [{"amount": 66_650, "currency": "usd"}],
        "pending": [{"amount": -250, "currency": "usd"}, {"amount": 500, "currency": "jpy"}],
    }
    for value in (None, {}, {"available": []}, {"available": [1], "pending": []}, {**BALANCE, "pending": None}):
        with pytest.raises(Unreadable):
            read_balance(value)


def test_a_page_says_whether_the_list_goes_on() -> None:
    """One that does not say is the last."""
    assert read_page(listed({"id": "x"}, has_more=True)) == ([{"id": "x"}], True)
    assert read_page({"data": []}) == ([], False)
    for value in (None, [], {}, {"data": None}, {"data": {}}, {"data": [], "has_more": "yes"}):
        with pytest.raises(Unreadable):
            read_page(value)


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_what_lacks_its_id_cannot_be_read(read: Any) -> None:
    """Nor can what is another kind of thing, or nothing at all."""
    for value in (READERS[read](id=None), READERS[read](object="event"), None, [], "x", {}):
        with pytest.raises(Unreadable):
            read(value)


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_everything_else_may_be_missing(read: Any) -> None:
    """Nothing of a wrong kind comes through either."""
    bare = {"id": "x_1", "amount": 1, "currency": "usd"}
    told = read(bare)
    assert told["id"] == "x_1"
    odd = READERS[read]()
    broken = {name: value if name in ("id", "object", "amount", "currency") else [1] for name, value in odd.items()}
    assert not [value for name, value in read(broken).items() if value == [1]]
    assert set(read(broken)) == set(told)
