"""What an agent gives to `send`, checked, and the envelope that comes of it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NotRequired, TypedDict

from adapters.base import AdapterError, ArgumentIssue, ArgumentProblem, ErrorKind, Fault, Happened
from adapters.email.account import Account
from adapters.email.addresses import Address, NotAnAddress, header_problem, parse_address
from adapters.email.attachments import Attachment, prepare_attachments
from adapters.email.identifiers import NotAnId, parse_id
from adapters.email.message import Unwritable, build_message
from adapters.email.session import Envelope

MAX_RECIPIENTS = 50
MAX_SUBJECT = 200
MAX_REFERENCES = 60

_LISTS = ("to", "cc", "bcc")


class SendArguments(TypedDict):
    """What an agent sends."""

    to: list[str]
    subject: str
    text: str
    cc: NotRequired[list[str]]
    bcc: NotRequired[list[str]]
    reply_to: NotRequired[str]
    html: NotRequired[str]
    attachments: NotRequired[list[Attachment]]
    in_reply_to: NotRequired[str]
    references: NotRequired[list[str]]


def prepare_send(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with every address canonical, and `recipients`: the sorted list of all of them.

    `recipients` is what policy judges and what the envelope is made of, address for address; `attachments` say name,
    type, size and digest of each file. Pure. Raises `ArgumentProblem` with every issue.
    """
    issues: list[ArgumentIssue] = []
    lists = {name: _addresses(arguments.get(name) or [], name, issues) for name in _LISTS}
    prepared: dict[str, Any] = {name: [str(address) for address in found] for name, found in lists.items()}
    prepared["recipients"] = sorted({address.folded for found in lists.values() for address in found})
    prepared["subject"] = _subject(arguments["subject"], issues)
    prepared["text"] = _body(arguments["text"], "/text", issues)
    prepared["html"] = None if arguments.get("html") is None else _body(arguments["html"], "/html", issues)
    prepared["reply_to"] = _reply_to(arguments.get("reply_to"), issues)
    prepared["attachments"] = prepare_attachments(arguments.get("attachments") or [], issues)
    prepared["in_reply_to"] = _first(_id(arguments.get("in_reply_to"), "/in_reply_to", issues))
    prepared["references"] = _references(arguments.get("references") or [], issues)
    issues += _counts(arguments, lists.values())
    if issues:
        raise ArgumentProblem(*issues)
    return prepared


def envelope_of(arguments: Mapping[str, Any], account: Account, effect_id: str, now: float) -> Envelope:
    """What is handed to the server. Raises `AdapterError` for an account that does not send, or an unwritable mail."""
    if account.smtp is None or account.sender is None:
        message = "The mail connection is not set up for sending; its operator can add host, port, tls and from."
        raise _no(ErrorKind.UNAVAILABLE, message)
    try:
        message_bytes = build_message(arguments, account.sender, effect_id, now)
    except Unwritable as error:
        raise _no(ErrorKind.INVALID, "The message cannot be written as mail. Use plainer text.") from error
    pointers = {
        entry.lower(): f"/{name}/{index}" for name in reversed(_LISTS) for index, entry in enumerate(arguments[name])
    }
    return Envelope(
        sender=account.sender,
        recipients=tuple(arguments["recipients"]),
        pointers=pointers,
        message=message_bytes,
    )


def _counts(arguments: Mapping[str, Any], lists: Iterable[list[Address]]) -> Iterator[ArgumentIssue]:
    if not arguments["to"]:
        yield ArgumentIssue(path="/to", rule="min_items", message="name at least one recipient")
    if sum(map(len, lists)) > MAX_RECIPIENTS:
        message = f"to, cc and bcc may name {MAX_RECIPIENTS} in all"
        yield ArgumentIssue(path="/to", rule="max_recipients", message=message)


def _addresses(entries: list[str], name: str, issues: list[ArgumentIssue]) -> list[Address]:
    return [address for index, entry in enumerate(entries) for address in _one(entry, f"/{name}/{index}", issues)]


def _one(entry: str, path: str, issues: list[ArgumentIssue]) -> Iterator[Address]:
    try:
        yield parse_address(entry)
    except NotAnAddress as error:
        issues.append(ArgumentIssue(path=path, rule=error.rule, message=error.message))


def _reply_to(entry: str | None, issues: list[ArgumentIssue]) -> str | None:
    return None if entry is None else _first(map(str, _one(entry, "/reply_to", issues)))


def _references(entries: list[str], issues: list[ArgumentIssue]) -> list[str]:
    if len(entries) > MAX_REFERENCES:
        message = f"name {MAX_REFERENCES} messages at most, best the first and the last ones"
        issues.append(ArgumentIssue(path="/references", rule="max_items", message=message))
        return []
    return [one for index, entry in enumerate(entries) for one in _id(entry, f"/references/{index}", issues)]


def _id(entry: str | None, path: str, issues: list[ArgumentIssue]) -> Iterator[str]:
    if entry is None:
        return
    try:
        yield parse_id(entry)
    except NotAnId as error:
        issues.append(ArgumentIssue(path=path, rule=error.rule, message=error.message))


def _first(found: Iterable[str]) -> str | None:
    return next(iter(found), None)


def _subject(subject: str, issues: list[ArgumentIssue]) -> str:
    stripped = subject.strip(" ")
    if problem := header_problem(subject):
        issues.append(ArgumentIssue(path="/subject", rule=problem[0], message=problem[1]))
    elif not 0 < len(stripped) <= MAX_SUBJECT:
        message = f"must have from 1 to {MAX_SUBJECT} characters"
        issues.append(ArgumentIssue(path="/subject", rule="length", message=message))
    return stripped


def _body(text: str, path: str, issues: list[ArgumentIssue]) -> str:
    """The text with every line break as one line feed: the form in which it is sent."""
    if "\0" in text:
        issues.append(ArgumentIssue(path=path, rule="control_character", message="must not hold NUL characters"))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _no(kind: ErrorKind, message: str) -> AdapterError:
    return AdapterError(kind, message, happened=Happened.NO, fault=Fault.REFUSED)
