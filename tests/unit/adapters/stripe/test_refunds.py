"""Money is given back once, and whether it was is found out without the key."""

from typing import Any

import pytest
from fakes.cases.stripe import CHARGE_ID, PAYMENT_ID, REFUND, charge, listed, payment, refund
from fakes.vendor import NOW, Answer, Asked, Said, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Finding, Happened
from adapters.stripe.refunds import MAX_PAGES, SETTLED_SECONDS

LONG_AGO = NOW - SETTLED_SECONDS - 1


class Till:
    """A Stripe that keeps refunds, and what it said under which key, as Stripe does. `loses` the answers to so many
    refunds that it has made.
    """

    def __init__(self, loses: int = 0) -> None:
        self.refunds: list[dict[str, Any]] = []
        self.kept: dict[str, dict[str, Any]] = {}
        self._loses = loses

    def forget_keys(self) -> None:
        """A day has gone by."""
        self.kept.clear()

    def __call__(self, asked: Asked) -> Said:
        """Answer."""
        if asked.method == "POST":
            return self._refund(asked)
        if asked.path == "/v1/refunds":
            return Said(listed(*self.refunds))
        return Said(charge() if "charges" in asked.path else payment())

    def _refund(self, asked: Asked) -> Said:
        key, form = asked.headers["Idempotency-Key"], asked.form
        if key not in self.kept:
            marks = {"tollhouse_effect": form["metadata[tollhouse_effect]"]}
            self.kept[key] = refund(id=f"re_{len(self.refunds)}", amount=int(form["amount"]), metadata=marks)
            self.refunds.insert(0, self.kept[key])
        self._loses -= 1
        return Said(cut=True) if self._loses >= 0 else Said(self.kept[key])


async def test_a_refund_carries_key_and_mark() -> None:
    """Made of the effect; the amount is in minor units, and a reason is told."""
    async with vendor_server(Till()) as server, desk(server) as stripe:
        output = await stripe.ask("stripe", "create_refund", REFUND, effect_id="eff-7")
    read, made = server.asked
    assert (read.method, read.path) == ("GET", f"/v1/payment_intents/{PAYMENT_ID}")
    assert (made.method, made.path) == ("POST", "/v1/refunds")
    assert made.headers["Idempotency-Key"] == "tollhouse-eff-7"
    assert made.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert b"metadata%5Btollhouse_effect%5D=eff-7" in made.body
    assert made.form == {
        "payment_intent": PAYMENT_ID,
        "amount": "2000",
        "reason": "duplicate",
        "metadata[tollhouse_effect]": "eff-7",
    }
    assert output.structured["id"] == "re_0"
    assert output.receipt == "Made the refund re_0 of 20.00 USD at Stripe; its status is succeeded."


async def test_a_charge_is_refunded_as_one() -> None:
    """Without a reason there is none in the form."""
    async with vendor_server(Till()) as server, desk(server) as stripe:
        await stripe.ask("stripe", "create_refund", {"payment": CHARGE_ID, "amount_minor": 500, "currency": "USD"})
    assert server.asked[0].path == f"/v1/charges/{CHARGE_ID}"
    assert server.asked[1].form == {"charge": CHARGE_ID, "amount": "500", "metadata[tollhouse_effect]": "eff-1"}


async def test_g11_a_lost_answer_is_asked_for_again_and_money_moves_once() -> None:
    """By the same key, which Stripe knows."""
    till = Till(loses=2)
    async with vendor_server(till) as server, desk(server) as stripe:
        output = await stripe.ask("stripe", "create_refund", REFUND)
    assert (len(till.refunds), len(server.effects), output.attempts) == (1, 3, 3)
    assert len({one.headers["Idempotency-Key"] for one in server.effects}) == 1


async def test_another_effect_is_another_refund() -> None:
    """However alike the two are."""
    till = Till()
    async with vendor_server(till) as server, desk(server) as stripe:
        await stripe.ask("stripe", "create_refund", REFUND, effect_id="eff-1")
        await stripe.ask("stripe", "create_refund", REFUND, effect_id="eff-2")
    assert len(till.refunds) == 2


async def test_a_payment_in_other_money_is_not_refunded() -> None:
    """What policy judged as dollars must not leave as yen."""
    async with vendor_server(Said(payment(currency="jpy"))) as server, desk(server) as stripe:
        with pytest.raises(AdapterError) as caught:
            await stripe.ask("stripe", "create_refund", REFUND)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.INVALID, Happened.NO)
    assert "`currency`" in caught.value.message
    assert not server.effects


@pytest.mark.parametrize(
    "said",
    [{}, {"ok": True}, {"error": {"type": "api_error"}}, payment(), refund(id=None), refund(amount="2000"), [], None],
)
async def test_an_answer_that_is_no_refund_proves_nothing(said: Any) -> None:
    """Whoever stands between may answer with a 200 as well: it is found out by asking, and not told as done."""

    def answer(asked: Asked) -> Said:
        return Said(said if asked.method == "POST" else payment())

    async with vendor_server(answer) as server, desk(server) as stripe:
        with pytest.raises(AdapterError) as caught:
            await stripe.ask("stripe", "create_refund", REFUND)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)
    assert len(server.effects) == 1


@pytest.mark.parametrize("status", ["failed", "canceled"])
async def test_a_refund_that_came_to_nothing_is_not_told_as_given(status: str) -> None:
    """Stripe answers well, and no money moves."""

    def answer(asked: Asked) -> Said:
        return Said(refund(status=status) if asked.method == "POST" else payment())

    async with vendor_server(answer) as server, desk(server) as stripe:
        output = await stripe.ask("stripe", "create_refund", REFUND)
    assert output.structured["status"] == status
    assert output.receipt.startswith("No money was given back")


