"""Amounts for a person."""

import pytest

from adapters.stripe.money import DECIMALS, shown, units


@pytest.mark.parametrize(
    ("amount", "currency", "words"),
    [
        (2000, "usd", "20.00 USD"),
        (5, "eur", "0.05 EUR"),
        (-250, "usd", "-2.50 USD"),
        (0, "usd", "0.00 USD"),
        (500, "jpy", "500 JPY"),
        (5120, "kwd", "5.120 KWD"),
        (500, "isk", "5.00 ISK"),
        (500, "ugx", "5.00 UGX"),
    ],
)
def test_an_amount_has_its_currencys_decimals(amount: int, currency: str, words: str) -> None:
    """Two, none, or three; the special cases of Stripe's have two."""
    assert shown(amount, currency) == words


def test_currencies_without_decimals_are_stripes() -> None:
    """Fifteen without, five with three."""
    decimals = list(DECIMALS.values())
    assert (decimals.count(0), decimals.count(3), len(decimals)) == (15, 5, 20)


@pytest.mark.parametrize(
    ("amount", "currency", "count"), [(2000, "usd", 20), (2050, "usd", 20.5), (500, "jpy", 500), (5124, "kwd", 5.124)]
)
def test_units_are_what_policy_counts(amount: int, currency: str, count: float) -> None:
    """A limit of a thousand dollars is not one of ten."""
    assert units(amount, currency) == count
