"""Metrics of events: every way in which a delivery ends has a value of its own."""

from adapters.webhooks import Fault
from gateway.metrics.counts import Metrics
from gateway.metrics.events import DELIVERIES, EVENTS_SENT, Received


def test_every_fault_of_a_delivery_is_a_result() -> None:
    """In the same word, so that one can be counted as the other."""
    assert {fault.value for fault in Fault} <= {result.value for result in Received}


def test_each_result_is_counted_from_zero() -> None:
    """So that the first one is an increase."""
    metrics = Metrics()
    metrics.delivered(Received.KEPT)
    metrics.event_sent()
    read = dict(metrics.read())
    assert dict(read[DELIVERIES]) == {(str(result),): int(result is Received.KEPT) for result in Received}
    assert list(read[EVENTS_SENT]) == [((), 1)]
