"""Where deliveries come in."""

from fakes.events import FakeWebhooks, catalogue_of, tracker

from adapters.webhooks import Webhooks
from gateway.events.doors import Door, Doors

WEBHOOKS: dict[str, Webhooks] = {"tracker": FakeWebhooks()}


def test_a_door_is_a_connection_with_a_secret_of_a_vendor_that_delivers() -> None:
    """By tenant and name."""
    silent, other = tracker(name="silent", webhook_secret=""), tracker(name="other", vendor="other")
    doors = Doors(lambda: catalogue_of((), [tracker(), silent, other]), WEBHOOKS)
    assert doors.find("acme", "tracker") == Door(connection=tracker(), webhooks=WEBHOOKS["tracker"])
    nowhere = [("acme", "silent"), ("acme", "other"), ("acme", "none"), ("rival", "tracker"), ("", "")]
    assert [doors.find(*one) for one in nowhere] == [None] * 5


def test_a_registry_that_changed_is_looked_at_again() -> None:
    """A connection that is gone is a door no more."""
    holds = [catalogue_of((), [tracker()])]
    doors = Doors(lambda: holds[-1], WEBHOOKS)
    assert doors.find("acme", "tracker") is not None
    holds.append(catalogue_of())
    assert doors.find("acme", "tracker") is None
    assert doors.in_place_of("acme", "tracker") is None


def test_in_place_of_nothing_stands_always_the_same_door() -> None:
    """Whatever the name is."""
    doors = Doors(lambda: catalogue_of((), [tracker(), tracker(name="second")]), WEBHOOKS)
    found = [doors.in_place_of("acme", f"none-{number}") for number in range(50)]
    assert None not in found
    assert {one.connection.name for one in found if one} == {"tracker", "second"}
    assert found == [doors.in_place_of("acme", f"none-{number}") for number in range(50)]
    assert doors.in_place_of("", "\ud800") is not None
