"""Message-IDs: those that an agent names, and the one that an effect has."""

import hashlib
import re

from adapters.email.addresses import Address, header_problem

MAX_LENGTH = 250
_ID = re.compile(r"<[A-Za-z0-9!#$%&'*+/=?^_`{|}~.:-]+@[A-Za-z0-9!#$%&'*+/=?^_`{|}~.:\[\]-]+>")


class NotAnId(Exception):  # noqa: N818 - it becomes an issue of the agent's arguments
    """The entry is not exactly one Message-ID. `rule` is short, `message` is for the agent."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.message = message


def parse_id(entry: str) -> str:
    """The one Message-ID in an entry such as `<abc@corp.example>`. Raises `NotAnId`.

    Narrower than RFC 5322: no spaces, comments or quotes, so that an id stays one word of one header.
    """
    if problem := header_problem(entry):
        raise NotAnId(*problem)
    stripped = entry.strip(" ")
    if len(stripped) > MAX_LENGTH or not _ID.fullmatch(stripped):
        raise NotAnId("message_id", "give one Message-ID as it stands in the mail, such as <abc@corp.example>")
    return stripped


def message_id(effect_id: str, sender: Address) -> str:
    """The Message-ID of an effect, so that whoever reconciles can look for it in the mailbox."""
    return f"<{digest(effect_id)}@{sender.domain}>"


def digest(text: str) -> str:
    """32 hexadecimal digits that stand for a text and do not show it."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
