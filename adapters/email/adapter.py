"""Mail: sent by SMTP submission, searched and read by IMAP."""

import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from adapters.base import (
    AdapterError,
    Clock,
    ErrorKind,
    Fault,
    Finding,
    Happened,
    Invocation,
    Operation,
    Output,
    SideEffect,
    Target,
)
from adapters.email import session
from adapters.email.account import Account, BadTarget, Server, read_account
from adapters.email.attempts import repeated
from adapters.email.identifiers import message_id
from adapters.email.imap.session import Session
from adapters.email.imap.visit import in_session, server_of
from adapters.email.proof import tell
from adapters.email.reading import ReadArguments, prepare_read, read_message
from adapters.email.reconcile import look_for
from adapters.email.searching import SearchArguments, next_cursor, prepare_search, search
from adapters.email.sending import SendArguments, envelope_of, prepare_send
from adapters.email.tls import Contexts
from adapters.transport.breaker import Breaker

T = TypeVar("T")


class EmailAdapter:
    """The operations `send`, `search` and `read_message`. `chance` returns numbers from 0 to 1 and spreads repeated
    attempts.

    A server that fails again and again is left alone for a while, each connection's for itself.
    """

    name = "email"

    def __init__(
        self, clock: Clock, *, breaker: Breaker | None = None, chance: Callable[[], float] = random.random
    ) -> None:
        self._clock = clock
        self._breaker = breaker or Breaker(clock)
        self._chance = chance
        self._contexts = Contexts()
        self.operations: Mapping[str, Operation] = {operation.name: operation for operation in self._operations()}

    def _operations(self) -> Iterator[Operation]:
        yield Operation(
            name="send",
            arguments=SendArguments,
            side_effect=SideEffect.SEND,
            prepare=prepare_send,
            invoke=self._send,
            needs_credential=True,
            reconcile=self._reconcile,
        )
        reading = partial(Operation, side_effect=SideEffect.READ, needs_credential=True)
        yield reading(name="search", arguments=SearchArguments, prepare=prepare_search, invoke=self._search)
        yield reading(name="read_message", arguments=ReadArguments, prepare=prepare_read, invoke=self._read)

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
        """Nothing is kept open between calls."""

    async def _send(self, invocation: Invocation) -> Output:
        account = _account(invocation.target)
        envelope = envelope_of(invocation.arguments, account, invocation.effect_id, self._clock.now())
        credential = invocation.credential
        if credential is None:
            raise _no(ErrorKind.NEEDS_AUTHORISATION, "The mail connection has no credential.")
        tell(invocation, account)
        tls = await self._contexts.of(account.ca_file)

        async def attempt() -> None:
            await session.send(envelope, account, credential, tls, self._clock, invocation.deadline)

        assert account.smtp is not None  # there is an envelope for it
        _, attempts = await self._tried(invocation, account.smtp, attempt)
        count = len(envelope.recipients)
        sent = message_id(invocation.effect_id, envelope.sender)
        return Output(
            structured={"message_id": sent, "accepted": count},
            receipt=f"Sent mail to {count} recipient{'s' if count != 1 else ''} (message id {sent}).",
            attempts=attempts,
        )

    async def _search(self, invocation: Invocation) -> Output:
        account = _account(invocation.target)
        arguments = invocation.arguments
        page, attempts = await self._reading(
            invocation, account, lambda session: search(session, arguments, account.authserv_id)
        )
        count = len(page.messages)
        return Output(
            structured={"messages": page.messages, "next_cursor": next_cursor(page, arguments)},
            receipt=f"Found {count} message{'s' if count != 1 else ''}{' and more' if page.next_page else ''}.",
            attempts=attempts,
        )

    async def _read(self, invocation: Invocation) -> Output:
        account = _account(invocation.target)
        letter, attempts = await self._reading(
            invocation, account, lambda session: read_message(session, invocation.arguments, account.authserv_id)
        )
        count = len(letter.structured["attachments"])
        return Output(
            structured=letter.structured,
            receipt=f"Read one message with {count} attachment{'s' if count != 1 else ''}.",
            cut=letter.cut,
            attempts=attempts,
        )

    async def _reconcile(self, invocation: Invocation) -> Finding:
        """DONE when the message is where the server keeps what it sent; nothing else proves anything."""
        account = _account(invocation.target)
        if account.imap is None or account.sent_folder is None or account.sender is None:
            return Finding.STILL_UNKNOWN
        folder, sought = account.sent_folder, message_id(invocation.effect_id, account.sender)
        finding, _ = await self._reading(invocation, account, lambda session: look_for(session, folder, sought))
        return finding

    async def _reading(
        self, invocation: Invocation, account: Account, work: Callable[[Session], Awaitable[T]]
    ) -> tuple[T, int]:
        server = server_of(account)
        tell(invocation, account)
        tls = await self._contexts.of(account.ca_file)

        async def attempt() -> T:
            return await in_session(account, invocation.credential, tls, self._clock, invocation.deadline, work)

        return await self._tried(invocation, server, attempt)

    async def _tried(
        self, invocation: Invocation, server: Server, attempt: Callable[[], Awaitable[T]]
    ) -> tuple[T, int]:
        """What came of it. A server that this account failed at again and again is not asked."""
        account = invocation.target.account or invocation.target.name
        with self._breaker.guarding(f"{account} {server.host}:{server.port}"):
            return await repeated(attempt, self._clock, self._chance, invocation.deadline)


def _account(target: Target) -> Account:
    """The account. Raises `AdapterError`, though the registry should have refused such a target."""
    try:
        return read_account(target)
    except BadTarget as error:
        raise _no(ErrorKind.UNAVAILABLE, "The mail connection is not set up correctly.") from error


def _no(kind: ErrorKind, message: str) -> AdapterError:
    return AdapterError(kind, message, happened=Happened.NO, fault=Fault.REFUSED)
