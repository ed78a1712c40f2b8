"""From prepared arguments to the bytes of one message. Deterministic: the same effect, the same bytes."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any

from adapters.email.addresses import Address
from adapters.email.attachments import content_of
from adapters.email.identifiers import digest, message_id

MAX_MESSAGE_BYTES = 6 * 1024 * 1024

# 7bit: no server on the way has to convert anything, and no line can grow beyond what SMTP allows.
_POLICY = SMTP.clone(cte_type="7bit", raise_on_defect=True)
_BARE_BREAK = re.compile(rb"(?<!\r)\n|\r(?!\n)")


class Unwritable(Exception):  # noqa: N818 - it is mapped at once, in the adapter
    """The message cannot be written without a line break or boundary that somebody could misread, or is too large."""


def build_message(arguments: Mapping[str, Any], sender: Address, effect_id: str, now: float) -> bytes:
    """The message with CRLF line ends; `bcc` is in the envelope alone. Raises `Unwritable`."""
    message = EmailMessage(policy=_POLICY)
    try:
        _set_headers(message, arguments, sender, now)
        message["Message-ID"] = message_id(effect_id, sender)
        _set_content(message, arguments)
        boundaries = dict(_set_boundaries(message, effect_id))
        raw = _thread_headers(arguments) + message.as_bytes()
    except (ValueError, LookupError, TypeError) as error:
        raise Unwritable from error
    is_ambiguous = any(raw.count(b"--" + boundary) != count for boundary, count in boundaries.items())
    if is_ambiguous or _BARE_BREAK.search(raw) or not raw.isascii() or len(raw) > MAX_MESSAGE_BYTES:
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
    if arguments.get("reply_to") is not None:
        message["Reply-To"] = arguments["reply_to"]
    message["Subject"] = arguments["subject"]
    message["Date"] = datetime.fromtimestamp(int(now), UTC)


def _set_content(message: EmailMessage, arguments: Mapping[str, Any]) -> None:
    message.set_content(arguments["text"])
    if arguments.get("html") is not None:
        message.add_alternative(arguments["html"], subtype="html")
    for file in arguments.get("attachments") or []:
        kind, _, subtype = file["content_type"].partition("/")
        message.add_attachment(
            content_of(file), maintype=kind, subtype=subtype, cte="base64", filename=file["filename"]
        )


def _set_boundaries(message: EmailMessage, effect_id: str) -> Iterator[tuple[bytes, int]]:
    """Give each multipart a boundary of its own; each with how often it has to be found in the message."""
    for index, part in enumerate(part for part in message.walk() if part.is_multipart()):
        boundary = f"=_{digest(f'boundary {index} {effect_id}')}"
        part.set_boundary(boundary)
        yield boundary.encode(), len(part.get_payload()) + 1


def _thread_headers(arguments: Mapping[str, Any]) -> bytes:
    """The ids of what is answered, one on each line: the library would encode a long one beyond recognition."""
    answered = arguments.get("in_reply_to")
    references = arguments.get("references") or ([answered] if answered else [])
    lines = [f"In-Reply-To: {answered}"] if answered else []
    if references:
        lines.append("References: " + "\r\n ".join(references))
    if any(len(part.splitlines()) != 1 for part in [*references, answered or "<>"]):
        raise ValueError("an id with a line break")
    return "".join(f"{line}\r\n" for line in lines).encode("ascii")
