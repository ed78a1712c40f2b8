"""Amounts as Stripe counts them: whole numbers of the smallest unit of a currency, which is not always a hundredth."""

from collections.abc import Mapping

_WITHOUT_DECIMALS = "bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf"
_WITH_THREE = "bhd jod kwd omr tnd"
DECIMALS: Mapping[str, int] = dict.fromkeys(_WITHOUT_DECIMALS.split(), 0) | dict.fromkeys(_WITH_THREE.split(), 3)
"""How many digits stand behind the point where it is not two. Of ISK and UGX there are two at Stripe, always 0."""


def units(amount: int, currency: str) -> int | float:
    """The amount in units of the currency, as policy counts: 20 for 2,000 cents, 20.5 for 2,050."""
    part: int = 10 ** DECIMALS.get(currency, 2)
    return amount / part if amount % part else amount // part


def shown(amount: int, currency: str) -> str:
    """The amount for a person, e.g. `20.00 USD` for 2,000 cents, `500 JPY` for 500 yen."""
    decimals = DECIMALS.get(currency, 2)
    whole, part = divmod(abs(amount), 10**decimals)
    sign = "-" if amount < 0 else ""
    return f"{sign}{whole}{f'.{part:0{decimals}}' if decimals else ''} {currency.upper()}"
