"""SMTP sessions against a real server."""

import asyncio
import base64
import ssl
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
import uvloop
from aiosmtplib import SMTP
from fakes.smtp import DROP, HANG, PASSWORD, USERNAME, SmtpServer, smtp_server

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Secret, Target
from adapters.email.account import Account, read_account
from adapters.email.addresses import Address
from adapters.email.failures import ConnectFailure
from adapters.email.session import Envelope, _open_envelope, send
from gateway.clock import SystemClock

ENVELOPE = Envelope(
    sender=Address("bot", "corp.example"),
    recipients=("ann@corp.example", "bo@corp.example"),
    pointers={"ann@corp.example": "/to/0", "bo@corp.example": "/cc/0"},
    message=b"From: bot@corp.example\r\nSubject: Hi\r\n\r\n.dot\r\n",
)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """One certificate authority for all tests of this file."""
    return trustme.CA()


@pytest.fixture
def server(tmp_path: Path, authority: trustme.CA) -> Iterator[SmtpServer]:
    """A server that asks for STARTTLS and a password."""
    with smtp_server(tmp_path, authority=authority) as running:
        yield running


def account_of(server: SmtpServer, **changes: object) -> Account:
    """The account of the server's options."""
    options = server.options | changes
    return read_account(Target(name="mail", hosts=(options["host"],), options=options))


async def deliver(server: SmtpServer, *, password: str = PASSWORD, seconds: float = 10.0, **changes: object) -> None:
    """Send `ENVELOPE` through the server."""
    clock = SystemClock()
    context = ssl.create_default_context(cafile=str(server.ca_file))
    deadline = clock.monotonic() + seconds
    await send(ENVELOPE, account_of(server, **changes), Secret(password), context, clock, deadline)


async def failure(server: SmtpServer, **changes: object) -> AdapterError:
    """The error that sending ends with."""
    with pytest.raises(AdapterError) as caught:
        await deliver(server, **changes)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize("tls", ["starttls", "implicit", "none"])
async def test_mail_is_delivered(tmp_path: Path, authority: trustme.CA, tls: str) -> None:
    """The server has exactly the sender, recipients and content that it was handed."""
    with smtp_server(tmp_path, tls, authority) as server:
        await deliver(server)
        assert [mail.recipients for mail in server.mailbox] == [ENVELOPE.recipients]
        assert server.mailbox[0].sender == "bot@corp.example"
        assert server.mailbox[0].content == ENVELOPE.message


async def test_a_wrong_password_needs_authorisation_after_one_attempt(server: SmtpServer) -> None:
    """One method is tried once: three tries would lock an account."""
    error = await failure(server, password="wrong-password")
    assert (error.kind, error.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)
    assert len(server.connections) == 1


async def test_a_token_goes_by_xoauth2_and_by_nothing_else(server: SmtpServer) -> None:
    """The credential of such an account is an access token."""
    await deliver(server, password="ya29.token", auth="xoauth2")
    assert server.tokens == [b"user=bot\x01auth=Bearer ya29.token\x01\x01"]
    assert len(server.mailbox) == 1


@pytest.mark.parametrize("password", ["", "two\r\nlines", "nul\0nul"])
async def test_a_password_that_cannot_be_sent_is_not_sent(server: SmtpServer, password: str) -> None:
    """It needs authorisation, since trying again will not help."""
    assert (await failure(server, password=password)).kind is ErrorKind.NEEDS_AUTHORISATION


async def test_no_password_in_an_exception_when_the_server_repeats_it(server: SmtpServer) -> None:
    """Neither plain nor as AUTH sent it, in no exception along the chain."""
    server.faults.auth = f"535 {USERNAME} {{auth}} is wrong"
    error = await failure(server)
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = "".join(traceback.format_exception(error)) + repr(error)
    plain = base64.b64encode(f"\0{USERNAME}\0{PASSWORD}".encode()).decode()
    assert PASSWORD not in shown
    assert plain not in shown


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
async def test_a_certificate_of_a_stranger_is_refused(tmp_path: Path, tls: str) -> None:
    """The password is not sent to a server that cannot prove its name."""
    with smtp_server(tmp_path, tls) as server:
        trustme.CA().cert_pem.write_to_path(str(server.ca_file))
        error = await failure(server)
        assert (error.kind, error.fault, error.happened) == (ErrorKind.UNAVAILABLE, Fault.REFUSED, Happened.NO)
        assert not isinstance(error, ConnectFailure)


