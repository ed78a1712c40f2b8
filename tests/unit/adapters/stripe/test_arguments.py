"""What policy and vendor see of what an agent says."""

from typing import Any

import pytest

from adapters.base import ArgumentProblem
from adapters.stripe import arguments as said
from adapters.transport.cursors import cursor_to

EVERY_LIST = {
    "list_charges": (said.prepare_list_charges, {}),
    "list_payments": (said.prepare_list_payments, {}),
    "list_invoices": (said.prepare_list_invoices, {}),
    "list_customers": (said.prepare_list_customers, {"email": "ann@corp.example"}),
}


def test_a_list_says_everything_whether_it_was_asked_or_not() -> None:
    """What was left out is None, or what it is by default."""
    assert said.prepare_list_charges({}) == {
        "payment": None,
        "customer": None,
        "created_from": None,
        "created_before": None,
        "limit": 20,
        "cursor": None,
        "page": None,
    }
    prepared = said.prepare_list_invoices({"status": "open", "customer": "cus_1", "created_from": "2026-01-01"})
    assert (prepared["status"], prepared["customer"], prepared["created_from"]) == ("open", "cus_1", 1_767_225_600)


@pytest.mark.parametrize("name", EVERY_LIST)
def test_a_cursor_leads_on_in_its_own_list(name: str) -> None:
    """And in no other: neither another operation's nor one of other arguments."""
    prepare, arguments = EVERY_LIST[name]
    cursor = cursor_to("x_1", name, prepare(dict(arguments)))
    assert prepare({**arguments, "cursor": cursor})["page"] == "x_1"
    for wrong in ({"limit": 7, "cursor": cursor}, {"cursor": "nonsense"}, {"cursor": cursor_to("x_1", "other", {})}):
        with pytest.raises(ArgumentProblem):
            prepare({**arguments, **wrong})


def test_customers_are_found_by_an_address_and_its_domain_is_policys() -> None:
    """In small letters, whatever the address has."""
    prepared = said.prepare_list_customers({"email": "Ann@Corp.example"})
    assert (prepared["email"], prepared["domain"]) == ("Ann@Corp.example", "corp.example")


@pytest.mark.parametrize(
    ("payment", "of"), [("pi_1abc", "payment_intent"), ("ch_1abc", "charge"), ("py_1abc", "charge")]
)
def test_a_refund_says_what_it_is_of_and_how_much_in_which_money(payment: str, of: str) -> None:
    """Under the currency's name, where a tool's cost looks for it."""
    assert said.prepare_create_refund({"payment": payment, "amount_minor": 2000, "currency": "usd"}) == {
        "payment": payment,
        "of": of,
        "amount": 20,
        "amount_minor": 2000,
        "currency": "USD",
        "money": {"USD": 2000},
        "reason": None,
    }


def test_every_issue_of_a_refund_is_told_at_once() -> None:
    """With its place and its rule."""
    wrong: dict[str, Any] = {"payment": "cus_1", "amount_minor": 0, "currency": "$", "reason": "because"}
    with pytest.raises(ArgumentProblem) as caught:
        said.prepare_create_refund(wrong)
    issues = [(issue.path, issue.rule) for issue in caught.value.issues]
    assert issues == [
        ("/payment", "format"),
        ("/amount_minor", "range"),
        ("/currency", "currency"),
        ("/reason", "enum"),
    ]


def test_one_thing_is_asked_for_by_its_id() -> None:
    """Of its own kind alone."""
    assert said.prepare_get_charge({"charge": "ch_1"}) == {"charge": "ch_1"}
    assert said.prepare_get_payment({"payment": "pi_1"}) == {"payment": "pi_1"}
    assert said.prepare_get_invoice({"invoice": "in_1"}) == {"invoice": "in_1"}
    assert said.prepare_get_customer({"customer": "cus_1"}) == {"customer": "cus_1"}
    with pytest.raises(ArgumentProblem):
        said.prepare_get_payment({"payment": "ch_1"})


def test_a_balance_is_of_one_currency_or_of_all() -> None:
    """In small letters."""
    assert said.prepare_get_balance({}) == {"currency": None}
    assert said.prepare_get_balance({"currency": "EUR"}) == {"currency": "eur"}
