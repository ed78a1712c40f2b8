"""What one call costs, from its tool's row and its prepared arguments. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from adapters.base import ArgumentIssue
from gateway.errors import Reason, Refusal
from gateway.rows import Price

_NOTHING: Mapping[str, int] = {}
_ABSENT = object()


def costs_of(prices: Iterable[Price], arguments: Mapping[str, Any]) -> Mapping[str, int]:
    """By unit, money in minor units. Empty when the tool costs nothing beside the call.

    Raises `Refusal(arguments_invalid)` with an issue for each place that says no amount: what cannot be counted
    would pass every limit.
    """
    if not prices:
        return _NOTHING
    issues: list[ArgumentIssue] = []
    costs = {price.unit: _amount(price, arguments, issues) for price in prices}
    if issues:
        raise Refusal(Reason.ARGUMENTS_INVALID, "What this call would cost cannot be told.", issues=tuple(issues))
    return costs


def _amount(price: Price, arguments: Mapping[str, Any], issues: list[ArgumentIssue]) -> int:
    if not price.pointers:
        return price.amount
    found = [(pointer, _at(arguments, pointer)) for pointer in price.pointers]
    there = [(pointer, value) for pointer, value in found if value is not _ABSENT]
    if not there:
        issues.append(_issue(price.pointers[0], "required", f"says how much {price.unit} the call takes"))
    return sum(_counted(price, pointer, value, issues) for pointer, value in there)


def _counted(price: Price, pointer: str, value: Any, issues: list[ArgumentIssue]) -> int:
    if isinstance(value, list) and not price.is_money:
        return len(value)
    if type(value) is int and value >= 0:
        return value
    kinds = "a whole number of minor units" if price.is_money else "a list or a whole number"
    issues.append(_issue(pointer, "cost", f"must be {kinds}, 0 or more: it says how much {price.unit} the call takes"))
    return 0


def _issue(pointer: str, rule: str, message: str) -> ArgumentIssue:
    return ArgumentIssue(path=pointer, rule=rule, message=f"`{pointer}` {message}.")


def _at(value: Any, pointer: str) -> Any:
    """What the pointer leads to."""
    for segment in pointer.split("/")[1:]:
        name = segment.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(name, _ABSENT)
        elif isinstance(value, list) and name.isascii() and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return _ABSENT
    return value
