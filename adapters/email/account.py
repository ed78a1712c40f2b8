"""One mail account: the options of a connection's target, read strictly."""

import ipaddress
from dataclasses import dataclass
from typing import Any, Literal

from adapters.base import Target
from adapters.email.addresses import Address, NotAnAddress, parse_address

OPTIONS = frozenset({"host", "port", "tls", "username", "from", "ca_file"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where to connect, how, as whom, and the address that mail is sent from."""

    host: str
    port: int
    tls: Literal["starttls", "implicit", "none"]
    username: str
    sender: Address
    ca_file: str | None
    """PEM file with the authorities to trust instead of the machine's own."""


class BadTarget(Exception):  # noqa: N818 - it carries the sentences that `check_target` returns
    """The options of a connection cannot be used."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def read_account(target: Target) -> Account:
    """The account behind a target. Raises `BadTarget` with every problem."""
    options = dict(target.options)
    problems = [f"option {name} is not known" for name in sorted(set(options) - OPTIONS)]
    problems += _problems(options, target.hosts)
    sender = _sender(options.get("from"), problems)
    if problems or sender is None:
        raise BadTarget(problems)
    return Account(
        host=options["host"],
        port=options["port"],
        tls=options["tls"],
        username=options["username"],
        sender=sender,
        ca_file=options.get("ca_file"),
    )


def _problems(options: dict[str, Any], hosts: tuple[str, ...]) -> list[str]:
    host, port, tls = options.get("host"), options.get("port"), options.get("tls")
    problems = []
    if not isinstance(host, str) or not host or not host.isascii() or not host.isprintable() or " " in host:
        problems.append("option host must be the name or address of the mail server")
    elif host not in hosts and _with_port(host, port) not in hosts:
        problems.append("hosts must name the option host: it is where the credential goes")
    if not isinstance(port, int) or isinstance(port, bool) or not 0 < port <= 65535:
        problems.append("option port must be a whole number from 1 to 65535")
    if tls not in ("starttls", "implicit", "none"):
        problems.append("option tls must be starttls or implicit")
    elif tls == "none" and not _is_loopback(str(host)):
        problems.append("option tls may be none for a loopback address only: the password would be readable on the way")
    if not _is_plain(options.get("username")):
        problems.append("option username must be the account's name, without control characters")
    if not isinstance(options.get("ca_file", ""), str):
        problems.append("option ca_file must be a path")
    return problems


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
