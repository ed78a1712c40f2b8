"""Getting one thing of Stripe's, and a page of many."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from adapters.base import Happened, Invocation, Output, Target
from adapters.stripe.answers import (
    read_balance,
    read_charge,
    read_customer,
    read_invoice,
    read_page,
    read_payment,
    read_whole_invoice,
)
from adapters.stripe.values import Json, Unreadable
from adapters.transport.api import Api
from adapters.transport.calls import Call, path_of
from adapters.transport.cursors import cursor_to
from adapters.transport.replies import Reply, malformed

T = TypeVar("T")
ACCOUNT = "account"
"""The option that names a connected account, for platforms whose key acts for others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of thing."""

    one: str
    """What it is called, which is also the argument that holds its id."""
    many: str
    path: str
    read: Callable[[Any], Json]
    read_whole: Callable[[Any], Json]
    """Of a thing that was asked for by itself."""
    filters: Mapping[str, str]
    """By the argument's name: the parameter."""
    part: str = ""
    """Of it, asked to come along whole."""


_CREATED = {"customer": "customer", "created_from": "created[gte]", "created_before": "created[lt]"}
CHARGES = Kind(
    one="charge",
    many="charges",
    path="/v1/charges",
    read=read_charge,
    read_whole=read_charge,
    filters={"payment": "payment_intent", **_CREATED},
)
PAYMENTS = Kind(
    one="payment",
    many="payments",
    path="/v1/payment_intents",
    read=read_payment,
    read_whole=read_payment,
    filters=_CREATED,
    part="latest_charge",
)
INVOICES = Kind(
    one="invoice",
    many="invoices",
    path="/v1/invoices",
    read=read_invoice,
    read_whole=read_whole_invoice,
    filters={"status": "status", **_CREATED},
)
CUSTOMERS = Kind(
    one="customer",
    many="customers",
    path="/v1/customers",
    read=read_customer,
    read_whole=read_customer,
    filters={"email": "email"},
)


class Reading:
    """Asks for things of each kind. Raises `AdapterError`."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def one(self, kind: Kind, invocation: Invocation) -> Output:
        """The thing whose id is in the arguments."""
        found, reply = await self.found(kind, invocation, invocation.arguments[kind.one])
        return Output(
            structured=found, receipt=f"Read the {kind.one} {found['id']} from Stripe.", attempts=reply.attempts
        )

    async def found(self, kind: Kind, invocation: Invocation, name: str) -> tuple[Json, Reply]:
        """The thing of this id."""
        call = Call(
            path=path_of(kind.path + "/{}", name),
            query={"expand[]": [kind.part] if kind.part else None},
            headers=acting_for(invocation.target),
        )
        reply = await self._api.ask(invocation, call, limit=f"get_{kind.one}")
        return understood(reply, kind.read_whole), reply

    async def many(self, kind: Kind, invocation: Invocation) -> Output:
        """A page of those that the arguments are about."""
        arguments = invocation.arguments
        operation = f"list_{kind.many}"
        query = {
            **{parameter: arguments[name] for name, parameter in kind.filters.items()},
            "limit": arguments["limit"],
            "starting_after": arguments["page"],
            "expand[]": [f"data.{kind.part}"] if kind.part else None,
        }
        call = Call(path=kind.path, query=query, headers=acting_for(invocation.target))
        reply = await self._api.ask(invocation, call, limit=operation)
        items, more = understood(reply, partial(_page, kind))
        last = items[-1]["id"] if items and more else None
        cursor = cursor_to(None if last == arguments["page"] else last, operation, arguments)
        return Output(
            structured={kind.many: items, "next_cursor": cursor},
            receipt=f"Listed {len(items)} {kind.one if len(items) == 1 else kind.many} from Stripe.",
            attempts=reply.attempts,
        )

    async def balance(self, invocation: Invocation) -> Output:
        """Of the account, in one currency or in all."""
        call = Call(path="/v1/balance", headers=acting_for(invocation.target))
        reply = await self._api.ask(invocation, call, limit="get_balance")
        balance, wanted = understood(reply, read_balance), invocation.arguments["currency"]
        return Output(
            structured={
                name: [one for one in amounts if wanted in (None, one["currency"])] for name, amounts in balance.items()
            },
            receipt="Read the account's balance from Stripe.",
            attempts=reply.attempts,
        )


def _page(kind: Kind, value: Any) -> tuple[list[Json], bool]:
    data, more = read_page(value)
    return [kind.read(one) for one in data], more


def acting_for(target: Target) -> Mapping[str, str]:
    """The header that names the connected account of a connection that has one."""
    account = target.options.get(ACCOUNT)
    return {} if account is None else {"Stripe-Account": str(account)}


def understood(reply: Reply, read: Callable[[Any], T]) -> T:
    """What the answer says. Raises `AdapterError` (malformed): whoever answers so may not be Stripe, so nobody knows
    then whether anything was done.
    """
    try:
        return read(reply.value)
    except Unreadable:
        malformed(reply if reply.happened is Happened.NO else replace(reply, happened=Happened.UNKNOWN))
