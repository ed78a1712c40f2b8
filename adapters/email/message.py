"""From prepared arguments to the bytes of one message. Deterministic: the same effect, the same bytes."""

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any

from adapters.email.addresses import Address

# 7bit: no server on the way has to convert anything, and no line can grow beyond what SMTP allows.
_POLICY = SMTP.clone(cte_type="7bit", raise_on_defect=True)
_BARE_BREAK = re.compile(rb"(?<!\r)\n|\r(?!\n)")


class Unwritable(Exception):  # noqa: N818 - it is mapped at once, in the adapter
    """The message cannot be written without a line break that a server could misread."""


def message_id(effect_id: str, sender: Address) -> str:
    """The Message-ID of an effect, so that whoever reconciles can look for it in the mailbox."""
    return f"<{_digest(effect_id)}@{sender.domain}>"


def build_message(arguments: Mapping[str, Any], sender: Address, effect_id: str, now: float) -> bytes:
    """The message with CRLF line ends; `bcc` is in the envelope alone. Raises `Unwritable`."""
    message = EmailMessage(policy=_POLICY)
    try:
        _set_headers(message, arguments, sender, now)
        message["Message-ID"] = message_id(effect_id, sender)
        message.set_content(arguments["text"])
        if "html" in arguments:
            message.add_alternative(arguments["html"], subtype="html")
            message.set_boundary(f"=_{_digest('boundary ' + effect_id)}")
        raw = message.as_bytes()
    except (ValueError, LookupError, TypeError) as error:
        raise Unwritable from error
    if _BARE_BREAK.search(raw) or not raw.isascii():
        raise Unwritable
    return raw


def dot_stuffed(message: bytes) -> bytes:
    """The message as it follows DATA, end mark included."""
    stuffed = message.replace(b"\r\n.", b"\r\n..")
    if stuffed.startswith(b"."):
        stuffed = b"." + stuffed
    return stuffed + (b".\r\n" if stuffed.endswith(b"\r\n") else b"\r\n.\r\n")


def _set_headers(message: EmailMessage, arguments: Mapping[str, Any], sender: Address, now: float) -> None:
    message["From"] = str(sender)
    message["To"] = ", ".join(arguments["to"])
    if arguments["cc"]:
        message["Cc"] = ", ".join(arguments["cc"])
    if "reply_to" in arguments:
        message["Reply-To"] = arguments["reply_to"]
    message["Subject"] = arguments["subject"]
    message["Date"] = datetime.fromtimestamp(int(now), UTC)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
