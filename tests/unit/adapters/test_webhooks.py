"""What is handed over of a delivery is never printed."""

from adapters.webhooks import Delivery, DeliveryRefused, Event, Fault, Greeting


def test_nothing_that_a_stranger_wrote_is_printed() -> None:
    """Bodies, headers and data are private."""
    delivery = Delivery(headers={"x": "seen"}, body=b"seen", received_at=1.0)
    event = Event(id="e", kind="issue.opened", occurred_at=None, subject="s", data={"text": "seen"})
    assert "seen" not in f"{delivery} {event} {Greeting(body=b'seen')}"


def test_a_refusal_says_its_fault_alone() -> None:
    """For our own log; its sender learns nothing."""
    assert str(DeliveryRefused(Fault.STALE)) == "stale"
    assert DeliveryRefused(Fault.STALE).fault is Fault.STALE
