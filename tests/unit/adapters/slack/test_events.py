"""Slack's events tell who said what where."""

import pytest
from fakes.deliveries import SLACK, changed

from adapters.slack.events import read_event
from adapters.webhooks import DeliveryRefused, Event


def told(kind: str) -> Event:
    """The event of a kind."""
    event = read_event(SLACK[kind].payload)
    assert event is not None
    return event


def test_a_message_is_told_without_blocks_and_addresses() -> None:
    """Its files by name."""
    event = told("message.posted")
    assert (event.id, event.kind, event.subject) == ("Ev0123456789", "message.posted", "C0123456789")
    assert event.occurred_at == pytest.approx(1779999999.0002)
    assert event.data == {
        "team": "T0123456789",
        "channel": "C0123456789",
        "channel_type": "channel",
        "ts": "1779999999.000200",
        "thread_ts": "1779999000.000100",
        "user": "U0123456789",
        "bot": None,
        "app": None,
        "text": "The checkout is down again <@U0BOT>",
        "files": ["trace.txt"],
        "cut": [],
    }


def test_an_edited_message_is_told_as_it_is_now() -> None:
    """By its own timestamp, not by that of the change."""
    data = told("message.edited").data
    assert (data["ts"], data["text"]) == ("1779999999.000200", "The checkout is up again")


def test_a_message_whose_text_stays_was_not_edited() -> None:
    """A link was unfurled, or its thread got an answer."""
    sample = SLACK["message.edited"]
    text = sample.payload["event"]["previous_message"]["text"]
    assert read_event(changed(sample, "event", "message", "text", to=text).payload) is None


def test_a_deleted_message_is_told_as_it_was() -> None:
    """By the timestamp that it had."""
    data = told("message.deleted").data
    assert (data["ts"], data["text"]) == ("1779999999.000200", "The checkout is down again <@U0BOT>")


@pytest.mark.parametrize("subtype", ["channel_join", "channel_topic", "reminder_add", "message_replied"])
def test_a_message_that_nobody_wrote_is_nothing(subtype: str) -> None:
    """It tells of something that has its own event, or of nothing much."""
    assert read_event(changed(SLACK["message.posted"], "event", "subtype", to=subtype).payload) is None


@pytest.mark.parametrize("subtype", ["bot_message", "file_share", "thread_broadcast", "me_message"])
def test_a_message_of_a_bot_or_with_a_file_is_one(subtype: str) -> None:
    """Whoever wrote it."""
    event = read_event(changed(SLACK["message.posted"], "event", "subtype", to=subtype).payload)
    assert event is not None
    assert event.kind == "message.posted"


def test_a_reaction_is_to_a_message() -> None:
    """To anything else it is nothing."""
    assert told("reaction.added").data == {
        "team": "T0123456789",
        "channel": "C0123456789",
        "ts": "1779999000.000100",
        "user": "U0123456789",
        "author": "U0987654321",
        "reaction": "eyes",
        "cut": [],
    }
    assert read_event(changed(SLACK["reaction.added"], "event", "item", "type", to="file").payload) is None


def test_a_channel_comes_as_an_object_or_as_its_id() -> None:
    """Both are told by the same keys."""
    created, deleted = told("channel.created").data, told("channel.deleted").data
    assert (created["channel"], created["name"], created["user"]) == ("C0123456789", "incidents", "U0123456789")
    assert (deleted["channel"], deleted["name"], deleted["user"]) == ("C0123456789", None, "U0123456789")


def test_a_user_who_joined_is_told_without_the_mail_address() -> None:
    """And is what it happened to."""
    event = told("user.joined")
    assert event.subject == "U0123456789"
    assert event.data == {
        "team": "T0123456789",
        "user": "U0123456789",
        "name": "ann",
        "real_name": "Ann Example",
        "is_bot": False,
        "cut": [],
    }


@pytest.mark.parametrize("way", [("event", "channel"), ("event", "ts"), ("event_id",), ("event",)])
@pytest.mark.parametrize("value", [None, "", "C1/../x", "\0", 5])
def test_without_what_names_it_an_event_is_malformed(way: tuple[str, ...], value: object) -> None:
    """The channel, the message, the event's id, the event."""
    with pytest.raises(DeliveryRefused):
        read_event(changed(SLACK["message.posted"], *way, to=value).payload)


def test_without_its_type_an_event_is_malformed() -> None:
    """An unknown one makes it nothing."""
    for value in (None, "", 5, [], {}):
        with pytest.raises(DeliveryRefused):
            read_event(changed(SLACK["message.posted"], "event", "type", to=value).payload)
    assert read_event(changed(SLACK["message.posted"], "event", "type", to="app_home_opened").payload) is None
