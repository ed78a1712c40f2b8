"""The guard lets the public internet through and nothing else, in every embedding."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import AdapterError, ErrorKind
from adapters.transport.guard import Guard

INNER = (
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255"),
    *("127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1"),
    *("172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255"),
    *("198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1"),
    *("255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"),
    *("::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1"),
    *("64:ff9b::169.254.169.254", "64:ff9b:1::1", "64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:0:1:2::3"),
    *("2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1"),
    *("2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::1", "2002:c0a8:1::1", "3fff::1", "3fff:fff:ffff::1"),
    *("5f00::1", "4000::1", "1000::1", "fc00::1", "fd00:ec2::254", "fdff::1", "fe80::1", "febf::1", "fec0::1"),
    *("feff::1", "ff02::1", "ff0e::1", "fe80::5efe:10.0.0.1", "2606:4700::5efe:127.0.0.1"),
    *("2606:4700::200:5efe:10.0.0.1", "2606:4700::1%eth0", "fe80::1%1"),
)
PUBLIC = (
    *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "93.184.216.34", "100.63.255.255", "100.128.0.1"),
    *("126.255.255.255", "128.0.0.1", "169.253.1.1", "169.255.0.1", "168.63.129.15", "172.15.255.255"),
    *("172.32.0.1", "191.255.255.255", "192.0.1.1", "192.0.3.1", "192.88.98.255", "192.88.100.1"),
    *("192.167.255.255", "192.169.0.1", "198.17.255.255", "198.20.0.1", "198.51.99.255", "198.51.101.1"),
    *("203.0.112.255", "203.0.114.1", "223.255.255.255", "2001:200::1", "2001:4860:4860::8888", "2001:db7::1"),
    *("2001:db9::1", "2606:4700:4700::1111", "2a00:1450:4001::1", "3ffe::1", "64:ff9b::8.8.8.8"),
    *("::ffff:8.8.8.8", "2002:808:808::1", "2606:4700::5efe:8.8.8.8"),
)


@pytest.mark.parametrize("address", INNER)
def test_inner_and_reserved_addresses_are_refused(address: str) -> None:
    """No port of an address that is not globally reachable unicast is open."""
    assert not any(Guard().allows(address, port) for port in (80, 443, 8080, 65535))


@pytest.mark.parametrize("address", PUBLIC)
def test_public_near_misses_pass(address: str) -> None:
    """The neighbours of every refused range are reachable; an embedded public address is public."""
    assert Guard().allows(address, 443)


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.1", "2130706433", "0x7f000001", "1.1.1.1 ", "1.1.1.01", "[::1]"]
)
def test_what_is_no_address_in_plain_spelling_is_refused(text: str) -> None:
    """The guard reads no odd spellings: a connector that has one to offer is refused."""
    assert not Guard().allows(text, 443)


@pytest.mark.parametrize("port", [80, 443, 1024, 8080, 8443, 3000, 65535])
def test_usual_web_ports_are_open(port: int) -> None:
    """80, 443 and the unprivileged ports."""
    assert Guard().allows("8.8.8.8", port)


@pytest.mark.parametrize("port", [-1, 0, 1, 21, 22, 23, 25, 53, 110, 111, 445, 465, 587, 1023, 65536])
def test_other_low_ports_are_closed(port: int) -> None:
    """A URL is no way to speak to a mail or name server."""
    assert not Guard().allows("8.8.8.8", port)


@pytest.mark.parametrize("port", [2375, 2379, 3306, 5432, 6379, 9200, 10250, 11211, 27017])
def test_ports_of_databases_and_controls_are_closed(port: int) -> None:
    """Unprivileged ports that take harm from a stray request."""
    assert not Guard().allows("8.8.8.8", port)


def test_a_private_target_opens_one_port_of_one_address() -> None:
    """Neither another port nor another address comes with it, whatever port it is."""
    guard = Guard.of(["127.0.0.1:22", "[fd00::7]:443"])
    assert guard.allows("127.0.0.1", 22)
    assert guard.allows("::ffff:127.0.0.1", 22)
    assert guard.allows("fd00::7", 443)
    assert not guard.allows("127.0.0.1", 80)
    assert not guard.allows("127.0.0.2", 22)
    assert not guard.allows("fd00::7", 444)
    assert not guard.allows("fd00::7%eth0", 443)
    assert not guard.allows("8.8.8.8", 22)


@pytest.mark.parametrize(
    "text", ["127.0.0.1", "localhost:80", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:x", "10.0.0.0/8:80", ""]
)
def test_a_private_target_must_be_exact(text: str) -> None:
    """A name, a network or a missing port is an error and not a wide opening."""
    with pytest.raises(ValueError, match=r"."):
        Guard.of([text])


def test_a_refusal_names_no_address() -> None:
    """What an agent reads does not tell what a name resolves to inside."""
    with pytest.raises(AdapterError) as caught:
        Guard().check("10.11.12.13", 8080)
    assert caught.value.kind is ErrorKind.ADDRESS_REFUSED
    assert "10." not in str(caught.value)
    assert "8080" not in str(caught.value)


@given(st.ip_addresses(v=4))
def test_embeddings_never_open_what_is_closed(address: ipaddress.IPv4Address) -> None:
    """A closed IPv4 address stays closed in each of the ways in which IPv6 can carry it."""
    number = int(address)
    carried = [
        ipaddress.IPv6Address(0xFFFF << 32 | number),
        ipaddress.IPv6Address((0x64FF9B << 96) | number),
        ipaddress.IPv6Address((0x2002 << 112) | number << 80 | 1),
        ipaddress.IPv6Address((0x26064700 << 96) | 0x5EFE << 32 | number),
    ]
    is_open = Guard().allows(str(address), 443)
    assert all(Guard().allows(str(each), 443) == is_open for each in carried)
