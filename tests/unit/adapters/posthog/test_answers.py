"""PostHog's objects as an agent is told of them."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fakes.cases.posthog import EVENT, PERSON, event_row, flag, person

from adapters.posthog import answers

ODD: tuple[Any, ...] = (None, True, -1, 1e308, float("inf"), "x", [], {}, [None], {"id": []})


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from _places(part, (*at, key))


def _with(value: Any, at: tuple[Any, ...], odd: Any) -> Any:
    changed = copy.deepcopy(value)
    node = changed
    for key in at[:-1]:
        node = node[key]
    node[at[-1]] = odd
    return changed


@pytest.mark.parametrize(
    ("read", "good"), [(answers.event, event_row()), (answers.person, person()), (answers.flag, flag())]
)
def test_whatever_is_odd_in_an_object_is_null_and_the_rest_stays(read: Callable[[Any], Any], good: Any) -> None:
    """The same keys come back, or nothing at all when it cannot be told which object it is."""
    keys = read(good).keys()
    for at in _places(good):
        for odd in ODD:
            told = read(_with(good, at, odd))
            assert told is None or told.keys() == keys
    for odd in ODD:
        assert read(odd) is None


def test_an_event_is_told_of_by_its_columns() -> None:
    """What the product told of it before what PostHog added."""
    told = answers.event(event_row())
    assert told is not None
    assert (told["id"], told["event"], told["more_properties"]) == (EVENT, "signed up", 0)
    assert told["properties"] == [{"name": "plan", "value": "team"}, {"name": "$browser", "value": "Firefox"}]
    assert answers.event(event_row()[:4]) is None


def test_a_person_is_told_of_by_its_uuid() -> None:
    """Older servers have a number as its id."""
    told = answers.person(person(id=7))
    assert told is not None
    assert told["id"] == PERSON
    many = answers.person(person(distinct_ids=[f"u{n}" for n in range(30)]))
    assert many is not None
    assert len(many["distinct_ids"]) == 10


def test_a_flag_is_told_of_with_its_variants_and_conditions() -> None:
    """Values as texts."""
    told = answers.flag(flag())
    assert told is not None
    assert (told["id"], told["is_active"], told["variants"][0]["key"]) == (77, True, "control")
    (condition,) = answers.conditions(flag())
    assert condition["rollout_percentage"] == 50
    assert condition["properties"] == [
        {"property": "email", "of": "person", "operator": "exact", "value": '["ann@corp.example"]'}
    ]
    assert answers.conditions({"filters": {"groups": [None, {}]}}) == [
        {"rollout_percentage": None, "variant": None, "properties": []}
    ]


def test_properties_are_bounded_in_number_and_length() -> None:
    """What is left out is counted."""
    told, more = answers.properties({f"p{n:02}": "x" * 2000 for n in range(60)})
    assert (len(told), more) == (50, 10)
    assert all(len(one["value"]) == 500 and one["value"].endswith("…") for one in told)


@pytest.mark.parametrize(("value", "told"), [('{"a": 1}', [{"name": "a", "value": "1"}]), ("{", []), (7, []), ([], [])])
def test_properties_may_come_as_text(value: Any, told: list[Any]) -> None:
    """As PostHog's event store keeps them."""
    assert answers.properties(value) == (told, 0)


@pytest.mark.parametrize("value", [True, "7", None, float("nan"), float("inf"), 2.0**60, []])
def test_what_is_no_number_is_null(value: Any) -> None:
    """Nor is one that JSON does not hold exactly."""
    assert answers.number(value) is None
    assert answers.whole(value) is None


def test_a_number_is_itself() -> None:
    """A whole one too."""
    assert (answers.number(1.5), answers.whole(1.5), answers.whole(3.0)) == (1.5, None, 3)


def test_what_is_nested_beyond_writing_is_said_to_be() -> None:
    """A stranger's event may hold what can be read and not written again; all else in it is told."""
    deep: Any = "x"
    for _ in range(300):
        deep = {"a": deep}
    told, _ = answers.properties({"deep": deep, "plan": "team"})
    assert told == [{"name": "deep", "value": "(nested too deeply to be shown)"}, {"name": "plan", "value": "team"}]
