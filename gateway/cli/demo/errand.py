"""What the demo's agent is sent to do: the tasks, as they travel to its process, in order."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

COLLEAGUE = "ines.dahl@corp.example"
STRANGER = "someone@elsewhere.example"
MAIL_KEY = "harbour-summary-1"
ANNOUNCEMENT = "To all of us"
"""The subject of the mail that a person has to approve."""
BURST = 8
"""Calls at once of a tool that takes three."""

Json = dict[str, Any]


class Label(StrEnum):
    """Which task a call belongs to."""

    FETCH = "fetch"
    EXTRACT = "extract"
    EXTRACT_MORE = "extract_more"
    MAIL = "mail"
    MAIL_AGAIN = "mail_again"
    STRANGER = "stranger"
    APPROVAL = "approval"
    HIDDEN = "hidden"
    UNKNOWN = "unknown"
    BAD_ARGUMENTS = "bad_arguments"
    METADATA = "metadata"
    METADATA_SPELLED = "metadata_spelled"
    METADATA_IPV6 = "metadata_ipv6"
    REDIRECT = "redirect"
    BURST = "burst"
    AFTER_BURST = "after_burst"
    FOLLOWED = "followed"
    ASKED = "asked"
    APPROVED_AGAIN = "approved_again"
    STOPPED = "stopped"


class Way(StrEnum):
    """How the agent learns what it wants to know."""

    CALL = "call"
    WATCH = "watch"
    """Follow an earlier call to its end."""
    GET = "get"
    """Ask how an earlier call stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One call to make, or to ask about. `says` tells a person what it is."""

    label: Label
    says: str
    tool: str
    arguments: Json = field(repr=False)
    key: str = ""
    waits: bool = False
    """First wait for as long as the last refusal asked for."""
    way: Way = Way.CALL
    about: Label | None = None
    """Whose call is asked about; None for a call of its own."""

    def as_json(self) -> Json:
        """The task on its way to the agent's process."""
        return {
            "label": self.label.value,
            "tool": self.tool,
            "arguments": self.arguments,
            "key": self.key,
            "waits": self.waits,
            "way": self.way.value,
            "about": self.about.value if self.about else "",
        }


def errand(*, article: str, moved: str) -> tuple[Task, ...]:
    """Every task, given the addresses of two pages."""
    return (*_reading(article), *_mailing(), *_refused(moved), *_hurrying(), *_hearing())


def _reading(article: str) -> Iterator[Task]:
    yield Task(label=Label.FETCH, says="fetch a page", tool="web_fetch", arguments={"url": article})
    yield Task(label=Label.EXTRACT, says="extract its article", tool="web_extract", arguments={"url": article})
    yield Task(label=Label.EXTRACT_MORE, says="extract beyond its cap", tool="web_extract", arguments={"url": article})


def _mail(**changes: Any) -> Json:
    usual = {
        "to": [COLLEAGUE],
        "subject": "The harbour article",
        "text": "Hello Ines,\nthe article on the harbour's book is out. The gist: one line for every ship.\n",
    }
    return usual | changes


def _announcing(label: Label, says: str) -> Task:
    """The same call each time, by the same key."""
    mail = _mail(subject=ANNOUNCEMENT)
    return Task(label=label, says=says, tool="announcement_send", arguments=mail, key="announcement-1")


def _mailing() -> Iterator[Task]:
    mail = _mail()
    yield Task(label=Label.MAIL, says="send mail to a colleague", tool="email_send", arguments=mail, key=MAIL_KEY)
    yield Task(label=Label.MAIL_AGAIN, says="send it again, same key", tool="email_send", arguments=mail, key=MAIL_KEY)
    yield Task(
        label=Label.STRANGER,
        says="send mail to a stranger",
        tool="email_send",
        arguments=_mail(to=[COLLEAGUE, STRANGER]),
        key="harbour-summary-2",
    )
    yield _announcing(Label.APPROVAL, "write to everybody")


def _refused(moved: str) -> Iterator[Task]:
    yield Task(label=Label.HIDDEN, says="use another agent's tool", tool="board_mail_send", arguments={})
    yield Task(label=Label.UNKNOWN, says="use a tool that is not", tool="no_such_tool", arguments={})
    yield Task(
        label=Label.BAD_ARGUMENTS,
        says="misspell an argument",
        tool="email_send",
        arguments={"to": "ines", "subjekt": "Hello"},
        key="bad-1",
    )
    yield Task(
        label=Label.METADATA,
        says="read the cloud's metadata",
        tool="web_fetch",
        arguments={"url": "http://169.254.169.254/latest/meta-data/iam/"},
    )
    yield Task(
        label=Label.METADATA_SPELLED,
        says="read it, spelled otherwise",
        tool="web_fetch",
        arguments={"url": "http://[::ffff:a9fe:a9fe]/latest/meta-data/iam/"},
    )
    yield Task(
        label=Label.METADATA_IPV6,
        says="try it over IPv6",
        tool="web_fetch",
        arguments={"url": "http://[fd00:ec2::254]/latest/meta-data/iam/"},
    )
    yield Task(label=Label.REDIRECT, says="follow a page to loopback", tool="web_fetch", arguments={"url": moved})


def _hurrying() -> Iterator[Task]:
    for _ in range(BURST):
        yield Task(
            label=Label.BURST,
            says="ask for the time",
            tool="office_time",
            arguments={"zone": "Europe/Warsaw"},
        )
    yield Task(
        label=Label.AFTER_BURST,
        says="ask again after the wait",
        tool="office_time",
        arguments={"zone": "Europe/Warsaw"},
        waits=True,
    )


def _hearing() -> Iterator[Task]:
    """What the person did: the call that she approved, learned of in three ways, and the tool that she stopped."""
    yield Task(
        label=Label.FOLLOWED,
        says="follow the parked call",
        tool="announcement_send",
        arguments={},
        way=Way.WATCH,
        about=Label.APPROVAL,
    )
    yield Task(
        label=Label.ASKED,
        says="ask how it ended",
        tool="announcement_send",
        arguments={},
        way=Way.GET,
        about=Label.APPROVAL,
    )
    yield _announcing(Label.APPROVED_AGAIN, "call again, same key")
    more = _mail(subject="One more thing")
    yield Task(label=Label.STOPPED, says="use a stopped tool", tool="email_send", arguments=more, key="more-1")
