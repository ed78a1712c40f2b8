"""A real SMTP server: aiosmtpd as it is, with STARTTLS and a password, which delivers into a Maildir."""

import contextlib
import ssl
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Mailbox
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from gateway.cli.demo.daemons import free_port

VERSION = f"aiosmtpd {version('aiosmtpd')}"
MAX_MESSAGE_BYTES = 1_000_000


@contextlib.contextmanager
def smtpd(maildir: Path, authority: trustme.CA, username: str, password: str) -> Iterator[int]:
    """Its port on 127.0.0.1, for the length of the block. Its certificate is for `localhost`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    wanted = LoginPassword(username.encode(), password.encode())

    def authenticate(_server: SMTP, _session: Session, _envelope: Envelope, _way: str, given: object) -> AuthResult:
        return AuthResult(success=given == wanted, handled=False)

    controller = Controller(
        Mailbox(str(maildir)),
        hostname="127.0.0.1",
        port=free_port(),
        tls_context=context,
        require_starttls=True,
        auth_required=True,
        authenticator=authenticate,
        data_size_limit=MAX_MESSAGE_BYTES,
    )
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()
