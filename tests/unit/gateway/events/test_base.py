"""What every event is known to be."""

from fakes.events import told

from gateway.events.base import LABELS


def test_an_event_is_a_strangers_text_of_a_private_account() -> None:
    """In the words that a result's labels have; and no log of it shows any of that text."""
    assert told().labels == LABELS == ("untrusted", "private")
    assert "broken" not in repr(told())
    assert "shop" not in repr(told())
