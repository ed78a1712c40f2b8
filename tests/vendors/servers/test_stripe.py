"""Stripe's operations against servers that nobody here wrote: `localstripe`, which refunds, and `emulate`.

Neither knows idempotency keys, and the balance of the one has another form than Stripe's: those two are proved against
servers of our own.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from fakes.cases.stripe import BALANCE, REFUND, listed, payment, refund
from fakes.vendor import Asked, Desk, Said, desk, vendor_server
from real.emulate import TOKENS, Emulate
from real.localstripe import KEY, LocalStripe

from adapters.base import AdapterError, ErrorKind, Finding, Happened, Output

CARD = {"type": "card", "card[number]": "4242424242424242", "card[exp_month]": "12", "card[exp_year]": "2030"}
LISTS = ("list_charges", "list_payments", "list_invoices", "list_customers")


@dataclass(frozen=True)
class Shop:
    """A customer of `localstripe` who paid twice, and a desk to ask about it."""

    url: str
    desk: Desk
    email: str
    customer: str
    payments: tuple[str, ...]

    async def ask(self, operation: str, arguments: dict[str, Any], **more: Any) -> Output:
        """Through the adapter."""
        return await self.desk.ask("stripe", operation, arguments, **more)

    async def refunds(self, payment: str) -> list[Any]:
        """What the server itself says."""
        found = await _get(f"{self.url}/v1/refunds?payment_intent={payment}")
        return list(found["data"])

    async def subscribe(self) -> None:
        """The customer to a plan of 15 dollars, for which there is an invoice at once."""
        plan = {"amount": "1500", "currency": "usd", "interval": "month", "product[name]": "A plan"}
        made = await _post(f"{self.url}/v1/plans", plan)
        await _post(f"{self.url}/v1/subscriptions", {"customer": self.customer, "items[0][plan]": made["id"]})


async def _get(url: str) -> Any:
    return await _asked("GET", url)


async def _post(url: str, form: dict[str, str]) -> Any:
    return await _asked("POST", url, data=form)


async def _asked(method: str, url: str, **more: Any) -> Any:
    async with aiohttp.request(method, url, headers={"Authorization": f"Bearer {KEY}"}, **more) as response:
        assert response.status == 200, await response.text()
        return await response.json()


@pytest.fixture
async def shop(localstripe: LocalStripe) -> AsyncIterator[Shop]:
    """A new customer each time, with two payments of 20 dollars."""
    url = localstripe.url
    everybody = await _get(f"{url}/v1/customers?limit=100")
    email = f"ann{len(everybody['data'])}@corp.example"
    customer = await _post(f"{url}/v1/customers", {"email": email, "name": "Ann Lee"})
    method = await _post(f"{url}/v1/payment_methods", {**CARD, "card[cvc]": "123"})
    await _post(f"{url}/v1/payment_methods/{method['id']}/attach", {"customer": customer["id"]})
    standard = {"invoice_settings[default_payment_method]": method["id"]}
    await _post(f"{url}/v1/customers/{customer['id']}", standard)
    paying = {"amount": "2000", "currency": "usd", "customer": customer["id"], "payment_method": method["id"]}
    paid = [await _post(f"{url}/v1/payment_intents", {**paying, "confirm": "true"}) for _ in range(2)]
    async with desk(localstripe.port, credential=KEY) as stripe:
        yield Shop(url, stripe, email, customer["id"], tuple(one["id"] for one in paid))


async def _error(shop: Shop, operation: str, arguments: dict[str, Any]) -> AdapterError:
    with pytest.raises(AdapterError) as caught:
        await shop.ask(operation, arguments)
    return caught.value


@pytest.mark.proves("stripe", "list_customers", "success")
@pytest.mark.proves("stripe", "get_customer", "success")
async def test_a_customer_is_found_by_email(shop: Shop) -> None:
    """And read by the id that was found."""
    found = (await shop.ask("list_customers", {"email": shop.email})).structured["customers"]
    assert [(one["id"], one["email"], one["name"]) for one in found] == [(shop.customer, shop.email, "Ann Lee")]
    read = (await shop.ask("get_customer", {"customer": shop.customer})).structured
    assert read == found[0]


@pytest.mark.proves("stripe", "list_charges", "success")
@pytest.mark.proves("stripe", "get_charge", "success")
async def test_what_a_customer_was_charged_is_listed(shop: Shop) -> None:
    """Twice the same; each charge can be read."""
    charges = (await shop.ask("list_charges", {"customer": shop.customer})).structured["charges"]
    assert [(one["amount"], one["currency"], one["status"]) for one in charges] == [(2000, "usd", "succeeded")] * 2
    assert {one["payment"] for one in charges} == set(shop.payments)
    read = (await shop.ask("get_charge", {"charge": charges[0]["id"]})).structured
    assert (read["id"], read["customer"], read["amount_refunded"]) == (charges[0]["id"], shop.customer, 0)


@pytest.mark.proves("stripe", "list_payments", "success")
@pytest.mark.proves("stripe", "get_payment", "success")
async def test_payments_are_listed_with_what_was_given_back(shop: Shop) -> None:
    """Each can be read."""
    payments = (await shop.ask("list_payments", {"limit": 100})).structured["payments"]
    ours = [one for one in payments if one["customer"] == shop.customer]
    assert {one["id"] for one in ours} == set(shop.payments)
    read = (await shop.ask("get_payment", {"payment": shop.payments[0]})).structured
    assert (read["status"], read["amount"], read["amount_refunded"]) == ("succeeded", 2000, 0)
    assert read["charge"].startswith("ch_")


@pytest.mark.proves("stripe", "list_payments", "success")
async def test_payments_of_one_customer_are_listed(emulate: Emulate) -> None:
    """And of no other."""
    async with desk(emulate.port("stripe"), credential=TOKENS["stripe"]) as stripe:
        url = f"{emulate.url('stripe')}/v1"
        customer = await _post(f"{url}/customers", {"email": "carl@corp.example"})
        made = await _post(f"{url}/payment_intents", {"amount": "700", "currency": "usd", "customer": customer["id"]})
        await _post(f"{url}/payment_intents", {"amount": "800", "currency": "usd"})
        output = await stripe.ask("stripe", "list_payments", {"customer": customer["id"]})
    assert [(one["id"], one["amount"]) for one in output.structured["payments"]] == [(made["id"], 700)]


@pytest.mark.proves("stripe", "list_invoices", "success")
@pytest.mark.proves("stripe", "get_invoice", "success")
async def test_an_invoice_is_listed_and_read_with_its_lines(shop: Shop) -> None:
    """As far as this server knows of invoices."""
    await shop.subscribe()
    (invoice,) = (await shop.ask("list_invoices", {"customer": shop.customer})).structured["invoices"]
    assert (invoice["amount_due"], invoice["currency"], invoice["status"]) == (1500, "usd", "paid")
    assert invoice["customer_email"] == shop.email
    read = (await shop.ask("get_invoice", {"invoice": invoice["id"]})).structured
    assert [(line["quantity"], line["amount"]) for line in read["lines"]] == [(1, 1500)]
    assert {name: read[name] for name in invoice} == invoice


@pytest.mark.proves("stripe", "list_charges", "paging")
async def test_charges_are_listed_page_by_page(shop: Shop) -> None:
    """Each once."""
    assert len(set(await _paged(shop, "list_charges", {"customer": shop.customer}))) == 2


@pytest.mark.proves("stripe", "list_payments", "paging")
async def test_payments_are_listed_page_by_page(shop: Shop) -> None:
    """Each once."""
    assert set(shop.payments) <= set(await _paged(shop, "list_payments", {}))


@pytest.mark.proves("stripe", "list_invoices", "paging")
async def test_invoices_are_listed_page_by_page(shop: Shop) -> None:
    """Each once."""
    await shop.subscribe()
    await shop.subscribe()
    assert len(await _paged(shop, "list_invoices", {"customer": shop.customer})) == 2


@pytest.mark.proves("stripe", "list_customers", "paging")
async def test_customers_are_listed_page_by_page(shop: Shop) -> None:
    """Several may have one address."""
    other = await _post(f"{shop.url}/v1/customers", {"email": shop.email})
    assert set(await _paged(shop, "list_customers", {"email": shop.email})) == {shop.customer, other["id"]}


async def _paged(shop: Shop, operation: str, arguments: dict[str, Any]) -> list[str]:
    """Every id, one at a time; none comes twice."""
    ids: list[str] = []
    cursor: dict[str, str] = {}
    while len(ids) < 1000:
        page = (await shop.ask(operation, {**arguments, "limit": 1, **cursor})).structured
        (one,) = page[operation.removeprefix("list_")]
        ids.append(one["id"])
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert len(set(ids)) == len(ids)
    return ids


@pytest.mark.proves("stripe", "create_refund", "success")
async def test_a_refund_is_made_and_found_again_by_its_mark(shop: Shop) -> None:
    """Of the one payment, and by the metadata alone: this server knows no keys."""
    twice, once = shop.payments
    arguments = {"payment": twice, "amount_minor": 2000, "currency": "usd"}
    output = await shop.ask("create_refund", arguments, effect_id="eff-a")
    (made,) = await shop.refunds(twice)
    assert (made["id"], made["amount"], made["metadata"]) == (
        output.structured["id"],
        2000,
        {"tollhouse_effect": "eff-a"},
    )
    assert await shop.refunds(once) == []
    read = (await shop.ask("get_payment", {"payment": twice})).structured
    assert read["amount_refunded"] == 2000
    found = [
        await shop.desk.reconcile("stripe", "create_refund", arguments, effect_id=effect, since=1.0)
        for effect in ("eff-a", "eff-b")
    ]
    assert found == [Finding.DONE, Finding.NOT_DONE]


@pytest.mark.proves("stripe", "create_refund", "failure")
async def test_a_refund_of_nothing_or_of_other_money_is_not_made(shop: Shop) -> None:
    """A payment that is not there, and one in dollars that was said to be in euros."""
    missing = await _error(shop, "create_refund", {"payment": "pi_nothing", "amount_minor": 1, "currency": "usd"})
    assert (missing.kind, missing.happened) == (ErrorKind.NOT_FOUND, Happened.NO)
    euros = {"payment": shop.payments[0], "amount_minor": 2000, "currency": "eur"}
    assert (await _error(shop, "create_refund", euros)).kind is ErrorKind.INVALID
    assert await shop.refunds(shop.payments[0]) == []


@pytest.mark.proves("stripe", "get_charge", "failure")
@pytest.mark.proves("stripe", "get_payment", "failure")
@pytest.mark.proves("stripe", "get_invoice", "failure")
@pytest.mark.proves("stripe", "get_customer", "failure")
@pytest.mark.proves("stripe", "list_charges", "failure")
@pytest.mark.proves("stripe", "list_invoices", "failure")
async def test_what_is_not_there_is_not_found(shop: Shop) -> None:
    """By its id, and as what a list is of."""
    for name, id_ in (("charge", "ch_no"), ("payment", "pi_no"), ("invoice", "in_no"), ("customer", "cus_no")):
        assert (await _error(shop, f"get_{name}", {name: id_})).kind is ErrorKind.NOT_FOUND
    for operation in ("list_charges", "list_invoices"):
        assert (await _error(shop, operation, {"customer": "cus_no"})).kind is ErrorKind.NOT_FOUND


@pytest.mark.proves("stripe", "list_payments", "failure")
@pytest.mark.proves("stripe", "list_customers", "failure")
@pytest.mark.proves("stripe", "get_balance", "failure")
@pytest.mark.parametrize("operation", ["get_balance", *LISTS])
async def test_a_key_that_is_none_needs_its_operator(localstripe: LocalStripe, operation: str) -> None:
    """Whatever is asked."""
    arguments = {"email": "ann@corp.example"} if operation == "list_customers" else {}
    async with desk(localstripe.port, credential="no_key") as stripe:
        with pytest.raises(AdapterError) as caught:
            await stripe.ask("stripe", operation, arguments)
    assert caught.value.kind is ErrorKind.NEEDS_AUTHORISATION


@pytest.mark.proves("stripe", "get_balance", "success")
async def test_a_balance_is_told() -> None:
    """In the form that Stripe documents."""
    async with vendor_server(Said(BALANCE)) as server, desk(server) as stripe:
        output = await stripe.ask("stripe", "get_balance", {})
    assert output.structured["available"] == [{"amount": 66_650, "currency": "usd"}]


@pytest.mark.proves("stripe", "create_refund", "success")
async def test_the_same_key_twice_is_one_refund() -> None:
    """As Stripe documents its keys; the answer to the first attempt is lost."""
    kept: dict[str, Any] = {}

    def stripe_itself(asked: Asked) -> Said:
        if asked.method == "GET":
            return Said(listed(*kept.values()) if asked.path == "/v1/refunds" else payment())
        key = asked.headers["Idempotency-Key"]
        is_new = key not in kept
        kept.setdefault(key, refund(metadata={"tollhouse_effect": asked.form["metadata[tollhouse_effect]"]}))
        return Said(kept[key], cut=is_new)

    async with vendor_server(stripe_itself) as server, desk(server) as stripe:
        output = await stripe.ask("stripe", "create_refund", REFUND)
        again = await stripe.ask("stripe", "create_refund", REFUND)
    assert (len(kept), output.attempts, again.structured) == (1, 2, output.structured)