async def test_a_certificate_for_another_name_is_refused(server: SmtpServer) -> None:
    """The name that was asked for must be in it."""
    assert (await failure(server, host="127.0.0.1")).fault is Fault.REFUSED


async def test_a_server_without_starttls_gets_no_password(tmp_path: Path) -> None:
    """Encryption is not optional once the target asks for it."""
    with smtp_server(tmp_path, "none") as server:
        error = await failure(server, tls="starttls", host="localhost")
        assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
        assert not server.mailbox


@pytest.mark.parametrize(
    ("banner", "kind", "may_repeat"),
    [
        ("554 go away", ErrorKind.UNAVAILABLE, False),
        ("421 busy", ErrorKind.UNAVAILABLE, True),
        ("HTTP/1.1 400 Bad Request", ErrorKind.MALFORMED, False),
        (DROP, ErrorKind.UNAVAILABLE, True),
    ],
)
async def test_banners(server: SmtpServer, banner: str, kind: ErrorKind, may_repeat: bool) -> None:
    """Only what may pass by itself may be tried again."""
    server.faults.banner = banner
    error = await failure(server)
    assert (error.kind, error.happened) == (kind, Happened.NO)
    assert isinstance(error, ConnectFailure) is may_repeat


async def test_one_refused_recipient_means_nothing_for_anybody(server: SmtpServer) -> None:
    """The refused one is named by its place, and the body never goes out."""
    server.faults.recipients = {"bo@corp.example": "550 no such user"}
    error = await failure(server)
    assert (error.kind, error.happened) == (ErrorKind.INVALID, Happened.NO)
    assert "/cc/0" in error.message
    assert "/to/0" not in error.message
    assert "no such user" not in error.message
    assert not server.mailbox
    assert not server.body_seen.is_set()


async def test_a_greylisted_recipient_can_be_tried_later(server: SmtpServer) -> None:
    """A 4xx for one is `unavailable` for all."""
    server.faults.recipients = {"ann@corp.example": "450 4.2.0 later"}
    error = await failure(server)
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert not server.mailbox


@pytest.mark.parametrize("step", ["mail", "data", "body"])
@pytest.mark.parametrize("reply", ["451 4.7.1 later", "554 no"])
async def test_a_reply_that_says_no_means_nothing_happened(server: SmtpServer, step: str, reply: str) -> None:
    """At every step, after the body too."""
    setattr(server.faults, step, reply)
    error = await failure(server)
    assert error.happened is Happened.NO
    assert (error.kind is ErrorKind.RATE_LIMITED) is reply.startswith("4")
    assert not server.mailbox


async def test_a_connection_lost_before_the_body_means_nothing_happened(server: SmtpServer) -> None:
    """DATA was asked and never answered."""
    server.faults.data = DROP
    assert (await failure(server)).happened is Happened.NO


async def test_a_connection_lost_after_the_body_leaves_it_unknown(server: SmtpServer) -> None:
    """The server may have taken it."""
    server.faults.body = DROP
    error = await failure(server)
    assert (error.happened, error.fault) == (Happened.UNKNOWN, Fault.RESET)


@pytest.mark.parametrize(
    ("step", "happened"), [("banner", Happened.NO), ("data", Happened.NO), ("body", Happened.UNKNOWN)]
)
async def test_a_server_that_hangs_is_left_at_the_deadline(server: SmtpServer, step: str, happened: Happened) -> None:
    """The error says whether the message may be out."""
    setattr(server.faults, step, HANG)
    error = await failure(server, seconds=0.3)
    assert (error.kind, error.fault, error.happened) == (ErrorKind.DEADLINE, Fault.TIMEOUT, happened)


