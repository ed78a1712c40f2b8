"""What agents send to Slack's operations, and the form in which policy, approvers and Slack see it."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from adapters.slack.fields import SlackFields
from adapters.transport.cursors import with_page

PAGE = 20
MAX_PAGE = 100
MAX_TEXT = 4000
"""Characters of a message as it is sent. Slack cuts, or refuses to change, what is longer."""
MAX_USERS = 8
"""Of a direct message: as many as Slack puts into one conversation with the app."""


class PostArguments(TypedDict):
    """What an agent sends to `post_message`."""

    channel: str
    text: str
    mentions: NotRequired[list[str]]


class ReplyArguments(TypedDict):
    """What an agent sends to `reply_in_thread`."""

    channel: str
    thread_ts: str
    text: str
    mentions: NotRequired[list[str]]


class UpdateArguments(TypedDict):
    """What an agent sends to `update_message`."""

    channel: str
    ts: str
    text: str
    mentions: NotRequired[list[str]]


class ChannelsArguments(TypedDict):
    """What an agent sends to `list_channels`."""

    include_private: NotRequired[bool]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class HistoryArguments(TypedDict):
    """What an agent sends to `channel_history`."""

    channel: str
    after: NotRequired[str]
    before: NotRequired[str]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class FindUserArguments(TypedDict):
    """What an agent sends to `find_user_by_mail`."""

    email: str


class OpenArguments(TypedDict):
    """What an agent sends to `open_direct_message`."""

    users: list[str]


def prepare_post(arguments: dict[str, Any]) -> dict[str, Any]:
    """The channel, the text as it is sent, and everybody whom it calls."""
    fields = SlackFields(arguments)
    prepared = {**fields.channel(), **fields.text("text", MAX_TEXT)}
    return fields.checked(prepared)


def prepare_reply(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same, with the thread."""
    fields = SlackFields(arguments)
    prepared = {**fields.channel(), "thread_ts": fields.timestamp("thread_ts"), **fields.text("text", MAX_TEXT)}
    return fields.checked(prepared)


def prepare_update(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same, with the message."""
    fields = SlackFields(arguments)
    prepared = {**fields.channel(), "ts": fields.timestamp("ts"), **fields.text("text", MAX_TEXT)}
    return fields.checked(prepared)


def prepare_channels(arguments: dict[str, Any]) -> dict[str, Any]:
    """Which channels, with every default."""
    fields = SlackFields(arguments)
    prepared = {
        "include_private": bool(arguments.get("include_private")),
        "limit": fields.limit(PAGE, MAX_PAGE),
        "cursor": arguments.get("cursor"),
    }
    return with_page("list_channels", fields.checked(prepared))


def prepare_history(arguments: dict[str, Any]) -> dict[str, Any]:
    """Which messages: the moments in UTC, and as Slack writes them (`oldest`, `latest`)."""
    fields = SlackFields(arguments)
    after, oldest = fields.bound("after")
    before, latest = fields.bound("before")
    prepared = {
        **fields.channel(),
        "after": after,
        "before": before,
        "oldest": oldest,
        "latest": latest,
        "limit": fields.limit(PAGE, MAX_PAGE),
        "cursor": arguments.get("cursor"),
    }
    return with_page("channel_history", fields.checked(prepared))


def prepare_find_user(arguments: dict[str, Any]) -> dict[str, Any]:
    """The address in lower case, and its `domain`."""
    fields = SlackFields(arguments)
    return fields.checked(fields.email())


def prepare_open(arguments: dict[str, Any]) -> dict[str, Any]:
    """The users, each once and in order."""
    fields = SlackFields(arguments)
    given: Sequence[str] = arguments["users"]
    users = sorted({fields.user(f"/users/{index}", user) for index, user in enumerate(given)})
    if not 1 <= len(users) <= MAX_USERS:
        fields.issue("/users", "count", f"`users` must name from 1 to {MAX_USERS} users.")
    return fields.checked({"users": users})
