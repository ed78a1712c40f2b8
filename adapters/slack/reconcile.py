"""What became of an effect whose outcome is unknown: Slack is asked, and its silence is not taken for a no.

A message that is not there may have been deleted by whoever saw it, and Slack tells nothing of those: to post it again
would be to post it twice. Only of a change it can be certain that it was not made.
"""

import math
from collections.abc import Mapping
from typing import Any

from adapters.base import Clock, Finding, Invocation
from adapters.slack.answers import items, next_page
from adapters.slack.marks import is_marked
from adapters.slack.methods import Form, Methods
from adapters.slack.text import plain_links
from adapters.transport.lateness import is_early

MAX_PAGES = 20
_PAGE = 100


class Reconcile:
    """Asks about each kind of effect. Raises `AdapterError` when Slack cannot be asked."""

    def __init__(self, methods: Methods, clock: Clock) -> None:
        self._methods = methods
        self._clock = clock

    async def posted(self, invocation: Invocation) -> Finding:
        """Of a message in a channel."""
        form = {"channel": invocation.arguments["channel"]}
        return await self._searched(invocation, "conversations.history", form)

    async def replied(self, invocation: Invocation) -> Finding:
        """Of a message in a thread."""
        form = {"channel": invocation.arguments["channel"], "ts": invocation.arguments["thread_ts"]}
        return await self._searched(invocation, "conversations.replies", form)

    async def uploaded(self, invocation: Invocation) -> Finding:
        """Of a file, by the words beside it."""
        in_thread = invocation.arguments["thread_ts"] is not None
        return await (self.replied(invocation) if in_thread else self.posted(invocation))

    async def opened(self, invocation: Invocation) -> Finding:
        """Of a direct message: whether there is one. That Slack finds none is an error, which users who have left are
        answered with too.
        """
        form: Form = {"users": ",".join(invocation.arguments["users"]), "prevent_creation": True}
        reply = await self._methods.read(invocation, "conversations.open", form)
        return Finding.DONE if isinstance(reply.value.get("channel"), dict) else Finding.STILL_UNKNOWN

    async def updated(self, invocation: Invocation) -> Finding:
        """Of a change: the message says what it was to say, or was never changed since."""
        message = await find_message(self._methods, invocation)
        if message is None:
            return Finding.STILL_UNKNOWN
        if _says(message, invocation.arguments["text"]):
            return Finding.DONE
        is_time = not is_early(self._clock, invocation)
        return Finding.NOT_DONE if is_time and _edited_at(message) < invocation.since else Finding.STILL_UNKNOWN

    async def _searched(self, invocation: Invocation, method: str, form: Form) -> Finding:
        page = None
        for _ in range(MAX_PAGES):
            reply = await self._methods.read(invocation, method, {**form, **_window(invocation), "cursor": page})
            if any(is_marked(message, invocation.effect_id) for message in items(reply, "messages")):
                return Finding.DONE
            page = next_page(reply)
            if page is None:
                break
        return Finding.STILL_UNKNOWN


async def find_message(methods: Methods, invocation: Invocation) -> Mapping[str, Any] | None:
    """The message of `channel` and `ts`, in a thread or not; None when it is not there. Raises `AdapterError`."""
    ts = invocation.arguments["ts"]
    form: Form = {
        "channel": invocation.arguments["channel"],
        "ts": ts,
        "oldest": ts,
        "latest": ts,
        "inclusive": True,
        "limit": _PAGE,
    }
    reply = await methods.read(invocation, "conversations.replies", form)
    return next((message for message in items(reply, "messages") if message.get("ts") == ts), None)


async def preview_update(methods: Methods, invocation: Invocation) -> Any:
    """What a message says, and what it would say. Raises `AdapterError`."""
    message = await find_message(methods, invocation)
    was = None if message is None else message.get("text")
    return {"was": {"text": was if isinstance(was, str) else None}, "will_be": {"text": invocation.arguments["text"]}}


def _window(invocation: Invocation) -> Form:
    oldest = f"{max(invocation.since, 0.0):.6f}"
    return {"oldest": oldest, "inclusive": True, "include_all_metadata": True, "limit": _PAGE}


def _says(message: Mapping[str, Any], text: str) -> bool:
    said = message.get("text")
    return isinstance(said, str) and plain_links(said) == plain_links(text)


def _edited_at(message: Mapping[str, Any]) -> float:
    """When it was changed last, in seconds since the epoch; 0 when it never was, infinity when nobody can tell."""
    edited = message.get("edited")
    if edited is None:
        return 0.0
    try:
        moment = float(edited["ts"])
    except (TypeError, KeyError, ValueError, OverflowError):
        return math.inf
    return moment if math.isfinite(moment) else math.inf
