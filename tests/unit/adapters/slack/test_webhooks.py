"""Slack's deliveries are signed over their time and body, and its greeting is answered when it is signed."""

import json

import pytest
from fakes.deliveries import CHALLENGE, NOW, SLACK, SLACK_GREETING, VENDORS, changed, secrets

from adapters.base import Secret
from adapters.slack.webhooks import SlackWebhooks
from adapters.webhooks import Delivery, DeliveryRefused, Event, Fault, Greeting

VENDOR = VENDORS["slack"]
# The example of Slack's documentation.
EXAMPLE_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
EXAMPLE_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
EXAMPLE_HEADERS = {
    "content-type": "application/x-www-form-urlencoded",
    "x-slack-request-timestamp": "1531420618",
    "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
}


def receive(delivery: Delivery) -> Event | Greeting | None:
    """What comes of a delivery."""
    return SlackWebhooks().receive(delivery, secrets())


def test_the_example_of_slack_is_good_and_no_event() -> None:
    """A slash command comes as a form. One letter of its time changed, and it is forged."""
    delivery = Delivery(headers=EXAMPLE_HEADERS, body=EXAMPLE_BODY, received_at=1531420618.0)
    assert SlackWebhooks().receive(delivery, [Secret(EXAMPLE_SECRET)]) is None
    later = {**EXAMPLE_HEADERS, "x-slack-request-timestamp": "1531420619"}
    with pytest.raises(DeliveryRefused, match="forged"):
        SlackWebhooks().receive(
            Delivery(headers=later, body=EXAMPLE_BODY, received_at=1531420618.0), [Secret(EXAMPLE_SECRET)]
        )


def test_a_greeting_that_is_signed_is_answered() -> None:
    """With the challenge alone, as plain text."""
    assert receive(VENDOR.delivery(SLACK_GREETING)) == Greeting(body=CHALLENGE.encode())


def test_a_greeting_that_is_not_signed_is_not_answered() -> None:
    """Nor is one that is old: nobody learns that somebody is there."""
    with pytest.raises(DeliveryRefused, match="forged"):
        receive(VENDOR.delivery(SLACK_GREETING, secret="another"))
    with pytest.raises(DeliveryRefused, match="stale"):
        receive(VENDOR.delivery(SLACK_GREETING, at=NOW - 301))


@pytest.mark.parametrize("challenge", [None, 5, "", "<script>\n", "x" * 513, "ä"])
def test_a_challenge_that_is_none_is_malformed(challenge: object) -> None:
    """Nothing is said back but a short word."""
    with pytest.raises(DeliveryRefused) as refused:
        receive(VENDOR.delivery(changed(SLACK_GREETING, "challenge", to=challenge)))
    assert refused.value.fault is Fault.MALFORMED


@pytest.mark.parametrize("stamp", ["", "nan", "inf", "1e9", "1780000000.0", " 1780000000", "-1", "9" * 30])
def test_a_time_in_another_form_is_unsigned(stamp: str) -> None:
    """It is whole seconds."""
    delivery = VENDOR.delivery(SLACK["message.posted"], **{"x-slack-request-timestamp": stamp})
    with pytest.raises(DeliveryRefused, match="unsigned"):
        receive(delivery)


def test_another_callback_is_nothing() -> None:
    """That the app is limited, for instance."""
    body = json.dumps({"type": "app_rate_limited", "token": "t", "team_id": "T1"}).encode()
    assert receive(VENDOR.raw(body)) is None
