"""What a call costs: exactly what its row and its prepared arguments say, and no call whose cost cannot be told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.budget.costs import costs_of
from gateway.errors import Reason, Refusal
from gateway.rows import Price

MONEY = Price(unit="EUR", pointers=("/amount/minor",))
PEOPLE = Price(unit="recipients", pointers=("/to", "/cc"))


def _issues(prices: tuple[Price, ...], arguments: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(Refusal) as refused:
        costs_of(prices, arguments)
    assert refused.value.reason is Reason.ARGUMENTS_INVALID
    return [(issue.path, issue.rule) for issue in refused.value.issues]


def test_a_tool_without_prices_costs_nothing() -> None:
    """Whatever it is called with, and its arguments are not looked at."""
    assert costs_of((), {"to": ["a"]}) == {}


@pytest.mark.parametrize(
    ("price", "arguments", "want"),
    [
        (Price(unit="EUR", amount=25), {}, 25),
        (MONEY, {"amount": {"minor": 1999}}, 1999),
        (MONEY, {"amount": {"minor": 0}}, 0),
        (PEOPLE, {"to": ["a", "b"], "cc": ["c"]}, 3),
        (PEOPLE, {"to": ["a", "b"]}, 2),
        (PEOPLE, {"to": []}, 0),
        (Price(unit="rows", pointers=("/limit",)), {"limit": 40}, 40),
        (Price(unit="rows", pointers=("/pages/1/rows",)), {"pages": [{}, {"rows": 7}]}, 7),
        (Price(unit="rows", pointers=("/a~1b~0c",)), {"a/b~c": 5}, 5),
    ],
)
def test_an_amount_is_fixed_or_found_in_the_arguments(price: Price, arguments: dict[str, Any], want: int) -> None:
    """A number counts as itself and a list by its length; what stands at several places is added up."""
    assert costs_of((price,), arguments) == {price.unit: want}


@pytest.mark.parametrize("value", [-1, 1.5, "12", True, None, {}, [1]])
def test_money_is_a_whole_number(value: Any) -> None:
    """Anything else would be counted as one thing and paid as another."""
    assert _issues((MONEY,), {"amount": {"minor": value}}) == [("/amount/minor", "cost")]


@pytest.mark.parametrize("value", [-1, 1.5, "a@b.example", True, None, {}])
def test_a_count_is_a_list_or_a_whole_number(value: Any) -> None:
    """A negative one would give back what others used."""
    assert _issues((PEOPLE,), {"to": ["a"], "cc": value}) == [("/cc", "cost")]


@pytest.mark.parametrize("arguments", [{}, {"amount": {}}, {"amount": 5}, {"amount": ["minor"]}])
def test_what_says_no_amount_anywhere_is_refused(arguments: dict[str, Any]) -> None:
    """A limit would never hold it."""
    assert _issues((MONEY,), arguments) == [("/amount/minor", "required")]


def test_every_issue_is_told_and_no_value() -> None:
    """The agent knows what it sent; whoever reads the line need not."""
    assert _issues((MONEY, PEOPLE), {"to": "secret@corp.example"}) == [("/amount/minor", "required"), ("/to", "cost")]
    with pytest.raises(Refusal) as refused:
        costs_of((PEOPLE,), {"to": "secret@corp.example"})
    assert "secret" not in str(refused.value.issues) + refused.value.message


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists)
    | st.dictionaries(st.text(), st.text())
)
def test_no_argument_gives_a_negative_amount(value: Any) -> None:
    """Or anything but an amount or a refusal."""
    try:
        costs = costs_of((PEOPLE,), {"to": value})
    except Refusal:
        return
    assert costs["recipients"] >= 0
