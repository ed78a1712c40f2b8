"""Linear signs the body, with the time of sending in it."""

import json
import math

import pytest
from fakes.deliveries import LINEAR, NOW, VENDORS, Sample, changed, secrets

from adapters.linear.webhooks import LinearWebhooks
from adapters.webhooks import DeliveryRefused, Event, Fault

VENDOR = VENDORS["linear"]
SAMPLE = LINEAR["issue.updated"]


def receive(sample: Sample, at: float = NOW) -> Event | Fault:
    """What comes of a sample that is sent at a moment and received then."""
    try:
        event = LinearWebhooks().receive(VENDOR.delivery(sample, at=at, received_at=at), secrets())
    except DeliveryRefused as refusal:
        return refusal.fault
    assert isinstance(event, Event)
    return event


def test_a_later_attempt_is_the_same_event() -> None:
    """Its body differs by the time of sending alone."""
    first, again = receive(SAMPLE), receive(SAMPLE, at=NOW + 3_600)
    assert isinstance(first, Event)
    assert isinstance(again, Event)
    assert first.id == again.id


def test_another_body_is_another_event() -> None:
    """Wherever it differs, also in what the event does not tell."""
    other = receive(changed(SAMPLE, "data", "subscriberIds", to=[]))
    first = receive(SAMPLE)
    assert isinstance(first, Event)
    assert isinstance(other, Event)
    assert first.id != other.id
    assert first.data == other.data


@pytest.mark.parametrize(
    ("sent_at", "fault"),
    [
        (NOW, Fault.STALE),
        (NOW * 1_000_000, Fault.STALE),
        (0, Fault.STALE),
        (-NOW * 1000, Fault.STALE),
        (1e300, Fault.STALE),
        (str(int(NOW * 1000)), Fault.MALFORMED),
        (None, Fault.MALFORMED),
        (True, Fault.MALFORMED),
        ([], Fault.MALFORMED),
        (math.inf, Fault.MALFORMED),
        (math.nan, Fault.MALFORMED),
    ],
)
def test_a_time_that_is_not_milliseconds_of_now_is_refused(sent_at: object, fault: Fault) -> None:
    """Seconds are not taken for them, and neither is what is no number."""
    body = VENDOR.raw(_body(sent_at))
    with pytest.raises(DeliveryRefused) as refused:
        LinearWebhooks().receive(body, secrets())
    assert refused.value.fault is fault


def test_a_time_with_a_part_of_a_millisecond_is_one() -> None:
    """Numbers are numbers in JSON."""
    assert isinstance(LinearWebhooks().receive(VENDOR.raw(_body(NOW * 1000 + 0.5)), secrets()), Event)


def test_a_body_too_deep_to_be_written_again_is_malformed() -> None:
    """It can be read, and has no name."""
    deep: object = []
    for _ in range(600):
        deep = [deep]
    assert receive(changed(SAMPLE, "data", "subscriberIds", to=deep)) is Fault.MALFORMED


def _body(sent_at: object) -> bytes:
    return json.dumps({**SAMPLE.payload, "webhookTimestamp": sent_at}).encode()
