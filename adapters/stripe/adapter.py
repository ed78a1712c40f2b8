"""Stripe: payments and customers to look at, and refunds."""

import re
from collections.abc import Mapping
from functools import partial

from adapters.base import Operation, Target
from adapters.stripe import arguments as said
from adapters.stripe.failures import judge
from adapters.stripe.limits import pauses
from adapters.stripe.reading import ACCOUNT, CHARGES, CUSTOMERS, INVOICES, PAYMENTS, Reading
from adapters.stripe.refunds import Refunds
from adapters.stripe.webhooks import StripeWebhooks
from adapters.transport.api import ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Bearer
from adapters.transport.operations import changing, reading

VERSION = "2025-09-30.clover"
"""Of Stripe's API: what an account's owner sets does not change what its answers look like here."""
_ACCOUNT = re.compile(r"acct_[A-Za-z0-9]{1,64}")


class StripeAdapter(ApiAdapter):
    """The credential is a secret key, or better a restricted one that may read charges, payment intents, invoices,
    customers and the balance, and write refunds. The option `account` names a connected account to act for.
    """

    name = "stripe"
    webhooks = StripeWebhooks()

    def __init__(self, parts: ApiParts) -> None:
        vendor = Vendor(
            base_url="https://api.stripe.com",
            authorises=Bearer(),
            judge=judge,
            pauses=pauses,
            headers={"Stripe-Version": VERSION},
        )
        super().__init__(vendor, parts, options=(ACCOUNT,))
        look = Reading(self.api)
        operations = [*_readings(look), _refund(Refunds(self.api, look, parts.clock))]
        self.operations: Mapping[str, Operation] = {one.name: one for one in operations}

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection; empty when all is well."""
        problems = super().check_target(target)
        account = target.options.get(ACCOUNT)
        if account is not None and not (isinstance(account, str) and _ACCOUNT.fullmatch(account)):
            problems.append("options: account must be the id of a connected account, such as acct_1032D82eZvKYlo2C")
        return problems


def _readings(look: Reading) -> list[Operation]:
    one, many = look.one, look.many
    return [
        reading("list_charges", said.ListCharges, said.prepare_list_charges, partial(many, CHARGES)),
        reading("get_charge", said.GetCharge, said.prepare_get_charge, partial(one, CHARGES)),
        reading("list_payments", said.ListPayments, said.prepare_list_payments, partial(many, PAYMENTS)),
        reading("get_payment", said.GetPayment, said.prepare_get_payment, partial(one, PAYMENTS)),
        reading("list_invoices", said.ListInvoices, said.prepare_list_invoices, partial(many, INVOICES)),
        reading("get_invoice", said.GetInvoice, said.prepare_get_invoice, partial(one, INVOICES)),
        reading("list_customers", said.ListCustomers, said.prepare_list_customers, partial(many, CUSTOMERS)),
        reading("get_customer", said.GetCustomer, said.prepare_get_customer, partial(one, CUSTOMERS)),
        reading("get_balance", said.GetBalance, said.prepare_get_balance, look.balance),
    ]


def _refund(refunds: Refunds) -> Operation:
    return changing(
        "create_refund",
        said.CreateRefund,
        said.prepare_create_refund,
        refunds.create,
        refunds.reconcile,
        preview=refunds.preview,
        has_native_key=True,
    )
