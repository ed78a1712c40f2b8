"""`search`: which messages there are in a folder, the newest first, a page at a time."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NotRequired, TypedDict

from adapters.base import AdapterError, ArgumentIssue, ArgumentProblem, ErrorKind, Happened
from adapters.email.account import is_folder
from adapters.email.attestation import attested
from adapters.email.headers import Header, read_header
from adapters.email.imap.grammar import Value
from adapters.email.imap.session import Session
from adapters.email.imap.words import Word, day, string
from adapters.email.mailids import folder_of, mail_id, page_to, read_page
from adapters.email.times import internal_date
from adapters.transport.cursors import cursor_to, with_page

DEFAULT_LIMIT = 20
MAX_LIMIT = 50
MAX_WORDS = 10
MAX_TERM = 200
_HEADER_BYTES = 16 * 1024
"""How much of each message's header is read."""
_ITEMS = (
    b"FLAGS INTERNALDATE RFC822.SIZE "
    b"BODY.PEEK[HEADER.FIELDS (FROM TO SUBJECT DATE MESSAGE-ID AUTHENTICATION-RESULTS)]<0.%d>" % _HEADER_BYTES
)
_KEYS = {"from": b"FROM", "to": b"TO", "subject": b"SUBJECT"}

SearchArguments = TypedDict(
    "SearchArguments",
    {
        "folder": NotRequired[str],
        "from": NotRequired[str],
        "to": NotRequired[str],
        "subject": NotRequired[str],
        "text": NotRequired[str],
        "since": NotRequired[str],
        "before": NotRequired[str],
        "unseen": NotRequired[bool],
        "limit": NotRequired[int],
        "cursor": NotRequired[str],
    },
)
SearchArguments.__doc__ = "What an agent looks for."


@dataclass(frozen=True, slots=True)
class Page:
    """Some messages, and the page after them."""

    messages: list[dict[str, Any]]
    next_page: str | None


def prepare_search(arguments: dict[str, Any]) -> dict[str, Any]:
    """Every argument, None for what is not looked for; `words` are those of `text`. Pure.

    Raises `ArgumentProblem` with every issue.
    """
    issues: list[ArgumentIssue] = []
    prepared: dict[str, Any] = {"folder": _folder(arguments.get("folder"), issues)}
    for name in _KEYS:
        prepared[name] = _term(arguments.get(name), name, issues)
    prepared["text"] = _term(arguments.get("text"), "text", issues)
    prepared["words"] = _words(prepared["text"], issues)
    for name in ("since", "before"):
        prepared[name] = _date(arguments.get(name), name, issues)
    prepared["unseen"] = bool(arguments.get("unseen"))
    prepared["limit"] = _limit(arguments.get("limit"), issues)
    if issues:
        raise ArgumentProblem(*issues)
    paged = with_page("search", {**prepared, "cursor": arguments.get("cursor")})
    if paged["page"] is not None:
        read_page(paged["page"])
    return paged


async def search(session: Session, arguments: Mapping[str, Any], authserv_id: str | None) -> Page:
    """One page. Raises `AdapterError` when the folder has new numbers, and what a session raises."""
    folder, limit = arguments["folder"], arguments["limit"]
    uid_validity = await session.examine(folder)
    below = _below(arguments["page"], uid_validity)
    criteria = list(_criteria(arguments, below))
    told = [value for name in ("from", "to", "subject", "text") if (value := arguments[name]) is not None]
    found = await session.search(*criteria, charset=not "".join(told).isascii())
    uids = [uid for uid in found if below is None or uid < below]
    chosen = uids[:limit]
    facts = await session.fetch(chosen, _ITEMS) if chosen else {}
    messages = [
        # In a thread: fifty headers that strangers made as strange as they could are not nothing.
        {"id": mail_id(folder, uid_validity, uid), **await asyncio.to_thread(_message, facts[uid], authserv_id)}
        for uid in chosen
        if uid in facts
    ]
    return Page(messages, page_to(uid_validity, chosen[-1]) if len(uids) > limit else None)


def next_cursor(page: Page, arguments: Mapping[str, Any]) -> str | None:
    """Where the list goes on."""
    return cursor_to(page.next_page, "search", arguments)


