"""A real SMTP server (aiosmtpd) with TLS and a password, a mailbox, and ways to fail."""

import asyncio
import base64
import ssl
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USERNAME = "bot"
PASSWORD = 'p@ss"word\\ü-8842'
DROP = "drop"
HANG = "hang"


@dataclass(slots=True)
class Faults:
    """What the server does instead of taking the message: a reply, or `DROP`, or `HANG`."""

    banner: str = ""
    auth: str = ""
    mail: str = ""
    recipients: dict[str, str] = field(default_factory=dict)
    data: str = ""
    """Instead of the 354 that asks for the body."""
    body: str = ""
    """After the end of the body."""


@dataclass(frozen=True, slots=True)
class Mail:
    """A message that the server took."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes


class _Server(SMTP):
    """aiosmtpd's protocol with the faults on top."""

    def __init__(
        self, *args: Any, faults: Faults, connections: list[int], transports: list[Any], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.transports = transports
        self.faults = faults
        self.connections = connections
        self.is_greeted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called again once TLS is on, with the transport that wraps the first."""
        self.transports.append(transport)
        super().connection_made(transport)

    async def push(self, status: str | bytes) -> None:
        """Write a reply; the first one is the banner."""
        if not self.is_greeted:
            self.is_greeted = True
            self.connections.append(1)
            if self.faults.banner:
                await self._fail(self.faults.banner)
                return
        await super().push(status)

    async def smtp_AUTH(self, arg: str) -> None:  # noqa: N802 - aiosmtpd calls it so
        """The AUTH command; `{auth}` in the fault stands for what the client sent."""
        if self.faults.auth:
            await self._fail(self.faults.auth.replace("{auth}", arg))
            return
        await super().smtp_AUTH(arg)

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802 - aiosmtpd calls it so
        """The DATA command."""
        if self.faults.data:
            await self._fail(self.faults.data)
            return
        await super().smtp_DATA(arg)

    async def _fail(self, fault: str) -> None:
        if fault == DROP:
            self.transport.abort()
        elif fault == HANG:
            await asyncio.Event().wait()
        else:
            await super().push(fault)


class _Handler:
    def __init__(self, server: "SmtpServer") -> None:
        self._server = server

    async def auth_XOAUTH2(self, server: SMTP, args: list[str]) -> AuthResult:  # noqa: N802 - aiosmtpd calls it so
        self._server.tokens.append(base64.b64decode(args[1]))
        return AuthResult(success=True, auth_data=b"")

    async def handle_MAIL(  # noqa: N802 - aiosmtpd calls it so
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self._server.faults.mail:
            return self._server.faults.mail
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802 - aiosmtpd calls it so
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if reply := self._server.faults.recipients.get(address):
            return reply
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - aiosmtpd calls it so
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        self._server.body_seen.set()
        fault = self._server.faults.body
        if fault == DROP:
            server.transport.abort()
            return "250 never seen"
        if fault == HANG:
            await asyncio.Event().wait()
        if fault:
            return fault
        assert isinstance(envelope.content, bytes)
        mail = Mail(str(envelope.mail_from), tuple(envelope.rcpt_tos), envelope.content)
        self._server.mailbox.append(mail)
        return "250 OK"


@dataclass(slots=True)
class SmtpServer:
    """A running server: where it is, what it got, and the faults that a test sets."""

    tls: str
    ca_file: Path
    port: int = 0
    faults: Faults = field(default_factory=Faults)
    mailbox: list[Mail] = field(default_factory=list)
    connections: list[int] = field(default_factory=list)
    """One item for every connection that was greeted."""
    tokens: list[bytes] = field(default_factory=list)
    """What XOAUTH2 said."""
    body_seen: threading.Event = field(default_factory=threading.Event)

    @property
    def options(self) -> dict[str, Any]:
        """The options of a target that sends through this server."""
        return {
            "host": "localhost" if self.tls != "none" else "127.0.0.1",
            "port": self.port,
            "tls": self.tls,
            "username": USERNAME,
            "from": "bot@corp.example",
            "ca_file": str(self.ca_file),
        }


class _Controller(Controller):
    def __init__(self, server: SmtpServer, make: Callable[[], SMTP], context: ssl.SSLContext | None) -> None:
        super().__init__(_Handler(server), hostname="127.0.0.1", port=0, ssl_context=context)
        self._make = make

    def factory(self) -> SMTP:
        """A protocol for one connection."""
        with warnings.catch_warnings():
            # Said of tls="none", which tests need in order to see that it is allowed on loopback alone.
            warnings.filterwarnings("ignore", "Requiring AUTH while not requiring TLS", UserWarning)
            return self._make()

    def _trigger_server(self) -> None:
        # The port is known only now; the base class connects to it to see that the server answers.
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@contextmanager
def smtp_server(folder: Path, tls: str = "starttls", authority: trustme.CA | None = None) -> Iterator[SmtpServer]:
    """A server on 127.0.0.1 whose certificate is for `localhost`; `tls` as in a target's options."""
    authority = authority or trustme.CA()
    ca_file = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    running = SmtpServer(tls=tls, ca_file=ca_file)
    controller: _Controller
    transports: list[Any] = []

    def make() -> SMTP:
        return _Server(
            controller.handler,
            faults=running.faults,
            connections=running.connections,
            transports=transports,
            hostname="mail.corp.example",
            loop=controller.loop,
            tls_context=context if tls == "starttls" else None,
            require_starttls=tls == "starttls",
            auth_required=True,
            auth_require_tls=tls == "starttls",  # aiosmtpd does not see implicit TLS
            authenticator=_authenticate,
        )

    controller = _Controller(running, make, context if tls == "implicit" else None)
    controller.start()
    running.port = controller.port
    running.connections.clear()
    try:
        yield running
    finally:
        asyncio.run_coroutine_threadsafe(_abort_all(transports), controller.loop).result(5)
        controller.stop()


async def _abort_all(transports: list[Any]) -> None:
    """Aiosmtpd leaves open connections behind when it stops, and their sockets would warn later."""
    # Also those that the loop has and nobody was told of yet: a handshake may be on its way.
    own: Any = getattr(asyncio.get_running_loop(), "_transports", {})
    for transport in (*transports, *own.values()):
        transport.abort()
    for _ in range(10):
        await asyncio.sleep(0)


def _authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
    wanted = LoginPassword(USERNAME.encode(), PASSWORD.encode())
    return AuthResult(success=data == wanted, handled=False)
