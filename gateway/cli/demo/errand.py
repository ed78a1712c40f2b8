"""What the demo's agent is sent to do: the tasks, as they travel to its process, in order."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

COLLEAGUE = "ines.dahl@corp.example"
STRANGER = "someone@elsewhere.example"
MAIL_KEY = "harbour-summary-1"
BURST = 8
"""Calls at once of a tool that takes three."""

Json = dict[str, Any]


class Label(StrEnum):
    """Which task a call belongs to."""

    FETCH = "fetch"
    EXTRACT = "extract"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One call to make. `says` tells a person what it is."""

    label: Label
    says: str
    tool: str
    arguments: Json = field(repr=False)
    key: str = ""
    waits: bool = False
    """First wait for as long as the last refusal asked for."""

    def as_json(self) -> Json:
        """The task on its way to the agent's process."""
        return {
            "label": self.label.value,
            "tool": self.tool,
            "arguments": self.arguments,
            "key": self.key,
            "waits": self.waits,
        }


def errand(*, article: str, moved: str) -> tuple[Task, ...]:
    """Every task, given the addresses of two pages."""
    return (*_reading(article), *_mailing(), *_refused(moved), *_hurrying())


def _reading(article: str) -> Iterator[Task]:
    yield Task(label=Label.FETCH, says="fetch a page", tool="web_fetch", arguments={"url": article})
    yield Task(label=Label.EXTRACT, says="extract its article", tool="web_extract", arguments={"url": article})


def _mailing() -> Iterator[Task]:
    mail = {
        "to": [COLLEAGUE],
        "subject": "The harbour article",
        "text": "Hello Ines,\nthe article on the harbour's book is out. The gist: one line for every ship.\n",
    }
    yield Task(label=Label.MAIL, says="send mail to a colleague", tool="email_send", arguments=mail, key=MAIL_KEY)
    yield Task(label=Label.MAIL_AGAIN, says="send it again, same key", tool="email_send", arguments=mail, key=MAIL_KEY)
    yield Task(
        label=Label.STRANGER,
        says="send mail to a stranger",
        tool="email_send",
        arguments=mail | {"to": [COLLEAGUE, STRANGER]},
        key="harbour-summary-2",
    )
    yield Task(
        label=Label.APPROVAL,
        says="write to everybody",
        tool="announcement_send",
        arguments=mail | {"subject": "To all of us"},
        key="announcement-1",
    )


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