def _message(facts: Mapping[str, Value], authserv_id: str | None) -> dict[str, Any]:
    header = read_header(header_of(facts), _HEADER_BYTES)
    vouched = attested(header, authserv_id)
    return {
        **sender_of(header),
        "attested_domain": vouched.domain if vouched else None,
        "to": header.text("to"),
        "subject": header.text("subject"),
        "date": header.moment("date"),
        "message_id": next(iter(header.ids("message-id")), None),
        **state_of(facts),
    }


def sender_of(header: Header) -> dict[str, str | None]:
    """Who the message says it is from: the words, and the address when there is exactly one."""
    address = header.address("from")
    return {"from": header.text("from"), "from_address": str(address) if address else None}


def state_of(facts: Mapping[str, Value]) -> dict[str, Any]:
    """What the server knows of a message by itself."""
    flags, size = facts.get("FLAGS"), facts.get("RFC822.SIZE")
    return {
        "received_at": internal_date(facts.get("INTERNALDATE")),
        "is_seen": isinstance(flags, list)
        and any(isinstance(flag, str) and flag.lower() == "\\seen" for flag in flags),
        "size_bytes": int(size) if isinstance(size, str) and size.isdigit() and len(size) <= 15 else None,
    }


def header_of(facts: Mapping[str, Value]) -> bytes:
    """The bytes of a header that was asked for in part."""
    for name, value in facts.items():
        if name.startswith("BODY[HEADER") and isinstance(value, bytes):
            return value
    return b""


def _below(page: str | None, uid_validity: int) -> int | None:
    if page is None:
        return None
    validity, uid = read_page(page)
    if validity != uid_validity:
        message = "The folder was made anew since the cursor was given; search again without the cursor."
        raise AdapterError(ErrorKind.CONFLICT, message, happened=Happened.NO)
    return uid


def _criteria(arguments: Mapping[str, Any], below: int | None) -> Iterator[Word]:
    """What SEARCH is told, each word of an agent's as a string of its own."""
    yield b"UNDELETED"
    if below is not None:
        yield b"UID 1:%d" % max(below - 1, 1)
    if arguments["unseen"]:
        yield b"UNSEEN"
    for name, key in (("since", b"SINCE"), ("before", b"BEFORE")):
        if arguments[name] is not None:
            yield key + b" " + day(date.fromisoformat(arguments[name]))
    for name, key in _KEYS.items():
        if arguments[name] is not None:
            yield key
            yield string(arguments[name])
    for word in arguments["words"]:
        yield b"TEXT"
        yield string(word)


def _folder(name: str | None, issues: list[ArgumentIssue]) -> str:
    folder = "INBOX" if name is None else folder_of(name)
    if not is_folder(folder):
        message = "must be the name of one folder, such as INBOX or Sent"
        issues.append(ArgumentIssue(path="/folder", rule="folder", message=message))
    return folder


def _term(value: str | None, name: str, issues: list[ArgumentIssue]) -> str | None:
    term = None if value is None else value.strip(" ")
    if not term:
        return None
    if not term.isprintable() or len(term) > MAX_TERM:
        message = f"must be at most {MAX_TERM} characters in one line"
        issues.append(ArgumentIssue(path=f"/{name}", rule="term", message=message))
    return term


def _words(text: str | None, issues: list[ArgumentIssue]) -> list[str]:
    words = list(dict.fromkeys((text or "").split()))
    if len(words) > MAX_WORDS:
        message = f"may hold {MAX_WORDS} words; every one of them must be in the message"
        issues.append(ArgumentIssue(path="/text", rule="max_words", message=message))
    return words


def _date(value: str | None, name: str, issues: list[ArgumentIssue]) -> str | None:
    try:
        return None if value is None else _plain_date(value)
    except ValueError:
        message = "must be a day as YYYY-MM-DD"
        issues.append(ArgumentIssue(path=f"/{name}", rule="date", message=message))
        return None


def _plain_date(value: str) -> str:
    read = date.fromisoformat(value)
    if read.isoformat() != value or read.year < 1970:
        raise ValueError("another way to write it, or before there was mail")
    return value


def _limit(value: int | None, issues: list[ArgumentIssue]) -> int:
    limit = DEFAULT_LIMIT if value is None else value
    if not 1 <= limit <= MAX_LIMIT:
        issues.append(ArgumentIssue(path="/limit", rule="range", message=f"must be from 1 to {MAX_LIMIT}"))
    return limit
