"""Which addresses may be connected to: the public internet, and exact exceptions of the deployment's.

The tables are our own and not `ipaddress.is_global`, whose answers differ between Python versions
(3.11.7 calls 6to4 loopback, fec0::/10 and 3fff::/20 global). They follow the IANA special-purpose
registries and deny whatever those do not call globally reachable unicast.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from adapters.base import AdapterError, ErrorKind, Happened

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_REFUSED_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network; 0.0.0.0 itself reaches loopback
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier NAT; one cloud's metadata
        "127.0.0.0/8",
        "168.63.129.16/32",  # a public number, yet one cloud's host agent answers it from inside
        "169.254.0.0/16",  # link local, most clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; one cloud's metadata
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays, withdrawn
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",
        "3fff::/20",
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")
_ISATAP_MARK = 0x5EFE

_LOW_PORTS = frozenset({80, 443})
_REFUSED_PORTS = frozenset(
    {
        *(1080, 1433, 1521, 1719, 1720, 1723, 2049, 2181, 2375, 2376, 2379, 2380, 3128, 3306, 3389, 3659),
        *(4045, 4190, 5060, 5061, 5432, 5672, 5900, 5985, 5986, 6000, 6379, 6443, 6566, 6665, 6666, 6667),
        *(6668, 6669, 6679, 6697, 9042, 9092, 9100, 9200, 9300, 10080, 10250, 10255, 11211, 27017),
    }
)
"""Services that take harm from a stray HTTP request or hold a machine's inner state."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Decides about one address and port. Ports open to everybody: 80, 443, and from 1024 all but a few."""

    private_targets: frozenset[tuple[Address, int]] = frozenset()
    """Exact exceptions: each opens one port of one address and nothing beside it."""

    @classmethod
    def of(cls, private_targets: Iterable[str] = ()) -> "Guard":
        """A guard with exceptions written `ADDRESS:PORT` or `[ADDRESS]:PORT`. Raises ValueError on another form."""
        return cls(frozenset(_target(text) for text in private_targets))

    def allows(self, address: str, port: int) -> bool:
        """Whether a socket may be connected there. What is not an address in canonical spelling may not."""
        try:
            parsed = _unmapped(ipaddress.ip_address(address))
        except ValueError:
            return False
        if (parsed, port) in self.private_targets:
            return True
        return _is_open_port(port) and is_public(parsed)

    def check(self, address: str, port: int) -> None:
        """Nothing when allowed. Raises `AdapterError` (address_refused), which names no address."""
        if not self.allows(address, port):
            raise refused()


def refused() -> AdapterError:
    """The one answer for every address that is not reached, so that inner networks cannot be mapped with it."""
    return AdapterError(
        ErrorKind.ADDRESS_REFUSED,
        "The URL leads to an address or port outside the public internet; use a public http or https URL.",
        happened=Happened.NO,
    )


def is_public(address: Address) -> bool:
    """Whether this is a globally reachable unicast address; an embedded IPv4 address must be one too."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _REFUSED_V4)
    if address.scope_id is not None:
        return False
    if address in _NAT64:
        return is_public(_v4_at(address, 0))
    if address not in _GLOBAL_V6 or any(address in network for network in _REFUSED_V6):
        return False
    if address in _SIX_TO_FOUR and not is_public(_v4_at(address, 80)):
        return False
    return not _is_isatap(address) or is_public(_v4_at(address, 0))


def _target(text: str) -> tuple[Address, int]:
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) <= 65535:
        raise ValueError(f"{text!r} is not an exact ADDRESS:PORT")
    return _unmapped(ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))), int(port)


def _unmapped(address: Address) -> Address:
    """::ffff:a.b.c.d is a.b.c.d: the same socket, so the same answer."""
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is None and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def _v4_at(address: ipaddress.IPv6Address, shift: int) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(int(address) >> shift & 0xFFFF_FFFF)


def _is_isatap(address: ipaddress.IPv6Address) -> bool:
    """Interface ids 0000:5efe:a.b.c.d and 0200:5efe:a.b.c.d (the universal bit set)."""
    mark = int(address) >> 32 & 0xFFFF_FFFF
    return mark & ~0x0200_0000 == _ISATAP_MARK


def _is_open_port(port: int) -> bool:
    return port in _LOW_PORTS or (1024 <= port <= 65535 and port not in _REFUSED_PORTS)
