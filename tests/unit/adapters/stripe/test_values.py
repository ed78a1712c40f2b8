"""Values that are what they should be, and what comes of those that are not."""

from typing import Any

import pytest

from adapters.stripe.values import (
    Unreadable,
    currency_of,
    flag,
    id_of,
    identifier,
    moment,
    money_of,
    object_of,
    text,
    whole,
)

WRONG: tuple[Any, ...] = (None, True, 7.5, [], {}, ["x"])


def test_an_id_is_of_the_thing_or_in_it() -> None:
    """Whether it was asked to come along or not."""
    assert identifier("ch_1") == "ch_1"
    assert identifier({"id": "ch_1", "object": "charge"}) == "ch_1"


@pytest.mark.parametrize("value", [*WRONG, "", "ch 1", "../x", "x" * 256, "ch_1\n", {"id": 7}])
def test_what_is_no_id_is_none(value: Any) -> None:
    """Or an object that cannot be used, where it must have one."""
    assert identifier(value) is None
    with pytest.raises(Unreadable):
        id_of({"id": value})


def test_a_text_is_cut() -> None:
    """At 1,000 characters; anything else is none."""
    assert text("x" * 2000) == "x" * 1000
    assert [text(value) for value in WRONG] == [None] * len(WRONG)


def test_a_number_is_whole_and_no_truth() -> None:
    """And one that JSON can carry."""
    assert (whole(7), whole(-7), whole(0)) == (7, -7, 0)
    assert [whole(value) for value in (*WRONG, "7", 2**53)] == [None] * (len(WRONG) + 2)


def test_a_truth_is_one() -> None:
    """And no number."""
    assert (flag(True), flag(False), flag(1), flag("true"), flag(None)) == (True, False, None, None, None)


def test_a_moment_is_in_utc() -> None:
    """And one that has a year of four digits."""
    assert moment(1_767_225_600) == "2026-01-01T00:00:00Z"
    assert [moment(value) for value in (-1, 10**12, "1767225600", None, True)] == [None] * 5


def test_an_object_is_of_its_kind() -> None:
    """One that does not say its kind is taken for it."""
    assert object_of({"object": "charge"}, "charge") == {"object": "charge"}
    assert object_of({"id": "ch_1"}, "charge") == {"id": "ch_1"}
    for value in ({"object": "refund"}, {"object": None}, "charge", None, []):
        with pytest.raises(Unreadable):
            object_of(value, "charge")


def test_money_is_an_amount_and_a_currency() -> None:
    """Both, or the object cannot be used."""
    assert money_of({"amount": 5, "currency": "usd", "x": 1}) == {"amount": 5, "currency": "usd"}
    for value in ({"amount": 5}, {"currency": "usd"}, {"amount": "5", "currency": "usd"}):
        with pytest.raises(Unreadable):
            money_of(value)


@pytest.mark.parametrize("value", ["USD", "us", "usdx", 7, None, "us\n"])
def test_a_currency_is_three_small_letters(value: Any) -> None:
    """Stripe writes no other."""
    assert currency_of({"currency": "usd"}) == "usd"
    with pytest.raises(Unreadable):
        currency_of({"currency": value})
