"""GitHub signs the body alone: nothing that a header says changes what an event is."""

import json

import pytest
from fakes.deliveries import GITHUB, GITHUB_PING, VENDORS, Sample, changed, secrets

from adapters.base import Secret
from adapters.github.events import PARTS
from adapters.github.webhooks import GitHubWebhooks
from adapters.webhooks import Delivery, DeliveryRefused, Event, Fault, Greeting

VENDOR = VENDORS["github"]


def receive(sample: Sample, **headers: str) -> Event | Greeting | None:
    """What comes of a sample with other headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return GitHubWebhooks().receive(VENDOR.delivery(sample, **named), secrets())


def test_the_example_of_github_is_signed_and_no_event() -> None:
    """Of the documentation: what is signed there is no JSON."""
    signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    delivery = Delivery(headers={"x-hub-signature-256": signature}, body=b"Hello, World!", received_at=0.0)
    with pytest.raises(DeliveryRefused) as refused:
        GitHubWebhooks().receive(delivery, [Secret("It's a Secret to Everybody")])
    assert refused.value.fault is Fault.MALFORMED


def test_a_ping_is_nothing() -> None:
    """It asks whether anybody is there, and the answer to every delivery says so."""
    assert receive(GITHUB_PING) is None


def test_the_old_signature_counts_for_nothing() -> None:
    """SHA-1 is not looked at."""
    delivery = VENDOR.delivery(GITHUB["push"])
    only = {"x-github-event": "push", "x-hub-signature": "sha1=" + "0" * 40}
    with pytest.raises(DeliveryRefused, match="unsigned"):
        GitHubWebhooks().receive(Delivery(headers=only, body=delivery.body, received_at=0.0), secrets())


def test_another_delivery_id_is_the_same_event() -> None:
    """Whoever repeats a body can choose the header, and not the id."""
    first, again = (receive(GITHUB["issue.opened"], x_github_delivery=one) for one in ("a", "b"))
    assert isinstance(first, Event)
    assert isinstance(again, Event)
    assert first.id == again.id


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind, one in GITHUB.items() for name in PARTS if one.headers["x-github-event"] != name],
)
def test_a_body_is_no_other_event_than_it_is(kind: str, name: str) -> None:
    """Whoever repeats a body can choose what the header calls it, and gets nothing by it."""
    with pytest.raises(DeliveryRefused) as refused:
        receive(GITHUB[kind], x_github_event=name)
    assert refused.value.fault is Fault.MALFORMED


@pytest.mark.parametrize("part", ["comment", "review", "deployment_status", "check_suite", "discussion", "thread"])
def test_a_body_with_another_thing_beside_is_malformed(part: str) -> None:
    """It is of an event that is not known, or not the one that the header says."""
    with pytest.raises(DeliveryRefused):
        receive(changed(GITHUB["check_run.completed"], part, to={}))


def test_without_a_name_a_body_is_malformed() -> None:
    """An unknown name makes it nothing."""
    with pytest.raises(DeliveryRefused):
        receive(GITHUB["push"], x_github_event="")
    assert receive(GITHUB["push"], x_github_event="star") is None
    assert receive(GITHUB["push"], x_github_event="PUSH") is None


@pytest.mark.parametrize("action", [None, 5, "", [], {}])
def test_an_action_that_is_none_is_malformed(action: object) -> None:
    """An unknown one makes it nothing."""
    with pytest.raises(DeliveryRefused):
        receive(changed(GITHUB["issue.opened"], "action", to=action))
    assert receive(changed(GITHUB["issue.opened"], "action", to="pinned")) is None


def test_a_closed_pull_request_may_have_been_merged() -> None:
    """Which is another kind."""
    for merged, kind in (
        (True, "pull_request.merged"),
        (False, "pull_request.closed"),
        ("true", "pull_request.closed"),
    ):
        event = receive(changed(GITHUB["pull_request.closed"], "pull_request", "merged", to=merged))
        assert isinstance(event, Event)
        assert event.kind == kind


def test_a_form_is_malformed() -> None:
    """The webhook has to be set to send JSON."""
    body = b"payload=" + json.dumps(GITHUB["push"].payload).encode()
    delivery = VENDOR.raw(body, {"x-github-event": "push", "content-type": "application/x-www-form-urlencoded"})
    with pytest.raises(DeliveryRefused, match="malformed"):
        GitHubWebhooks().receive(delivery, secrets())
