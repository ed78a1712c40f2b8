"""Mail by SMTP submission."""

import asyncio
import random
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from adapters.base import (
    AdapterError,
    ArgumentIssue,
    ArgumentProblem,
    Clock,
    ErrorKind,
    Fault,
    Happened,
    Invocation,
    Operation,
    Output,
    SideEffect,
    Target,
)
from adapters.email import session
from adapters.email.account import Account, BadTarget, read_account
from adapters.email.addresses import Address, NotAnAddress, header_problem, parse_address
from adapters.email.failures import ConnectFailure
from adapters.email.message import Unwritable, build_message, message_id
from adapters.transport.breaker import Breaker

MAX_RECIPIENTS = 50
MAX_SUBJECT = 200
MAX_CONNECTS = 3
RETRY_SECONDS = 0.5
"""The longest pause before the second attempt to connect; it doubles after that."""

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


class EmailAdapter:
    """The operation `send`. `chance` returns numbers from 0 to 1 and spreads repeated attempts.

    A server that fails again and again is left alone for a while, each connection's for itself. There is no
    `reconcile`: SMTP has no question for what became of a message, and an answer that is a guess would send it twice.
    """

    name = "email"

    def __init__(
        self, clock: Clock, *, breaker: Breaker | None = None, chance: Callable[[], float] = random.random
    ) -> None:
        self._clock = clock
        self._breaker = breaker or Breaker(clock)
        self._chance = chance
        self._contexts: dict[tuple[str, int], ssl.SSLContext] = {}
        self.operations: Mapping[str, Operation] = {
            "send": Operation(
                name="send",
                arguments=SendArguments,
                side_effect=SideEffect.SEND,
                prepare=prepare_send,
                invoke=self._send,
                needs_credential=True,
            )
        }

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a mail connection; empty when all is well."""
        try:
            read_account(target)
        except BadTarget as error:
            return error.problems
        return []

    @property
    def open_circuits(self) -> int:
        """How many mail servers are left alone for the moment."""
        return self._breaker.open_circuits

    async def close(self) -> None:
        """Nothing is kept open between messages."""

    async def _send(self, invocation: Invocation) -> Output:
        account, envelope = _ready(invocation, self._clock.now())
        tls = await self._tls(account)
        with self._breaker.guarding(
            f"{invocation.target.account or invocation.target.name} {account.host}:{account.port}"
        ):
            attempts = await self._deliver(invocation, account, envelope, tls)
        count = len(envelope.recipients)
        sent = message_id(invocation.effect_id, account.sender)
        return Output(
            structured={"message_id": sent, "accepted": count},
            receipt=f"Sent mail to {count} recipient{'s' if count != 1 else ''} (message id {sent}).",
            attempts=attempts,
        )

    async def _deliver(
        self, invocation: Invocation, account: Account, envelope: session.Envelope, tls: ssl.SSLContext
    ) -> int:
        """The number of attempts that it took. Only connecting is repeated: until then nothing was sent."""
        if invocation.credential is None:
            raise _no(ErrorKind.NEEDS_AUTHORISATION, "The mail connection has no credential.")
        attempt = 1
        while True:
            try:
                await session.send(envelope, account, invocation.credential, tls, self._clock, invocation.deadline)
            except AdapterError as failure:
                failure.attempts = attempt
                pause = RETRY_SECONDS * 2 ** (attempt - 1) * self._chance()
                is_too_late = self._clock.monotonic() + pause >= invocation.deadline
                if not isinstance(failure, ConnectFailure) or attempt == MAX_CONNECTS or is_too_late:
                    raise
            else:
                return attempt
            await self._clock.sleep(pause)
            attempt += 1

    async def _tls(self, account: Account) -> ssl.SSLContext:
        """The context for an account, built once per version of its file of authorities."""
        try:
            key = (account.ca_file or "", _version(account.ca_file))
            if key not in self._contexts:
                self._contexts[key] = await asyncio.to_thread(_verifying_context, account.ca_file)
        except (OSError, ssl.SSLError, ValueError) as error:
            message = "The mail connection's certificate authorities cannot be read."
            raise _no(ErrorKind.UNAVAILABLE, message) from error
        return self._contexts[key]


def prepare_send(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with every address canonical, and `recipients`: the sorted list of all of them.

    `recipients` is what policy judges and what the envelope is made of, address for address. Pure.
    Raises `ArgumentProblem` with every issue.
    """
    issues: list[ArgumentIssue] = []
    lists = {name: _addresses(arguments.get(name) or [], name, issues) for name in _LISTS}
    prepared: dict[str, Any] = {name: [str(address) for address in found] for name, found in lists.items()}
    prepared["recipients"] = sorted({address.folded for found in lists.values() for address in found})
    prepared["subject"] = _subject(arguments["subject"], issues)
    prepared["text"] = _body(arguments["text"], "/text", issues)
    if arguments.get("html") is not None:
        prepared["html"] = _body(arguments["html"], "/html", issues)
    if arguments.get("reply_to") is not None:
        prepared["reply_to"] = "".join(map(str, _one(arguments["reply_to"], "/reply_to", issues)))
    if not arguments["to"]:
        issues.append(ArgumentIssue(path="/to", rule="min_items", message="name at least one recipient"))
    if sum(map(len, lists.values())) > MAX_RECIPIENTS:
        issues.append(
            ArgumentIssue(path="/to", rule="max_recipients", message=f"to, cc and bcc may name {MAX_RECIPIENTS} in all")
        )
    if issues:
        raise ArgumentProblem(*issues)
    return prepared


def _addresses(entries: list[str], name: str, issues: list[ArgumentIssue]) -> list[Address]:
    return [address for index, entry in enumerate(entries) for address in _one(entry, f"/{name}/{index}", issues)]


def _one(entry: str, path: str, issues: list[ArgumentIssue]) -> Iterator[Address]:
    try:
        yield parse_address(entry)
    except NotAnAddress as error:
        issues.append(ArgumentIssue(path=path, rule=error.rule, message=error.message))


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


def _ready(invocation: Invocation, now: float) -> tuple[Account, session.Envelope]:
    """Everything that can be known to be wrong before connecting."""
    arguments = invocation.arguments
    try:
        account = read_account(invocation.target)
        message = build_message(arguments, account.sender, invocation.effect_id, now)
    except BadTarget as error:
        raise _no(ErrorKind.UNAVAILABLE, "The mail connection is not set up correctly.") from error
    except Unwritable as error:
        raise _no(ErrorKind.INVALID, "The message cannot be written as mail. Use plainer text.") from error
    pointers = {
        entry.lower(): f"/{name}/{index}" for name in reversed(_LISTS) for index, entry in enumerate(arguments[name])
    }
    return account, session.Envelope(
        sender=str(account.sender),
        recipients=tuple(arguments["recipients"]),
        pointers=pointers,
        message=message,
    )


def _version(ca_file: str | None) -> int:
    return Path(ca_file).stat().st_mtime_ns if ca_file is not None else 0


def _verifying_context(ca_file: str | None) -> ssl.SSLContext:
    """A context that checks the server's name and chain. Built by hand: `create_default_context` obeys
    `SSLKEYLOGFILE`, and the default paths obey `SSL_CERT_FILE`, so that the environment could read along.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
        return context
    if Path(paths.openssl_cafile).exists():
        context.load_verify_locations(cafile=paths.openssl_cafile)
    if Path(paths.openssl_capath).is_dir():
        context.load_verify_locations(capath=paths.openssl_capath)
    return context


def _no(kind: ErrorKind, message: str) -> AdapterError:
    return AdapterError(kind, message, happened=Happened.NO, fault=Fault.REFUSED)
