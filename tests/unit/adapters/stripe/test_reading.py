"""Getting things, and pages of them."""

from typing import Any

import pytest
from fakes.cases.stripe import BALANCE, charge, customer, listed, payment
from fakes.vendor import Asked, Said, desk, saying, vendor_server

from adapters.base import AdapterError, ErrorKind


async def _asked(operation: str, arguments: dict[str, Any], answer: Any, **more: Any) -> tuple[Any, Asked]:
    async with vendor_server(Said(answer)) as server, desk(server, **more) as stripe:
        output = await stripe.ask("stripe", operation, arguments)
    (asked,) = server.asked
    return output, asked


async def test_a_list_is_asked_for_by_every_filter() -> None:
    """In Stripe's own words, with brackets."""
    arguments = {"customer": "cus_1", "payment": "pi_1", "created_from": "2026-01-01", "created_before": "2026-02-01"}
    _, asked = await _asked("list_charges", {**arguments, "limit": 5}, listed())
    assert (asked.method, asked.path) == ("GET", "/v1/charges")
    assert asked.query == {
        "customer": ["cus_1"],
        "payment_intent": ["pi_1"],
        "created[gte]": ["1767225600"],
        "created[lt]": ["1769904000"],
        "limit": ["5"],
    }


async def test_payments_bring_their_charge_along() -> None:
    """Which knows what was given back."""
    output, asked = await _asked("list_payments", {}, listed(payment()))
    assert asked.query == {"limit": ["20"], "expand[]": ["data.latest_charge"]}
    assert output.structured["payments"][0]["amount_refunded"] == 0
    _, asked = await _asked("get_payment", {"payment": "pi_1"}, payment())
    assert (asked.path, asked.query) == ("/v1/payment_intents/pi_1", {"expand[]": ["latest_charge"]})


async def test_customers_are_found_by_email() -> None:
    """As it was written."""
    output, asked = await _asked("list_customers", {"email": "Ann+1@corp.example"}, listed(customer()))
    assert asked.query == {"email": ["Ann+1@corp.example"], "limit": ["20"]}
    assert output.receipt == "Listed 1 customer from Stripe."


async def test_a_list_goes_on_after_its_last_thing() -> None:
    """Until Stripe says that there is no more."""
    pages = saying(Said(listed(charge(id="ch_1"), charge(id="ch_2"), has_more=True)), Said(listed(charge(id="ch_3"))))
    async with vendor_server(pages) as server, desk(server) as stripe:
        first = await stripe.ask("stripe", "list_charges", {"limit": 2})
        cursor = first.structured["next_cursor"]
        second = await stripe.ask("stripe", "list_charges", {"limit": 2, "cursor": cursor})
    assert [one["id"] for one in first.structured["charges"]] == ["ch_1", "ch_2"]
    assert server.asked[1].query == {"limit": ["2"], "starting_after": ["ch_2"]}
    assert (second.structured["charges"][0]["id"], second.structured["next_cursor"]) == ("ch_3", None)


async def test_a_list_that_says_it_goes_on_but_is_empty_has_ended() -> None:
    """There is nothing to go on after."""
    output, _ = await _asked("list_charges", {}, listed(has_more=True))
    assert output.structured == {"charges": [], "next_cursor": None}


async def test_one_bad_thing_spoils_the_list() -> None:
    """What was left out would look as if it were not there."""
    with pytest.raises(AdapterError) as caught:
        await _asked("list_charges", {}, listed(charge(), {"object": "charge"}))
    assert caught.value.kind is ErrorKind.MALFORMED


async def test_a_balance_is_told_in_one_currency_when_one_is_asked_for() -> None:
    """Else in all."""
    every, _ = await _asked("get_balance", {}, BALANCE)
    yen, _ = await _asked("get_balance", {"currency": "jpy"}, BALANCE)
    assert len(every.structured["pending"]) == 2
    assert yen.structured == {"available": [], "pending": [{"amount": 500, "currency": "jpy"}]}


async def test_a_platform_acts_for_the_account_of_its_connection() -> None:
    """In every request; without one there is no such header."""
    _, asked = await _asked("get_balance", {}, BALANCE, options={"account": "acct_1032D82eZvKYlo2C"})
    assert asked.headers["Stripe-Account"] == "acct_1032D82eZvKYlo2C"
    _, asked = await _asked("get_balance", {}, BALANCE)
    assert "Stripe-Account" not in asked.headers


async def test_a_list_that_goes_in_a_circle_has_ended() -> None:
    """A page that ends with what it was asked to begin after leads to itself."""
    circle = Said(listed(charge(id="ch_1"), has_more=True))
    async with vendor_server(circle) as server, desk(server) as stripe:
        first = await stripe.ask("stripe", "list_charges", {"limit": 1})
        again = await stripe.ask("stripe", "list_charges", {"limit": 1, "cursor": first.structured["next_cursor"]})
    assert first.structured["next_cursor"] is not None
    assert again.structured["next_cursor"] is None


async def test_a_page_that_leads_to_itself_is_the_last() -> None:
    """Nobody walks in a circle for a vendor's mistake."""
    async with vendor_server(Said(listed(charge(), has_more=True))) as server, desk(server) as stripe:
        first = (await stripe.ask("stripe", "list_charges", {})).structured
        second = (await stripe.ask("stripe", "list_charges", {"cursor": first["next_cursor"]})).structured
    assert (first["next_cursor"] is None, second["next_cursor"]) == (False, None)
