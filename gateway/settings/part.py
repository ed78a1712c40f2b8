"""What every part of the settings is, and the addresses that several of them hold."""

import ipaddress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

UNIX = "unix:"
_ADDRESSES = ("address", "url")
"""The keys that may hold a `unix:` path."""


class Part(BaseModel):
    """A part of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def anchored(self, base: Path) -> Self:
        """The same with every relative path in it made absolute from `base`, those of `unix:` included."""
        return self.model_copy(update={name: _anchored(name, value, base) for name, value in self})


def _anchored(name: str, value: Any, base: Path) -> Any:
    if isinstance(value, Path):
        return base / value
    if isinstance(value, Part):
        return value.anchored(base)
    if isinstance(value, tuple):
        return tuple(_anchored(name, item, base) for item in value)
    if isinstance(value, dict):
        return {key: _anchored(name, item, base) for key, item in value.items()}
    if name in _ADDRESSES and value.startswith(UNIX):
        return f"{UNIX}{base / value.removeprefix(UNIX)}"
    return value


def is_address(host: str) -> bool:
    """Whether this is an IP address, in brackets or without."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether this can be reached from this machine alone. In a pod that is every container of it."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host.strip("[]")).is_loopback)


def wrong_address(address: str) -> str:
    """Why this is not an address to listen on; empty when it is `unix:PATH` or `ADDRESS:PORT`."""
    if address.startswith(UNIX):
        return "" if Path(address.removeprefix(UNIX)).name else "unix: needs a path"
    host, _, port = address.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and int(port) <= 65535
    # gRPC reads other words before a colon as schemes of its own, e.g. unix-abstract: or vsock:.
    # Without brackets gRPC would read the port as the end of the address, and listen at a port of its own choice.
    if not is_port or (":" in host and host[0] + host[-1] != "[]") or not (host == "localhost" or is_address(host)):
        return f"{address!r} is neither unix:PATH nor ADDRESS:PORT (of IPv6: [ADDRESS]:PORT)"
    return ""


def wrong_mode(mode: str) -> str:
    """Why a socket may not have this file mode; empty when it may."""
    is_open = int(mode, 8) & 0o007
    return f"mode {mode} would let every user of the machine in; use group instead" if is_open else ""


def wrong_url(url: str, *schemes: str) -> str:
    """Why nothing may be asked there; empty when it may.

    `schemes` names the plain scheme and the encrypted one (`http`, `https`). Beyond loopback only the latter
    may be used. A URL with a password in it is refused: settings hold no secret.
    """
    plain, encrypted = schemes
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if not host or parts.scheme not in schemes or parts.fragment or not url.isprintable() or " " in url:
        return f"{url!r} is no {encrypted}:// address"
    if parts.username is not None or parts.password is not None:
        return "the address must not hold a user or a password; name a file that does"
    if parts.scheme == plain and not is_loopback(host):
        return f"{plain}:// is allowed on loopback only; use {encrypted}://"
    return ""
