"""The options of a connection to a gRPC service, read strictly.

`address` is where it is, as HOST:PORT; `tls` may be false only towards what cannot be listened to on the way;
`authority` is the name that a server behind several is chosen by; `auth` says how the credential is shown;
`reflection: false` says that the service does not publish what it offers.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.base import Target
from adapters.grpc_upstream.metadata import is_free_name
from adapters.transport.guard import Guard

OPTIONS = frozenset({"address", "tls", "authority", "auth", "reflection"})
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*", re.ASCII)
_ADDRESS = re.compile(r"(?:\[([0-9a-f:.]{2,45})\]|([^\[\]:/@]{1,253})):([1-9][0-9]{0,4})", re.ASCII)
_BEARER = "authorization"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Where a service is and how it is spoken to."""

    host: str
    """A name in lower case, or an address."""
    port: int
    is_encrypted: bool
    authority: str
    auth: tuple[str, str] | None
    """The metadata's name and what comes before the credential; None when there is no credential to show."""
    reflects: bool


class BadTarget(Exception):  # noqa: N818 - it carries the sentences that `check_target` returns
    """The options of a connection cannot be used."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def read_connection(target: Target, guard: Guard) -> Connection:
    """The connection behind a target. Raises `BadTarget` with every problem."""
    options = target.options
    known = ", ".join(sorted(OPTIONS))
    problems = [f"options: {name!r} is not known; known are {known}" for name in sorted(options.keys() - OPTIONS)]
    host, port = _address(options.get("address"), target.hosts, problems)
    flags = [name for name in ("tls", "reflection") if not isinstance(options.get(name, True), bool)]
    problems += [f"options: {name} must be true or false" for name in flags]
    is_encrypted = options.get("tls", True) is not False
    if host and not is_encrypted and not _is_safe_in_clear(host, port, guard):
        problems.append("options: tls may be false only for loopback or an exact private target of the settings")
    authority, auth = _authority(options.get("authority"), problems), _auth(options.get("auth"), problems)
    if problems:
        raise BadTarget(problems)
    return Connection(
        host=host,
        port=port,
        is_encrypted=is_encrypted,
        authority=authority or _written(host, port),
        auth=auth,
        reflects=options.get("reflection", True) is not False,
    )


def _address(value: Any, hosts: tuple[str, ...], problems: list[str]) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    host, port = (found[1] or found[2], int(found[3])) if found is not None else ("", 0)
    if not _is_host(host) or port > 65535:
        problems.append("options: address must be HOST:PORT, with the host in lower case; [ADDRESS]:PORT for IPv6")
        return "", 0
    shown = f"[{host}]" if ":" in host else host
    if host not in hosts and f"{shown}:{port}" not in hosts:
        problems.append(f"hosts: must name {shown}: it is where the credential goes")
    return host, port


def _authority(value: Any, problems: list[str]) -> str:
    if value is None:
        return ""
    name, _, port = value.partition(":") if isinstance(value, str) else ("", "", "")
    if not _HOST.fullmatch(name) or (":" in value and not re.fullmatch(r"[1-9][0-9]{0,4}", port, re.ASCII)):
        problems.append("options: authority must be a name in lower case, perhaps with a port")
        return ""
    return str(value)


def _auth(value: Any, problems: list[str]) -> tuple[str, str] | None:
    if value is None:
        return None
    if isinstance(value, Mapping) and dict(value) == {"kind": "bearer"}:
        return _BEARER, "Bearer "
    if isinstance(value, Mapping) and value.get("kind") == "header" and value.keys() == {"kind", "name"}:
        if is_free_name(value["name"]):
            return value["name"], ""
        problems.append("options: auth.name must be a name of metadata in lower case that nothing else uses")
        return None
    problems.append("options: auth must be {kind: bearer} or {kind: header, name: NAME}")
    return None


def _is_host(host: str) -> bool:
    if ":" in host or _looks_numeric(host):
        return _address_of(host) is not None
    return _HOST.fullmatch(host) is not None


def _looks_numeric(host: str) -> bool:
    """Whether some resolver reads it as an address: 127.1, 2130706433, 0x7f.1."""
    return re.fullmatch(r"[0-9]+|0x[0-9a-f]*", host.rpartition(".")[2]) is not None


def _address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return address if str(address) == host else None


def _is_safe_in_clear(host: str, port: int, guard: Guard) -> bool:
    """A name is judged by its addresses when it is connected to."""
    address = _address_of(host)
    return address is None or address.is_loopback or is_private_target(host, port, guard)


def is_private_target(address: str, port: int, guard: Guard) -> bool:
    """Whether the settings open exactly this private address and port."""
    return (ipaddress.ip_address(address), port) in guard.private_targets


def _written(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port == 443 else f"{shown}:{port}"
