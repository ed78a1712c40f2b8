"""Sentry signs the body alone: nothing that a header says changes what an event is."""

import pytest
from fakes.deliveries import NOW, SENTRY, VENDORS, Sample, changed, secrets

from adapters.sentry.events import PARTS
from adapters.sentry.webhooks import SentryWebhooks
from adapters.webhooks import DeliveryRefused, Event, Fault, Greeting

VENDOR = VENDORS["sentry"]


def receive(sample: Sample, at: float = NOW, **headers: str) -> Event | Greeting | None:
    """What comes of a sample with other headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return SentryWebhooks().receive(VENDOR.delivery(sample, at=at, **named), secrets())


def test_other_headers_are_the_same_event() -> None:
    """The time and the request's id are not signed: whoever repeats a body can choose them, and not the id."""
    first = receive(SENTRY["issue.created"])
    again = receive(SENTRY["issue.created"], sentry_hook_timestamp="0", request_id="another")
    assert isinstance(first, Event)
    assert isinstance(again, Event)
    assert first == again


@pytest.mark.parametrize(
    ("kind", "resource"),
    [(kind, name) for kind, one in SENTRY.items() for name in PARTS if one.headers["sentry-hook-resource"] != name],
)
def test_a_body_is_no_other_resource_than_it_is(kind: str, resource: str) -> None:
    """Whoever repeats a body can choose what the header calls it, and gets nothing by it."""
    with pytest.raises(DeliveryRefused) as refused:
        receive(SENTRY[kind], sentry_hook_resource=resource)
    assert refused.value.fault is Fault.MALFORMED


def test_an_alert_about_an_activity_is_no_issue() -> None:
    """It has an issue, and something else beside it."""
    sample = changed(SENTRY["issue.created"], "data", "activity", to={"type": "seer_pr_created"})
    with pytest.raises(DeliveryRefused):
        receive(sample)
    assert receive(sample, sentry_hook_resource="activity_alert") is None


def test_an_installation_is_nothing() -> None:
    """Its body has a code that is as good as a credential."""
    body = {"action": "created", "data": {"installation": {"uuid": "u", "code": "a-code"}}}
    sample = Sample(payload=body, subject="", headers={"sentry-hook-resource": "installation"})
    assert receive(sample) is None
    with pytest.raises(DeliveryRefused):
        receive(sample, sentry_hook_resource="issue")


def test_without_a_resource_or_an_action_a_body_is_malformed() -> None:
    """Unknown ones make it nothing."""
    with pytest.raises(DeliveryRefused):
        receive(SENTRY["issue.created"], sentry_hook_resource="")
    with pytest.raises(DeliveryRefused):
        receive(changed(SENTRY["issue.created"], "action", to=None))
    assert receive(SENTRY["issue.created"], sentry_hook_resource="seer") is None
    assert receive(changed(SENTRY["issue.created"], "action", to="seen")) is None


def test_an_issue_that_is_ignored_is_archived() -> None:
    """As it was called before."""
    event = receive(changed(SENTRY["issue.archived"], "action", to="ignored"))
    assert isinstance(event, Event)
    assert event.kind == "issue.archived"
