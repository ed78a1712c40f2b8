"""Reading arguments that several operations of Slack have in common."""

import re
from datetime import UTC, datetime
from typing import Any

from adapters.slack.text import Mentions, is_name, written
from adapters.transport.fields import Fields

MAX_MENTIONS = 20
_CHANNEL = re.compile(r"[CGD][A-Z0-9]{5,20}")
_USER = re.compile(r"[UW][A-Z0-9]{5,20}")
_TIMESTAMP = re.compile(r"[0-9]{9,11}\.[0-9]{6}")
_EMAIL = re.compile(r"[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?P<domain>(?:[a-z0-9-]{1,63}\.)+[a-z0-9-]{1,63})")
_EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
_LATEST = datetime(2100, 1, 1, tzinfo=UTC)


class SlackFields(Fields):
    """One call's arguments, and what several of Slack's operations have in common."""

    def channel(self) -> dict[str, Any]:
        """`channel`, an id, and whether it is a direct message of two: one of more has an id like a private channel's.

        A name could be given to another channel tomorrow.
        """
        channel = self.matching("channel", _CHANNEL, "a channel's id, such as C0123456789; slack_list_channels has it")
        return {"channel": channel, "is_direct": channel.startswith("D")}

    def timestamp(self, name: str) -> str:
        """The `ts` of a message."""
        return self.matching(name, _TIMESTAMP, "the `ts` of a message as Slack gave it, such as 1733000000.123456")

    def text(self, name: str, most: int) -> dict[str, Any]:
        """The text as it is sent, and `mentioned_users`, `mentioned_groups`, `is_channel_wide` of `mentions`."""
        mentions = self._mentions()
        sent = written(self.readable(name, str(self._arguments[name])), mentions)
        if len(sent) > most:
            message = f"`{name}` has more than {most} characters as it is sent (&, < and > count for four or five)."
            self.issue(f"/{name}", "max_length", message)
        return {
            name: sent,
            "mentions": list(mentions.names),
            "mentioned_users": list(mentions.users),
            "mentioned_groups": list(mentions.groups),
            "is_channel_wide": bool(mentions.wide),
        }

    def user(self, path: str, text: str) -> str:
        """A user's id."""
        if not _USER.fullmatch(text):
            self.issue(
                path, "user_id", "This must be a user's id, such as U0123456789; slack_find_user_by_mail has it."
            )
        return text

    def email(self) -> dict[str, Any]:
        """`email` in lower case, and its `domain`."""
        match = _EMAIL.fullmatch(self._arguments["email"].lower())
        if match is None:
            self.issue("/email", "email", "`email` must be one plain mail address, such as ann@corp.example.")
            return {}
        return {"email": match[0], "domain": match["domain"]}

    def bound(self, name: str) -> tuple[str | None, str | None]:
        """A moment in UTC, and as Slack writes it; both None when it was not given."""
        text = self._arguments.get(name)
        if text is None:
            return None, None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None or not _EARLIEST <= moment <= _LATEST:
            message = f"`{name}` must be a moment with its offset, such as 2026-01-31T09:00:00Z."
            self.issue(f"/{name}", "date_time", message)
            return None, None
        utc = moment.astimezone(UTC)
        return utc.isoformat().replace("+00:00", "Z"), f"{int(utc.timestamp())}.{utc.microsecond:06d}"

    def _mentions(self) -> Mentions:
        names = self._arguments.get("mentions") or []
        wrong = [index for index, name in enumerate(names) if not is_name(name)]
        for index in wrong:
            message = "This must be a user's or user group's id, or one of channel, everyone, here."
            self.issue(f"/mentions/{index}", "mention", message)
        if len(names) > MAX_MENTIONS:
            self.issue("/mentions", "max_items", f"`mentions` may have {MAX_MENTIONS} entries.")
        return Mentions.of([name for index, name in enumerate(names) if index not in wrong])
