"""One mail account: the options of a connection's target, read strictly.

An account sends by SMTP (`host`, `port`, `tls`, `from`), is read by IMAP (`imap_host`, `imap_port`, `imap_tls`), or
both. Whoever it is (`username`, `auth`) is the same for both.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Any, Literal

from adapters.base import Target
from adapters.email.addresses import Address, NotAnAddress, parse_address

OPTIONS = frozenset(
    {"host", "port", "tls", "from", "imap_host", "imap_port", "imap_tls", "sent_folder", "authserv_id"}
    | {"username", "auth", "ca_file"}
)
_SENDING = ("host", "port", "tls", "from")
_READING = ("imap_host", "imap_port", "imap_tls", "sent_folder", "authserv_id")
_AUTHSERV = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
MAX_FOLDER = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where to connect, and how."""

    host: str
    port: int
    tls: Literal["starttls", "implicit", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """As whom to connect where, and the address that mail is sent from. One of `smtp` and `imap` is there."""

    username: str
    method: Literal["password", "xoauth2"] = "password"
    """What the credential is: a password, or an OAuth access token."""
    ca_file: str | None
    """PEM file with the authorities to trust instead of the machine's own."""
    smtp: Server | None = None
    sender: Address | None = None
    """There whenever `smtp` is."""
    imap: Server | None = None
    sent_folder: str | None = None
    """Where the server keeps what was sent: there it is looked up what became of a message."""
    authserv_id: str | None = None
    """The name under which the receiving server attests who sent a message (RFC 8601)."""


class BadTarget(Exception):  # noqa: N818 - it carries the sentences that `check_target` returns
    """The options of a connection cannot be used."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def read_account(target: Target) -> Account:
    """The account behind a target. Raises `BadTarget` with every problem."""
    options = dict(target.options)
    problems = [f"option {name} is not known" for name in sorted(set(options) - OPTIONS)]
    reads = any(name in options for name in _READING)
    sends = any(name in options for name in _SENDING) or not reads
    smtp = _server(options, "", target.hosts, problems) if sends else None
    imap = _server(options, "imap_", target.hosts, problems) if reads else None
    problems += _problems(options)
    sender = _sender(options.get("from"), problems) if sends else None
    if problems:
        raise BadTarget(problems)
    return Account(
        username=options["username"],
        method=options.get("auth", "password"),
        ca_file=options.get("ca_file"),
        smtp=smtp,
        sender=sender,
        imap=imap,
        sent_folder=options.get("sent_folder"),
        authserv_id=options.get("authserv_id"),
    )


def _server(options: dict[str, Any], prefix: str, hosts: tuple[str, ...], problems: list[str]) -> Server | None:
    found = _server_problems(options, prefix, hosts)
    problems += found
    if found:
        return None
    return Server(host=options[f"{prefix}host"], port=options[f"{prefix}port"], tls=options[f"{prefix}tls"])


def _server_problems(options: dict[str, Any], prefix: str, hosts: tuple[str, ...]) -> list[str]:
    host, port, tls = (options.get(f"{prefix}{name}") for name in ("host", "port", "tls"))
    problems = []
    if not isinstance(host, str) or not host or not host.isascii() or not host.isprintable() or " " in host:
        problems.append(f"option {prefix}host must be the name or address of the mail server")
    elif host not in hosts and _with_port(host, port) not in hosts:
        problems.append(f"hosts must name the option {prefix}host: it is where the credential goes")
    if not isinstance(port, int) or isinstance(port, bool) or not 0 < port <= 65535:
        problems.append(f"option {prefix}port must be a whole number from 1 to 65535")
    if tls not in ("starttls", "implicit", "none"):
        problems.append(f"option {prefix}tls must be starttls or implicit")
    elif tls == "none" and not _is_loopback(str(host)):
        problems.append(
            f"option {prefix}tls may be none for a loopback address only: the password would be readable on the way"
        )
    return problems


def _problems(options: dict[str, Any]) -> list[str]:
    problems = []
    if not _is_plain(options.get("username")):
        problems.append("option username must be the account's name, without control characters")
    if options.get("auth", "password") not in ("password", "xoauth2"):
        problems.append("option auth must be password or xoauth2")
    if not isinstance(options.get("ca_file", ""), str):
        problems.append("option ca_file must be a path")
    if "sent_folder" in options and not is_folder(options["sent_folder"]):
        problems.append("option sent_folder must be the name of a folder, such as Sent")
    name = options.get("authserv_id", "x")
    if not isinstance(name, str) or not _AUTHSERV.fullmatch(name):
        problems.append("option authserv_id must be the receiving server's name, as its Authentication-Results begin")
    return problems


def is_folder(value: object) -> bool:
    """Whether it can be a folder's name: printable, and nothing that LIST would take for a pattern."""
    return _is_plain(value) and len(str(value)) <= MAX_FOLDER and not set("*%") & set(str(value))


def _with_port(host: str, port: object) -> str:
    """As grants and `hosts` write it: an IPv6 address needs brackets for a port."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _sender(value: object, problems: list[str]) -> Address | None:
    try:
        return parse_address(value if isinstance(value, str) else "")
    except NotAnAddress as error:
        problems.append(f"option from: {error.message}")
        return None


def _is_plain(value: object) -> bool:
    return isinstance(value, str) and bool(value) and value.isprintable()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
