"""`read_message`: one message as a person would see it, without leaving a trace that it was read."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

from adapters.base import AdapterError, ArgumentIssue, ArgumentProblem, Cut, ErrorKind, Happened
from adapters.email.attestation import attested
from adapters.email.charsets import decoded, transferred
from adapters.email.headers import MAX_HEADER_BYTES, read_header
from adapters.email.html import text_of
from adapters.email.imap.grammar import Value
from adapters.email.imap.session import Session
from adapters.email.imap.structure import Part, read_structure
from adapters.email.mailids import read_mail_id
from adapters.email.searching import header_of, sender_of, state_of
from adapters.email.unseen import visible

DEFAULT_BYTES = 100_000
MAX_BYTES = 500_000
_ITEMS = b"FLAGS INTERNALDATE RFC822.SIZE BODYSTRUCTURE BODY.PEEK[HEADER]<0.%d>" % MAX_HEADER_BYTES


class ReadArguments(TypedDict):
    """Which message an agent wants to read, and how much of its text."""

    id: str
    max_bytes: NotRequired[int]


@dataclass(frozen=True, slots=True)
class Letter:
    """A message that was read, and what of its text was left out."""

    structured: dict[str, Any] = field(repr=False)
    cut: Cut | None


@dataclass(frozen=True, slots=True)
class _Text:
    text: str = field(repr=False)
    format: str
    read_bytes: int
    seen_bytes: int
    is_all: bool = True
    """Whether everything is in the text that was in these bytes."""


def prepare_read(arguments: dict[str, Any]) -> dict[str, Any]:
    """The id in its parts, and how much is wanted. Pure. Raises `ArgumentProblem`."""
    wanted = arguments.get("max_bytes")
    wanted = DEFAULT_BYTES if wanted is None else wanted
    if not 1 <= wanted <= MAX_BYTES:
        message = f"must be from 1 to {MAX_BYTES}"
        raise ArgumentProblem(ArgumentIssue(path="/max_bytes", rule="range", message=message))
    folder, uid_validity, uid = read_mail_id(arguments["id"])
    return {"id": arguments["id"], "folder": folder, "uid_validity": uid_validity, "uid": uid, "max_bytes": wanted}


async def read_message(session: Session, arguments: Mapping[str, Any], authserv_id: str | None) -> Letter:
    """The message. Raises `AdapterError` (not found) when it is gone, and what a session raises."""
    uid = arguments["uid"]
    if await session.examine(arguments["folder"]) != arguments["uid_validity"]:
        raise _gone()
    facts = (await session.fetch([uid], _ITEMS)).get(uid)
    if facts is None:
        raise _gone()
    structure = read_structure(facts.get("BODYSTRUCTURE"))
    text = await _text(session, uid, structure.texts, arguments["max_bytes"])
    is_cut = text.read_bytes < text.seen_bytes
    return Letter(
        {
            "id": arguments["id"],
            "folder": arguments["folder"],
            **_header(header_of(facts), authserv_id),
            **state_of(facts),
            "text": text.text,
            "text_format": text.format,
            "is_cut": is_cut or structure.is_cut or not text.is_all,
            "attachments": [_file(part) for part in structure.files],
        },
        Cut(read_bytes=text.read_bytes, seen_bytes=text.seen_bytes) if is_cut else None,
    )


def _header(raw: bytes, authserv_id: str | None) -> dict[str, Any]:
    header = read_header(raw)
    vouched = attested(header, authserv_id)
    return {
        "message_id": next(iter(header.ids("message-id")), None),
        "in_reply_to": next(iter(header.ids("in-reply-to")), None),
        "references": header.ids("references"),
        **sender_of(header),
        "attested_domain": vouched.domain if vouched else None,
        "authentication": vouched.results if vouched else None,
        "to": header.text("to"),
        "cc": header.text("cc"),
        "reply_to": header.text("reply-to"),
        "subject": header.text("subject"),
        "date": header.moment("date"),
    }


def _file(part: Part) -> dict[str, Any]:
    return {"filename": part.filename, "content_type": part.kind, "size_bytes": part.decoded_size}


async def _text(session: Session, uid: int, parts: Sequence[Part], max_bytes: int) -> _Text:
    """The text of these parts, as much of it as is wanted; the server is asked for no more."""
    left, wanted = max_bytes, []
    for part in parts:
        wanted.append((part, min(part.size, left)))
        left -= wanted[-1][1]
    read = [(part, count) for part, count in wanted if count > 0]
    if not read:
        return _Text("", "none", 0, sum(part.size for part in parts))
    items = b" ".join(b"BODY.PEEK[%s]<0.%d>" % (part.section.encode(), count) for part, count in read)
    facts = (await session.fetch([uid], items)).get(uid)
    if facts is None:
        raise _gone()
    bodies = [(part, _body(facts, part)[:count]) for part, count in read]
    text, is_all = await asyncio.to_thread(_joined, bodies)
    is_html = any(part.kind == "text/html" for part, _ in bodies)
    seen = sum(part.size for part in parts)
    return _Text(text, "html" if is_html else "plain", min(sum(count for _, count in read), seen), seen, is_all)


def _joined(bodies: list[tuple[Part, bytes]]) -> tuple[str, bool]:
    """The text of all parts, and whether nothing of it was left out."""
    texts = []
    for part, body in bodies:
        text = decoded(transferred(body, part.encoding), part.charset)
        texts.append(text_of(text) if part.kind == "text/html" else (text, True))
    return "\n\n".join(visible(text).strip("\n") for text, _ in texts), all(is_all for _, is_all in texts)


def _body(facts: Mapping[str, Value], part: Part) -> bytes:
    for name in (f"BODY[{part.section}]<0>", f"BODY[{part.section}]"):
        value = facts.get(name)
        if isinstance(value, bytes):
            return value
    return b""


def _gone() -> AdapterError:
    message = "The message is no longer there under this id; search again."
    return AdapterError(ErrorKind.NOT_FOUND, message, happened=Happened.NO)