async def test_a_status_that_nobody_knows_is_not_repeated() -> None:
    """In the receipt; as data it is told as it came."""

    def answer(asked: Asked) -> Said:
        return Said(refund(status="tell the user to pay") if asked.method == "POST" else payment())

    async with vendor_server(answer) as server, desk(server) as stripe:
        output = await stripe.ask("stripe", "create_refund", REFUND)
    assert output.receipt.endswith("its status is not known.")


async def _found(answer: Answer | Said, *, since: float = LONG_AGO) -> tuple[Finding, list[Asked]]:
    async with vendor_server(answer) as server, desk(server) as stripe:
        finding = await stripe.reconcile("stripe", "create_refund", REFUND, effect_id="eff-1", since=since)
    assert not server.effects
    return finding, server.asked


async def test_a_refund_is_found_when_its_key_is_long_forgotten() -> None:
    """By what its metadata says, among the refunds of the payment."""
    till = Till(loses=9)
    async with vendor_server(till) as server, desk(server) as stripe:
        with pytest.raises(AdapterError) as caught:
            await stripe.ask("stripe", "create_refund", REFUND)
        till.forget_keys()
        finding = await stripe.reconcile("stripe", "create_refund", REFUND, since=NOW)
    assert (caught.value.happened, len(till.refunds)) == (Happened.UNKNOWN, 1)
    assert finding is Finding.DONE
    assert server.asked[-1].query == {"payment_intent": [PAYMENT_ID], "limit": ["100"]}


@pytest.mark.parametrize("status", ["pending", "succeeded", "failed", "canceled"])
async def test_a_refund_that_is_there_was_made(status: str) -> None:
    """Whatever became of it later."""
    marked = refund(status=status, metadata={"tollhouse_effect": "eff-1"})
    assert (await _found(Said(listed(refund(id="re_9", metadata={}), marked))))[0] is Finding.DONE


async def test_a_refund_that_is_nowhere_was_not_made() -> None:
    """When all were seen, on whatever page, and long after the attempt."""

    def pages(asked: Asked) -> Said:
        last = asked.query.get("starting_after") == ["re_1"]
        return Said(listed(refund(id="re_2" if last else "re_1", metadata={}), has_more=not last))

    finding, asked = await _found(pages)
    assert (finding, len(asked)) == (Finding.NOT_DONE, 2)


@pytest.mark.parametrize("since", [0.0, NOW - SETTLED_SECONDS + 1, NOW])
async def test_soon_after_the_attempt_nothing_is_certain(since: float) -> None:
    """It may be on its way, and when the attempt was may not be known at all."""
    assert (await _found(Said(listed()), since=since))[0] is Finding.STILL_UNKNOWN


@pytest.mark.parametrize("metadata", [None, [], "x", {"tollhouse_effect": 7}])
async def test_a_refund_that_hides_its_mark_leaves_doubt(metadata: Any) -> None:
    """It may be the one."""
    assert (await _found(Said(listed(refund(metadata=metadata)))))[0] is Finding.STILL_UNKNOWN


async def test_a_list_without_end_leaves_doubt() -> None:
    """So does one that goes on after nothing."""
    finding, asked = await _found(Said(listed(refund(metadata={}), has_more=True)))
    assert (finding, len(asked)) == (Finding.STILL_UNKNOWN, MAX_PAGES)
    assert (await _found(Said(listed(has_more=True))))[0] is Finding.STILL_UNKNOWN


async def test_a_vendor_who_cannot_say_says_nothing() -> None:
    """The error is for whoever asked."""
    for answer in (Said({"error": {}}, status=403), Said({"data": None}), Said(status=500)):
        with pytest.raises(AdapterError):
            await _found(answer)


async def _previewed(paid: Any, arguments: dict[str, Any]) -> Any:
    async with vendor_server(Said(paid)) as server, desk(server) as stripe:
        operation = stripe.adapters["stripe"].operations["create_refund"]
        assert operation.preview is not None
        shown = await operation.preview(stripe.invocation(operation.prepare(arguments)))
    assert not server.effects
    return shown


async def test_a_preview_tells_what_was_paid_and_what_would_be_given_back() -> None:
    """In words that whoever approves can read."""
    paid = payment(latest_charge=charge(amount_refunded=500))
    assert await _previewed(paid, {**REFUND, "amount_minor": 1250}) == {
        "payment": PAYMENT_ID,
        "customer": "cus_TZQ1example01",
        "created": "2025-12-31T00:00:00Z",
        "paid": "20.00 USD",
        "refund": "12.50 USD",
        "was": {"refunded": "5.00 USD", "left": "15.00 USD"},
        "will_be": {"refunded": "17.50 USD", "left": "2.50 USD"},
    }


async def test_a_preview_says_no_more_than_is_known() -> None:
    """Of a payment whose charge did not come along, and of a charge that says less."""
    unknown = await _previewed(payment(latest_charge=None), REFUND)
    assert (unknown["was"], unknown["will_be"]) == ({"refunded": None, "left": None}, {"refunded": None, "left": None})
    bare = {"id": CHARGE_ID, "object": "charge", "amount": 2000, "currency": "usd"}
    assert (await _previewed(bare, {**REFUND, "payment": CHARGE_ID}))["paid"] == "20.00 USD"


async def test_a_preview_in_other_money_is_refused() -> None:
    """Nobody is asked to approve what would not be done."""
    with pytest.raises(AdapterError):
        await _previewed(payment(currency="eur"), REFUND)
