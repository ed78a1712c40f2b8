"""Slack's JSON is read as far as it goes; what is essential and missing makes it malformed."""

from typing import Any

import pytest
from fakes.cases.slack import CHANNELS, FOUND, HISTORY, OPENED, POSTED

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.slack import answers
from adapters.transport.replies import Reply


def reply(value: Any) -> Reply:
    """An answer to a write with 200."""
    return Reply(status=200, headers={}, value=value, happened=Happened.YES)


def test_a_message_is_named_by_channel_and_timestamp() -> None:
    """And by nothing that somebody wrote."""
    assert answers.posted(reply(POSTED)) == {"channel": "C0FA2M81QXR", "ts": "1767225600.000300"}


@pytest.mark.parametrize("value", [{"ok": True}, {"ok": True, "channel": "C1"}, {"ok": True, "channel": [], "ts": 1}])
def test_a_post_without_a_name_was_made_all_the_same(value: Any) -> None:
    """It is malformed, and happened."""
    with pytest.raises(AdapterError) as caught:
        answers.posted(reply(value))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.YES)


def test_a_channel_has_every_property_whatever_slack_leaves_out() -> None:
    """Null, or false."""
    first, second = answers.channels(reply(CHANNELS))
    assert first == {
        "id": "C0FA2M81QXR",
        "name": "incidents",
        "topic": "What is on fire",
        "purpose": None,
        "is_private": False,
        "is_member": True,
        "members": 12,
    }
    assert (second["id"], second["topic"], second["members"]) == ("C0FB11K2PLS", None, None)


def test_messages_come_as_slack_wrote_them() -> None:
    """With their moment in UTC, and without what is not read here."""
    first, second = answers.messages(reply(HISTORY))
    assert first == {
        "ts": "1767225500.000200",
        "sent_at": "2025-12-31T23:58:20Z",
        "user": "U0B7K2L9QPN",
        "bot": None,
        "text": "Is it &lt;down&gt;, <@U0C3D81NNWA>?",
        "thread_ts": None,
        "replies": 0,
        "files": 0,
        "is_edited": False,
    }
    assert (second["bot"], second["replies"], second["files"], second["is_edited"]) == ("B0F7DL2K1", 2, 1, True)


def test_items_that_are_none_are_left_out() -> None:
    """One odd item does not cost the others."""
    odd = [None, "x", {}, {"ts": 7}, {"ts": "1.2", "text": None, "reply_count": True, "files": "no", "edited": 1}]
    (one,) = answers.messages(reply({"messages": odd}))
    assert (one["text"], one["replies"], one["files"], one["is_edited"]) == ("", 0, 0, False)
    assert answers.messages(reply({"messages": [{"ts": "x" * 400}]}))[0]["sent_at"] is None
    assert answers.channels(reply({"channels": [{"id": ""}, {"id": "C1", "topic": "x", "num_members": True}]})) == [
        {
            "id": "C1",
            "name": None,
            "topic": None,
            "purpose": None,
            "is_private": False,
            "is_member": False,
            "members": None,
        }
    ]


@pytest.mark.parametrize("value", [{}, {"messages": None}, {"messages": {}}])
def test_a_list_that_is_none_is_malformed(value: Any) -> None:
    """It is not taken for an empty one."""
    with pytest.raises(AdapterError) as caught:
        answers.messages(reply(value))
    assert caught.value.kind is ErrorKind.MALFORMED


def test_a_user_is_told_without_mail_address_and_picture() -> None:
    """What an agent needs to mention somebody, and to know when the person works."""
    assert answers.user(reply(FOUND)) == {
        "id": "U0B7K2L9QPN",
        "name": "ann",
        "real_name": "Ann Example",
        "title": "On call",
        "time_zone": "Europe/Berlin",
        "is_bot": False,
        "is_active": True,
    }


@pytest.mark.parametrize("value", [{}, {"user": None}, {"user": {"name": "ann"}}])
def test_a_user_without_an_id_is_malformed(value: Any) -> None:
    """There is nothing to do with one."""
    with pytest.raises(AdapterError):
        answers.user(reply(value))


def test_a_direct_message_has_an_id() -> None:
    """And was open, or was not."""
    assert answers.opened(reply(OPENED)) == {"channel": "D069C7QFK11", "was_open": True}
    assert answers.opened(reply({"channel": {"id": "D1"}})) == {"channel": "D1", "was_open": False}
    with pytest.raises(AdapterError):
        answers.opened(reply({"channel": "D1"}))


@pytest.mark.parametrize(
    ("value", "page"),
    [
        (CHANNELS, "dGVhbTpDMDYxRkE1UEI="),
        ({"response_metadata": {"next_cursor": ""}}, None),
        ({"response_metadata": []}, None),
        ({"response_metadata": {"next_cursor": "x" * 900}}, "x" * 900),
        ({}, None),
    ],
)
def test_the_next_page_is_what_slack_calls_it(value: Any, page: str | None) -> None:
    """An empty name is the end."""
    assert answers.next_page(reply(value)) == page