async def test_a_deadline_that_has_passed_sends_nothing(server: SmtpServer) -> None:
    """Not even a connection is needed to say so."""
    error = await failure(server, seconds=-1.0)
    assert (error.kind, error.happened) == (ErrorKind.DEADLINE, Happened.NO)


async def test_nobody_listening(server: SmtpServer) -> None:
    """A refused connection may be tried again."""
    error = await failure(server, port=1)
    assert isinstance(error, ConnectFailure)
    assert error.fault is Fault.REFUSED


async def test_cancellation_passes_and_closes_the_connection(server: SmtpServer) -> None:
    """The caller's cancellation is not turned into an error of ours, and no message comes of it later."""
    server.faults.body = HANG
    task = asyncio.create_task(deliver(server))
    assert await asyncio.to_thread(server.body_seen.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not server.mailbox


async def test_a_message_over_the_servers_size_is_not_begun(server: SmtpServer) -> None:
    """The limit that the server states is kept to."""
    clock = SystemClock()
    context = ssl.create_default_context(cafile=str(server.ca_file))
    large = Envelope(
        sender=ENVELOPE.sender, recipients=ENVELOPE.recipients, pointers=ENVELOPE.pointers, message=b"x" * 34_000_000
    )
    with pytest.raises(AdapterError) as caught:
        await send(large, account_of(server), Secret(PASSWORD), context, clock, clock.monotonic() + 10)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.TOO_LARGE, Happened.NO)
    assert not server.body_seen.is_set()


def test_uvloop_sends_and_drops_connections_too(server: SmtpServer) -> None:
    """The gateway runs on uvloop, whose transports are not asyncio's."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(deliver(server))
        server.faults.body = HANG
        with pytest.raises(AdapterError) as caught:
            runner.run(deliver(server, seconds=0.3))
    assert caught.value.happened is Happened.UNKNOWN
    assert len(server.mailbox) == 1


class Injecting:
    """A server, or somebody before it, that says more than it should between STARTTLS and the handshake."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self.told: list[bytes] = []
        self.gone = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the caller leaves; nothing of the connection stays open."""
        plain = writer.transport
        try:
            await self._converse(reader, writer)
        except OSError:  # in the middle of the handshake
            pass
        finally:
            writer.transport.abort()
            plain.abort()
            self.gone.set()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 hi\r\n")
        while line := await reader.readline():
            self.told.append(line)
            if line.startswith(b"STARTTLS"):
                writer.write(b"220 go\r\n250-injected\r\n250 AUTH PLAIN\r\n")
                await writer.start_tls(self._context)
            else:
                writer.write(b"250-corp.example\r\n250 STARTTLS\r\n")


async def test_words_in_the_clear_after_starttls_are_nobodys(tmp_path: Path, authority: trustme.CA) -> None:
    """What somebody put before the encryption is not taken for an answer of the server's that comes after it."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    injecting = Injecting(context)
    running = await asyncio.start_server(injecting.serve, "127.0.0.1", 0)
    server = SmtpServer("starttls", tmp_path / "ca.pem", running.sockets[0].getsockname()[1])
    async with running:
        error = await failure(server)
        await asyncio.wait_for(injecting.gone.wait(), 10)
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert not any(line.startswith(b"AUTH") for line in injecting.told)


@pytest.mark.parametrize("size", ["\u00b2", "9" * 5000, "-1", "1_0", "", "x"])
async def test_a_size_that_is_none_limits_nothing(tmp_path: Path, size: str) -> None:
    """A strange server is told the message and may refuse it."""
    with smtp_server(tmp_path, "none") as server:
        client = SMTP(hostname="127.0.0.1", port=server.port, start_tls=False)
        await client.connect()
        await client.ehlo()
        await client.auth_plain(USERNAME, PASSWORD)
        client.esmtp_extensions["size"] = size
        await _open_envelope(client, ENVELOPE)
        client.close()
