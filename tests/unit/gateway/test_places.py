"""Each agent has so many places."""

import contextlib

from gateway.places import Places

ANN, BOB = ("acme", "ann"), ("acme", "bob")


def test_one_agent_takes_nobody_elses_places() -> None:
    """And gives its own back, whatever happens in them."""
    places = Places(2)
    with places.one(ANN), places.one(ANN):
        assert (places.has_room(ANN), places.has_room(BOB), places.held) == (False, True, 2)
    with contextlib.suppress(KeyError), places.one(ANN):
        raise KeyError
    assert (places.has_room(ANN), places.held) == (True, 0)


def test_who_holds_none_is_not_remembered() -> None:
    """However many have come and gone."""
    places = Places(1)
    for number in range(100):
        places.has_room(("acme", str(number)))
        with places.one(("acme", str(number))):
            pass
    assert not places._held
