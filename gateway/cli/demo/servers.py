"""The world of the demo, all of it real and on loopback: a mail server that demands a password over TLS,
a web server with pages, and a port that nobody must be led to.
"""

import asyncio
import contextlib
import email
import logging
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from aiohttp import web

from gateway.errors import StartError

HOST = "127.0.0.1"
ARTICLE = "/harbour"
MOVED = "/moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Who may send mail."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """A message that the mail server took."""

    recipients: tuple[str, ...]
    content: bytes = field(repr=False)
    is_authenticated: bool
    is_encrypted: bool

    @property
    def subject(self) -> str:
        """What it says it is about."""
        return str(email.message_from_bytes(self.content).get("Subject", ""))


@dataclass(slots=True)
class World:
    """Where the servers are, and what they saw."""

    mail_port: int = 0
    web_port: int = 0
    trap_port: int = 0
    mailbox: list[Mail] = field(default_factory=list)
    pages_served: list[str] = field(default_factory=list)
    trapped: int = 0
    """Connections to the port that nobody must be led to."""


@contextlib.asynccontextmanager
async def running_world(account: Account, tls: ssl.SSLContext) -> AsyncIterator[World]:
    """All servers on free loopback ports; closed in the end, whatever happens. Raises `StartError`."""
    world = World()
    async with contextlib.AsyncExitStack() as stack:
        await _start_mail(stack, world, account, tls)
        await _start_trap(stack, world)
        await _start_web(stack, world)
        yield world


async def _start_mail(stack: contextlib.AsyncExitStack, world: World, account: Account, tls: ssl.SSLContext) -> None:
    smtp = _smtp_library()

    def authenticate(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> Any:
        wanted = smtp.LoginPassword(account.username.encode(), account.password.encode())
        return smtp.AuthResult(success=data == wanted, handled=False)

    def protocol() -> asyncio.Protocol:
        made: asyncio.Protocol = smtp.SMTP(
            Mailbox(world),
            hostname="mail.demo",
            tls_context=tls,
            require_starttls=True,
            auth_required=True,
            auth_require_tls=True,
            authenticator=authenticate,
            loop=asyncio.get_running_loop(),
        )
        return made

    server = await asyncio.get_running_loop().create_server(protocol, HOST, 0)
    world.mail_port = await _entered(stack, server)


def _smtp_library() -> Any:
    try:
        import aiosmtpd.smtp  # noqa: PLC0415 - the demo alone needs it, and an installed gateway goes without
    except ModuleNotFoundError as error:
        raise StartError("the demo needs a mail server to send to; run: pip install aiosmtpd") from error
    # It tells of its own deprecated attributes whenever somebody signs in.
    logging.getLogger("mail.log").setLevel(logging.ERROR)
    return aiosmtpd.smtp


class Mailbox:
    """aiosmtpd's handler: keeps every message, and how it came."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def handle_DATA(self, _server: Any, session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        """Take the message."""
        self._world.mailbox.append(
            Mail(
                recipients=tuple(envelope.rcpt_tos),
                content=bytes(envelope.content),
                is_authenticated=bool(session.authenticated),
                is_encrypted=session.ssl is not None,
            )
        )
        return "250 taken"


async def _start_trap(stack: contextlib.AsyncExitStack, world: World) -> None:
    async def trap(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        world.trapped += 1
        writer.close()

    world.trap_port = await _entered(stack, await asyncio.start_server(trap, HOST, 0))


async def _entered(stack: contextlib.AsyncExitStack, server: asyncio.Server) -> int:
    """The server's port; it is closed with the stack, without waiting for clients that linger."""
    stack.callback(server.close)
    port: int = server.sockets[0].getsockname()[1]
    return port


async def _start_web(stack: contextlib.AsyncExitStack, world: World) -> None:
    async def article(request: web.Request) -> web.Response:
        world.pages_served.append(request.path)
        text = files("gateway.cli.demo").joinpath("pages", "harbour.html").read_text("utf-8")
        return web.Response(text=text, content_type="text/html")

    async def moved(request: web.Request) -> web.Response:
        world.pages_served.append(request.path)
        return web.Response(status=302, headers={"Location": f"http://{HOST}:{world.trap_port}/admin"})

    app = web.Application()
    app.router.add_get(ARTICLE, article)
    app.router.add_get(MOVED, moved)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, HOST, 0).start()
    world.web_port = runner.addresses[0][1]
