"""Giving money back, once.

Stripe tells repetitions of a request apart by a key, and forgets a key after a day: a repetition then gives the money
back again. So every refund also carries the effect that it is of in its metadata, and whether it was made is found
out there and never by the key.
"""

from collections.abc import Mapping
from typing import Any

from adapters.base import Clock, ErrorKind, Finding, Happened, Invocation, Output
from adapters.stripe.answers import read_page, read_refund
from adapters.stripe.money import shown
from adapters.stripe.reading import CHARGES, PAYMENTS, Reading, acting_for, understood
from adapters.stripe.values import Json, identifier
from adapters.transport.api import Api
from adapters.transport.calls import Call

MARK = "tollhouse_effect"
"""The name under which a refund's metadata holds the effect."""
SETTLED_SECONDS = 900.0
"""A request that was made longer ago than this is not carried out any more."""
MAX_PAGES = 10
_PAGE = 100
_PATH = "/v1/refunds"


class Refunds:
    """Makes refunds and finds them again."""

    def __init__(self, api: Api, reading: Reading, clock: Clock) -> None:
        self._api = api
        self._reading = reading
        self._clock = clock

    async def create(self, invocation: Invocation) -> Output:
        """Give money back. A payment in another currency than was said is refused before: policy and budgets have
        judged the amount in the currency that was said.
        """
        await self._payment(invocation)
        key = {"Idempotency-Key": f"tollhouse-{invocation.effect_id}"}
        call = Call(
            method="POST",
            path=_PATH,
            form=_form(invocation),
            headers={**acting_for(invocation.target), **key},
            has_native_key=True,
        )
        reply = await self._api.ask(invocation, call, limit="create_refund")
        refund = understood(reply, read_refund)
        return Output(structured=refund, receipt=_receipt(refund), attempts=reply.attempts)

    async def preview(self, invocation: Invocation) -> Any:
        """What was paid, what has been refunded of it, and what would be."""
        payment = await self._payment(invocation)
        paid, before = _paid(payment), payment["amount_refunded"]
        amount, currency = invocation.arguments["amount_minor"], payment["currency"]
        after = None if before is None else before + amount
        return {
            "payment": payment["id"],
            "customer": payment["customer"],
            "created": payment["created"],
            "paid": shown(paid, currency),
            "refund": shown(amount, currency),
            "was": {"refunded": _shown(before, currency), "left": _shown(_left(paid, before), currency)},
            "will_be": {"refunded": _shown(after, currency), "left": _shown(_left(paid, after), currency)},
        }

    async def reconcile(self, invocation: Invocation) -> Finding:
        """Whether the payment has a refund of this effect. That it has none counts when all of its refunds were seen,
        so long after the attempt that none can be on its way.
        """
        page, is_certain = None, self._is_settled(invocation)
        for _ in range(MAX_PAGES):
            refunds, goes_on = await self._refunds(invocation, page)
            marks = [_mark(refund) for refund in refunds]
            if invocation.effect_id in marks:
                return Finding.DONE
            is_certain = is_certain and None not in marks
            if not goes_on:
                return Finding.NOT_DONE if is_certain else Finding.STILL_UNKNOWN
            page = identifier(refunds[-1]) if refunds else None
            if page is None:
                break
        return Finding.STILL_UNKNOWN

    async def _payment(self, invocation: Invocation) -> Json:
        arguments = invocation.arguments
        kind = PAYMENTS if arguments["of"] == "payment_intent" else CHARGES
        payment, reply = await self._reading.found(kind, invocation, arguments["payment"])
        if payment["currency"].upper() != arguments["currency"]:
            message = "`currency` is not the currency of this payment; read the payment, and name what it was paid in."
            raise reply.error(ErrorKind.INVALID, message, happened=Happened.NO)
        return payment

    async def _refunds(self, invocation: Invocation, page: str | None) -> tuple[list[Any], bool]:
        arguments = invocation.arguments
        query = {arguments["of"]: arguments["payment"], "limit": _PAGE, "starting_after": page}
        call = Call(path=_PATH, query=query, headers=acting_for(invocation.target))
        return understood(await self._api.ask(invocation, call, limit="list_refunds"), read_page)

    def _is_settled(self, invocation: Invocation) -> bool:
        return 0 < invocation.since <= self._clock.now() - SETTLED_SECONDS


def _form(invocation: Invocation) -> Mapping[str, str]:
    arguments = invocation.arguments
    reason = {} if arguments["reason"] is None else {"reason": str(arguments["reason"])}
    return {
        arguments["of"]: arguments["payment"],
        "amount": str(arguments["amount_minor"]),
        **reason,
        f"metadata[{MARK}]": invocation.effect_id,
    }


def _mark(refund: Any) -> str | None:
    """The effect that a refund is of, empty when somebody else made it; None when that cannot be told."""
    metadata = refund.get("metadata") if isinstance(refund, Mapping) else None
    if not isinstance(metadata, Mapping):
        return None
    mark = metadata.get(MARK, "")
    return mark if isinstance(mark, str) else None


def _receipt(refund: Json) -> str:
    money, status = shown(refund["amount"], refund["currency"]), _status(refund)
    if status in ("failed", "canceled"):
        return f"No money was given back: the refund {refund['id']} of {money} was made at Stripe, and is {status}."
    return f"Made the refund {refund['id']} of {money} at Stripe; its status is {status}."


def _status(refund: Json) -> str:
    known = ("pending", "requires_action", "succeeded", "failed", "canceled")
    return str(refund["status"]) if refund["status"] in known else "not known"


def _paid(payment: Json) -> int:
    paid = payment.get("amount_received") if "amount_received" in payment else payment["amount_captured"]
    return int(payment["amount"] if paid is None else paid)


def _left(paid: int, refunded: int | None) -> int | None:
    return None if refunded is None else paid - refunded


def _shown(amount: int | None, currency: str) -> str | None:
    return None if amount is None else shown(amount, currency)
