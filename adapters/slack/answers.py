"""Slack's JSON as outputs: small, with every property, whatever Slack leaves out."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from adapters.transport.replies import Reply, malformed
from adapters.transport.values import mapping

_MAX_NAME = 300


def posted(reply: Reply) -> dict[str, Any]:
    """Where a message stands: `channel` and `ts`."""
    channel, ts = _text(reply.value.get("channel")), _text(reply.value.get("ts"))
    if channel is None or ts is None:
        malformed(reply)
    return {"channel": channel, "ts": ts}


def opened(reply: Reply) -> dict[str, Any]:
    """A direct message: its `channel`, and whether it was open before."""
    channel = _text(mapping(reply.value.get("channel")).get("id"))
    if channel is None:
        malformed(reply)
    return {"channel": channel, "was_open": reply.value.get("already_open") is True}


def channels(reply: Reply) -> list[dict[str, Any]]:
    """The channels of a page."""
    return [_channel(one) for one in items(reply, "channels") if _text(one.get("id"))]


def messages(reply: Reply) -> list[dict[str, Any]]:
    """The messages of a page, as Slack orders them."""
    return [_message(one) for one in items(reply, "messages") if _text(one.get("ts"))]


def user(reply: Reply) -> dict[str, Any]:
    """A user."""
    found = mapping(reply.value.get("user"))
    if _text(found.get("id")) is None:
        malformed(reply)
    profile = mapping(found.get("profile"))
    return {
        "id": found["id"],
        "name": _text(found.get("name")),
        "real_name": _text(found.get("real_name")) or _text(profile.get("real_name")),
        "title": _text(profile.get("title")),
        "time_zone": _text(found.get("tz")),
        "is_bot": found.get("is_bot") is True,
        "is_active": found.get("deleted") is not True,
    }


def items(reply: Reply, name: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a list that an answer must have. Raises `AdapterError` (malformed) when it has none."""
    found = reply.value.get(name)
    if not isinstance(found, list):
        malformed(reply)
    return (one for one in found if isinstance(one, dict))


def next_page(reply: Reply) -> str | None:
    """What Slack calls the next page; None when this is the last."""
    page = mapping(reply.value.get("response_metadata")).get("next_cursor")  # whole: a part of it leads nowhere
    return page if isinstance(page, str) and page else None


def _channel(one: Mapping[str, Any]) -> dict[str, Any]:
    members = one.get("num_members")
    return {
        "id": one["id"],
        "name": _text(one.get("name")),
        "topic": _text(mapping(one.get("topic")).get("value")),
        "purpose": _text(mapping(one.get("purpose")).get("value")),
        "is_private": one.get("is_private") is True,
        "is_member": one.get("is_member") is True,
        "members": members if isinstance(members, int) and not isinstance(members, bool) else None,
    }


def _message(one: Mapping[str, Any]) -> dict[str, Any]:
    replies, files = one.get("reply_count"), one.get("files")
    return {
        "ts": one["ts"],
        "sent_at": _moment(one["ts"]),
        "user": _text(one.get("user")),
        "bot": _text(one.get("bot_id")),
        "text": one["text"] if isinstance(one.get("text"), str) else "",
        "thread_ts": _text(one.get("thread_ts")),
        "replies": replies if isinstance(replies, int) and not isinstance(replies, bool) else 0,
        "files": len(files) if isinstance(files, list) else 0,
        "is_edited": isinstance(one.get("edited"), dict),
    }


def _moment(ts: str) -> str | None:
    """A timestamp in UTC; None for what is none."""
    try:
        moment = datetime.fromtimestamp(int(ts.partition(".")[0]), UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat().replace("+00:00", "Z")


def _text(value: object) -> str | None:
    """A text that is not empty."""
    return value[:_MAX_NAME] if isinstance(value, str) and value else None
