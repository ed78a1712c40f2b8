"""Slack's events, read by an allow-list: no token, no block, no profile."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from adapters.transport.events import event_of, flag, known, malformed, matching, moment, text, texts
from adapters.transport.values import mapping, part, word
from adapters.webhooks import Event

Json = dict[str, Any]
Read = Callable[[Mapping[str, Any]], "tuple[str, Json] | None"]
"""What happened and its data, whose `channel`, or else `user`, is what it happened to."""

_ID = re.compile(r"[A-Z][A-Z0-9]{1,31}")
_TS = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_EVENT_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_POSTED = frozenset({"", "bot_message", "file_share", "me_message", "thread_broadcast"})
"""Subtypes of messages that somebody wrote. The others tell of joins, of topics, and of what has its own event."""


def read_event(body: Mapping[str, Any]) -> Event | None:
    """The event of a callback; None for one of another kind. Raises `DeliveryRefused` (malformed)."""
    event = part(body, "event")
    read = _READS.get(word(event, "type"))
    found = None if read is None else read(event)
    if found is None:
        if not word(event, "type"):
            raise malformed()
        return None
    kind, data = found
    return event_of(
        id=matching(body.get("event_id"), _EVENT_ID),
        kind=kind,
        occurred_at=moment(event.get("event_ts")) or moment(body.get("event_time")),
        subject=data.get("channel") or data["user"],
        data={"team": known(body.get("team_id"), _ID), **data},
    )


def _message(event: Mapping[str, Any]) -> tuple[str, Json] | None:
    match word(event, "subtype"):
        case "message_changed":
            now, before = part(event, "message"), part(event, "previous_message")
            # An unfurled link, or a new answer in the thread, changes a message too.
            return None if now.get("text") == before.get("text") else ("message.edited", _told(event, now))
        case "message_deleted":
            gone = {**part(event, "previous_message"), "ts": event.get("deleted_ts")}
            return "message.deleted", _told(event, gone)
        case subtype if subtype in _POSTED:
            return "message.posted", _told(event, event)
    return None


def _mention(event: Mapping[str, Any]) -> tuple[str, Json]:
    return "app.mentioned", _told(event, event)


def _told(event: Mapping[str, Any], message: Mapping[str, Any]) -> Json:
    return {
        "channel": matching(event.get("channel"), _ID),
        "channel_type": text(event.get("channel_type")),
        "ts": matching(message.get("ts"), _TS),
        "thread_ts": known(message.get("thread_ts"), _TS),
        "user": known(message.get("user"), _ID),
        "bot": known(message.get("bot_id"), _ID),
        "app": known(message.get("app_id"), _ID),
        "text": text(message.get("text")),
        "files": texts(message.get("files"), "name"),
    }


def _reaction(kind: str) -> Read:
    def read(event: Mapping[str, Any]) -> tuple[str, Json] | None:
        item = part(event, "item")
        if word(item, "type") != "message":
            return None
        return kind, {
            "channel": matching(item.get("channel"), _ID),
            "ts": matching(item.get("ts"), _TS),
            "user": known(event.get("user"), _ID),
            "author": known(event.get("item_user"), _ID),
            "reaction": text(event.get("reaction")),
        }

    return read


def _channel(kind: str) -> Read:
    """The channel comes as an object, or as its id alone."""

    def read(event: Mapping[str, Any]) -> tuple[str, Json]:
        channel = event.get("channel")
        whole = mapping(channel)
        return kind, {
            "channel": matching(whole.get("id") if whole else channel, _ID),
            "name": text(whole.get("name")),
            "user": known(whole.get("creator") or event.get("user") or event.get("actor_id"), _ID),
        }

    return read


def _member(kind: str) -> Read:
    def read(event: Mapping[str, Any]) -> tuple[str, Json]:
        return kind, {
            "channel": matching(event.get("channel"), _ID),
            "user": matching(event.get("user"), _ID),
            "inviter": known(event.get("inviter"), _ID),
        }

    return read


def _file(event: Mapping[str, Any]) -> tuple[str, Json]:
    return "file.shared", {
        "channel": matching(event.get("channel_id"), _ID),
        "user": known(event.get("user_id"), _ID),
        "file": matching(event.get("file_id"), _ID),
    }


def _joined(event: Mapping[str, Any]) -> tuple[str, Json]:
    user = part(event, "user")
    return "user.joined", {
        "user": matching(user.get("id"), _ID),
        "name": text(user.get("name")),
        "real_name": text(user.get("real_name")),
        "is_bot": flag(user.get("is_bot")),
    }


_READS: Mapping[str, Read] = {
    "message": _message,
    "app_mention": _mention,
    "reaction_added": _reaction("reaction.added"),
    "reaction_removed": _reaction("reaction.removed"),
    "channel_created": _channel("channel.created"),
    "channel_rename": _channel("channel.renamed"),
    "channel_archive": _channel("channel.archived"),
    "channel_unarchive": _channel("channel.unarchived"),
    "channel_deleted": _channel("channel.deleted"),
    "member_joined_channel": _member("member.joined"),
    "member_left_channel": _member("member.left"),
    "file_shared": _file,
    "team_join": _joined,
}
KINDS = (
    "app.mentioned",
    "channel.archived",
    "channel.created",
    "channel.deleted",
    "channel.renamed",
    "channel.unarchived",
    "file.shared",
    "member.joined",
    "member.left",
    "message.deleted",
    "message.edited",
    "message.posted",
    "reaction.added",
    "reaction.removed",
    "user.joined",
)
