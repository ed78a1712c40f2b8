"""What an effect leaves behind."""

import re

import pytest

from adapters.calendar.marks import event_id, is_marked, mark


def test_an_event_s_id_is_of_the_letters_that_google_takes() -> None:
    """A to v and digits, from 5 to 1,024 of them; the same for the same effect, another for another."""
    ids = {event_id(f"eff-{number}") for number in range(200)}
    assert len(ids) == 200
    assert all(re.fullmatch(r"[a-v0-9]{5,1024}", one) for one in ids)
    assert event_id("eff-1") == event_id("eff-1")


def test_a_mark_is_recognised() -> None:
    """By its own effect alone."""
    assert is_marked({"id": "x", **mark("eff-1")}, "eff-1")
    assert not is_marked({"id": "x", **mark("eff-1")}, "eff-2")


@pytest.mark.parametrize(
    "event", [None, [], "x", {}, {"extendedProperties": None}, {"extendedProperties": {"private": ["x"]}}]
)
def test_whatever_comes_has_no_mark(event: object) -> None:
    """Never an exception."""
    assert not is_marked(event, "eff-1")


def test_a_mark_does_not_tell_the_effect_s_id() -> None:
    """Whoever may read the event learns nothing of ours."""
    assert "eff-1" not in str(mark("eff-1"))
