"""A mail account at servers that nobody here wrote: what aiosmtpd takes, Dovecot shows."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import trustme
from real import imap, smtp

VERSION = f"{smtp.VERSION} and {imap.VERSION}"
USERNAME = "bot@corp.example"
PASSWORD = 'imap pass"word\\ü'


@dataclass(frozen=True)
class MailAccount:
    """One account that sends and is read."""

    smtp_port: int
    dovecot: imap.Dovecot
    options: dict[str, Any] = field(repr=False)
    """Of a connection that sends and reads."""


@contextlib.contextmanager
def mail_account() -> Iterator[MailAccount]:
    """Both servers, for the length of the block."""
    authority = trustme.CA()
    with (
        imap.dovecot(authority, USERNAME, PASSWORD) as dovecot,
        smtp.smtpd(dovecot.maildir, authority, USERNAME, PASSWORD) as port,
    ):
        sending = {"host": "localhost", "port": port, "tls": "starttls", "from": USERNAME}
        reading = {"imap_host": "localhost", "imap_port": dovecot.tls_port, "imap_tls": "implicit"}
        more = {"username": USERNAME, "ca_file": str(dovecot.folder / "ca.pem"), "sent_folder": "Sent"}
        yield MailAccount(port, dovecot, {**sending, **reading, **more})
