"""What an agent writes, as Slack takes it: every character means itself, and a mention is one that was asked for.

Slack reads `<…>` in a text as a command: `<!channel>` rings for everybody, `<@U…>` for one person, and `<url|words>`
is a link that shows other words than where it leads. A text that an agent has put together out of what strangers
wrote could hold all of these. So `&`, `<` and `>` are escaped, as Slack's documentation asks for, but for one thing:
a mention that the agent names in `mentions` as well. Whoever is named there and not in the text is mentioned in front
of it. Policy sees the names, and the text as it is sent.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

CHANNEL_WIDE = ("channel", "everyone", "here")
"""What rings for everybody in a channel, or for those who are there."""
_USER = r"[UW][A-Z0-9]{5,20}"
_GROUP = r"S[A-Z0-9]{5,20}"
_MENTION = re.compile(
    rf"<(?:@(?P<user>{_USER})|!subteam\^(?P<group>{_GROUP})|!(?P<wide>{'|'.join(CHANNEL_WIDE)}))(?:\|[^<>]*)?>"
)
_NAME = re.compile(rf"{_USER}|{_GROUP}|{'|'.join(CHANNEL_WIDE)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """Who is called to a message."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    wide: tuple[str, ...] = ()
    """Of `CHANNEL_WIDE`."""

    @classmethod
    def of(cls, names: Sequence[str]) -> "Mentions":
        """Those of names for which `is_name` holds, each once and in order."""
        once = sorted(set(names))
        return cls(
            users=tuple(name for name in once if name[0] in "UW"),
            groups=tuple(name for name in once if name[0] == "S"),
            wide=tuple(name for name in once if name in CHANNEL_WIDE),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.wide, *self.groups, *self.users)


def is_name(text: str) -> bool:
    """Whether it names somebody who can be mentioned: a user's id, a user group's id, or one of `CHANNEL_WIDE`."""
    return _NAME.fullmatch(text) is not None


def written(text: str, mentions: Mentions) -> str:
    """The text as Slack takes it. Of what it calls itself, only `mentions` are live; all of them are."""
    parts: list[str] = []
    used: set[str] = set()
    end = 0
    for match in _MENTION.finditer(text):
        name = match["user"] or match["group"] or match["wide"]
        if name in mentions.names:
            parts += (_escaped(text[end : match.start()]), _mention(name))
            used.add(name)
            end = match.end()
    body = "".join((*parts, _escaped(text[end:])))
    return " ".join((*(_mention(name) for name in mentions.names if name not in used), body))


def plain_links(text: str) -> str:
    """A text that Slack gives back, with links as they were written: Slack itself puts `<…>` around a URL."""
    return re.sub(r"<(https?://[^|<>]+)(?:\|[^<>]*)?>", r"\1", text)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _mention(name: str) -> str:
    if name in CHANNEL_WIDE:
        return f"<!{name}>"
    return f"<!subteam^{name}>" if name[0] == "S" else f"<@{name}>"
