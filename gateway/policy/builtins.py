"""Built-in functions of OPA that the embedded engine lacks and that policies ask for.

Each takes and returns Rego values as Python ones. An exception makes the decision fail, and a failed
decision is a refusal.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def cidr_intersects(first: str, second: str) -> bool:
    """Whether two networks share an address."""
    one, other = _network(first), _network(second)
    return one.version == other.version and one.overlaps(other)


def cidr_contains_matches(cidrs: Any, addresses: Any) -> list[list[Any]]:
    """Every pair of keys whose network contains the address or network; sorted, each pair once."""
    pairs = [
        [cidr_key, address_key]
        for cidr_key, cidr in _operands(cidrs)
        for address_key, address in _operands(addresses)
        if _contains(cidr, address)
    ]
    return sorted(pairs, key=repr)


def sha256(text: str) -> str:
    """The lower-case hex digest of the text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def hmac_sha256(text: str, key: str) -> str:
    """The lower-case hex HMAC of the text under the key."""
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def hmac_equal(first: str, second: str) -> bool:
    """Whether two digests are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(first.encode(), second.encode())


EXTENSIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "net.cidr_intersects": (2, cidr_intersects),
    "net.cidr_contains_matches": (
        2,
        lambda cidrs, addresses: {tuple(pair) for pair in cidr_contains_matches(cidrs, addresses)},
    ),
    "crypto.sha256": (1, sha256),
    "crypto.hmac.sha256": (2, hmac_sha256),
    "crypto.hmac.equal": (2, hmac_equal),
}
"""Name, number of arguments, function."""


def _network(text: str) -> Network:
    return ipaddress.ip_network(text, strict=False)


def _contains(cidr: Network, inner: Network) -> bool:
    if isinstance(cidr, ipaddress.IPv4Network):
        return isinstance(inner, ipaddress.IPv4Network) and inner.subnet_of(cidr)
    return isinstance(inner, ipaddress.IPv6Network) and inner.subnet_of(cidr)


def _operands(value: Any) -> Iterator[tuple[Any, Network]]:
    """Key and network of an operand: a string is its own key, as is a member of a set; lists and objects
    have theirs. An element may be a list whose first item is the network.
    """
    if isinstance(value, str):
        yield value, _network(value)
        return
    if isinstance(value, set | frozenset):
        items: Any = ((item, item) for item in value)
    else:
        items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield key, _network(item if isinstance(item, str) else item[0])
