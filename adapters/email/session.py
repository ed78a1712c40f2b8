"""One message over one SMTP connection. What goes wrong leaves as an `AdapterError` (see `failures`).

Until the first byte of the message body nothing can have happened; from there on only the server's
reply to the end of the data tells. Hence DATA and the body are two steps here.
"""

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from aiosmtplib import SMTP, SMTPServerDisconnected

from adapters.base import AdapterError, Clock, ErrorKind, Fault, Happened, Secret
from adapters.email.account import Account, Server
from adapters.email.addresses import Address
from adapters.email.failures import Phase, Rejected, failure_of
from adapters.email.message import dot_stuffed

CONNECT_SECONDS = 10.0
"""The longest to wait for a connection, and again for the greeting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What is handed to the server, ready: nothing in it is parsed again."""

    sender: Address
    recipients: tuple[str, ...]
    pointers: Mapping[str, str]
    """For each recipient, where it stands in the agent's arguments."""
    message: bytes = field(repr=False)


@dataclass(slots=True)
class _Progress:
    phase: Phase = Phase.CONNECT


async def send(
    envelope: Envelope, account: Account, password: Secret, tls: ssl.SSLContext, clock: Clock, deadline: float
) -> None:
    """The server has taken the message for every recipient. Raises `AdapterError`."""
    assert account.smtp is not None  # whoever has an envelope has a server to hand it to
    client = _client(account.smtp, envelope.sender, tls)
    progress = _Progress()
    failure: AdapterError | None = None
    try:
        async with asyncio.timeout(deadline - clock.monotonic()):
            await _converse(client, envelope, account, password, progress)
        _leave(client)
    except Exception as error:  # noqa: BLE001 - all of them are mapped
        failure = failure_of(error, progress.phase)
        if isinstance(error, Rejected):
            _leave(client)
    finally:
        _abort(client)
    # Raised outside the except block, so that the library's exception is neither its cause nor its
    # context: a server's words may hold what it was sent, the password included.
    if failure is not None:
        raise failure


def _client(server: Server, sender: Address, tls: ssl.SSLContext) -> SMTP:
    return SMTP(
        hostname=server.host,
        port=server.port,
        local_hostname=sender.domain,
        timeout=None,
        use_tls=server.tls == "implicit",
        start_tls=False,
        tls_context=tls,
    )


async def _converse(client: SMTP, envelope: Envelope, account: Account, password: Secret, progress: _Progress) -> None:
    await client.connect(timeout=CONNECT_SECONDS)
    if account.smtp is not None and account.smtp.tls == "starttls":
        progress.phase = Phase.SECURE
        await client.starttls()
    progress.phase = Phase.LOGIN
    await _login(client, account, password)
    progress.phase = Phase.ENVELOPE
    await _open_envelope(client, envelope)
    body = dot_stuffed(envelope.message)
    progress.phase = Phase.BODY
    await _send_body(client, body)


async def _login(client: SMTP, account: Account, password: Secret) -> None:
    """One attempt with one method: a wrong password tried three ways would lock an account."""
    await client.ehlo()
    value = password.reveal()
    if not value or not value.isprintable():
        raise _no(ErrorKind.NEEDS_AUTHORISATION, "The connection's credential cannot be used as a password.")
    methods = {"plain": client.auth_plain, "login": client.auth_login, "cram-md5": client.auth_crammd5}
    if account.method == "xoauth2":
        methods = {"xoauth2": client.auth_xoauth2}
    for name, authenticate in methods.items():
        if name in client.server_auth_methods:
            await authenticate(account.username, value)
            return
    raise _no(ErrorKind.UNAVAILABLE, "The mail server offers no way to sign in that is supported here.")


async def _open_envelope(client: SMTP, envelope: Envelope) -> None:
    """The server is ready for the body, for all recipients or not at all."""
    limit = client.esmtp_extensions.get("size", "")
    if re.fullmatch(r"[0-9]{1,15}", limit) and 0 < int(limit) < len(envelope.message):
        raise Rejected(552)
    await _command(client, b"MAIL", b"FROM:<" + str(envelope.sender).encode("ascii") + b">")
    refused: dict[str, Rejected] = {}
    for recipient in envelope.recipients:
        try:
            await _command(client, b"RCPT", b"TO:<" + recipient.encode("ascii") + b">")
        except Rejected as error:
            refused[envelope.pointers[recipient]] = error
            if error.code == 421:
                break
    if refused:
        raise _worst(refused)
    await _command(client, b"DATA", expected=354)


def _worst(refused: Mapping[str, Rejected]) -> Rejected:
    """One refusal for all: recipients that will never be taken outweigh those to try again later."""
    final = {pointer: error for pointer, error in refused.items() if error.code >= 500}
    if final:
        return Rejected(max(error.code for error in final.values()), pointers=tuple(final))
    return next(iter(refused.values()))


async def _command(client: SMTP, *words: bytes, expected: int | None = None) -> None:
    """The server agreed. The words are written as they are: no library parses an address again."""
    response = await client.execute_command(*words)
    if response.code != expected and (expected is not None or response.code // 100 != 2):
        raise Rejected(response.code, response.message)


async def _send_body(client: SMTP, body: bytes) -> None:
    protocol = client.protocol
    if protocol is None:
        raise SMTPServerDisconnected("lost before the body")
    protocol.write(body)
    response = await protocol.read_response()
    if response.code // 100 != 2:
        raise Rejected(response.code, response.message)


def _leave(client: SMTP) -> None:
    """Say goodbye; nobody waits for the answer. The caller drops the connection next."""
    if client.protocol is not None and client.is_connected:
        client.protocol.write(b"QUIT\r\n")


def _abort(client: SMTP) -> None:
    """Drop the connection at once: what is still buffered must not complete a message after all."""
    if client.transport is not None:
        # uvloop's transports are not asyncio's by class, and have what they have.
        cast("asyncio.WriteTransport", client.transport).abort()
    client.close()


def _no(kind: ErrorKind, message: str) -> AdapterError:
    return AdapterError(kind, message, happened=Happened.NO, fault=Fault.REFUSED)
