"""Stripe as the gateway has it."""

from importlib.resources import files

import pytest
import yaml
from fakes.cases.stripe import BALANCE, REFUND
from fakes.vendor import CREDENTIAL, Said, desk, vendor_server

from adapters.base import SideEffect, Target
from adapters.installed import build_adapters
from adapters.stripe.adapter import VERSION
from gateway.budget.costs import costs_of
from gateway.clock import SystemClock
from gateway.errors import Refusal
from gateway.rows import Price

OPERATIONS = build_adapters(SystemClock())["stripe"].operations


def test_only_a_refund_changes_anything() -> None:
    """It may be repeated by its key, can be looked for, and shows beforehand what it would do."""
    assert [name for name, one in OPERATIONS.items() if one.side_effect is not SideEffect.READ] == ["create_refund"]
    refund = OPERATIONS["create_refund"]
    assert refund.has_native_key
    assert refund.reconcile is not None
    assert refund.preview is not None
    assert all(one.needs_credential for one in OPERATIONS.values())


async def test_every_request_names_the_version_and_proves_who_asks() -> None:
    """What the owner of an account sets there does not change the answers."""
    async with vendor_server(Said(BALANCE)) as server, desk(server) as stripe:
        await stripe.ask("stripe", "get_balance", {})
    (asked,) = server.asked
    assert asked.headers["Stripe-Version"] == VERSION
    assert asked.headers["Authorization"] == f"Bearer {CREDENTIAL}"
    assert CREDENTIAL not in asked.path + str(asked.query)


@pytest.mark.parametrize(
    ("options", "problems"),
    [
        ({}, 0),
        ({"account": "acct_1032D82eZvKYlo2C"}, 0),
        ({"account": "cus_1"}, 1),
        ({"account": "acct_1\r\nX: y"}, 1),
        ({"account": 7}, 1),
        ({"key": "sk_live"}, 1),
    ],
)
def test_a_connection_names_an_account_or_none(options: dict[str, object], problems: int) -> None:
    """And nothing else but where Stripe is."""
    target = Target(name="t", hosts=("api.stripe.com",), options=options)
    assert len(build_adapters(SystemClock())["stripe"].check_target(target)) == problems


def test_the_ready_made_refund_costs_what_it_gives_back_in_its_own_money_alone() -> None:
    """A budget in dollars is not spent in yen: where the amount should be there is none, and the call is refused."""
    rows = yaml.safe_load(files("adapters.stripe").joinpath("tools.yaml").read_text("utf-8"))["tools"]
    (row,) = (row for row in rows if row["name"] == "stripe_create_refund")
    money = row["cost"]["money"]
    prices = [Price(unit=money["currency"], pointers=(money["path"],))]
    prepare = OPERATIONS["create_refund"].prepare
    assert costs_of(prices, prepare(dict(REFUND))) == {"USD": 2000}
    with pytest.raises(Refusal):
        costs_of(prices, prepare({**REFUND, "currency": "jpy"}))
