"""The options of a connection to a gRPC service."""

from typing import Any

import pytest

from adapters.base import Target
from adapters.grpc_upstream.connection import BadTarget, Connection, is_private_target, read_connection
from adapters.transport.guard import Guard

GUARD = Guard.of(["127.0.0.1:50051", "10.0.0.7:50051"])


def read(hosts: tuple[str, ...] = ("crm.corp.example",), **options: Any) -> Connection:
    """With an address unless another is given."""
    return read_connection(Target(name="t", hosts=hosts, options={"address": "crm.corp.example:443", **options}), GUARD)


def problems(hosts: tuple[str, ...] = ("crm.corp.example",), **options: Any) -> list[str]:
    """What is wrong."""
    with pytest.raises(BadTarget) as caught:
        read(hosts, **options)
    return caught.value.problems


def test_a_connection_is_encrypted_and_looked_at_unless_it_says_otherwise() -> None:
    """Its authority is its host."""
    assert read() == Connection(
        host="crm.corp.example", port=443, is_encrypted=True, authority="crm.corp.example", auth=None, reflects=True
    )


@pytest.mark.parametrize(
    ("address", "host", "authority"),
    [
        ("crm.corp.example:8443", "crm.corp.example", "crm.corp.example:8443"),
        ("192.0.2.7:443", "192.0.2.7", "192.0.2.7"),
        ("[2001:db8::7]:8443", "2001:db8::7", "[2001:db8::7]:8443"),
        ("crm:443", "crm", "crm"),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, host: str, authority: str) -> None:
    """A name, or an address."""
    one = read((host,), address=address)
    assert (one.host, one.authority) == (host, authority)


@pytest.mark.parametrize(
    "address",
    [
        *("", "crm", "crm:", "crm:0", "crm:65536", "crm:99999", "CRM:443", "a b:443", "https://crm:443", "crm:443/x"),
        *("unix:/run/x", "127.1:443", "2130706433:443", "0x7f.1:443", "0177.0.0.1:443", "[::1]", "::1:443", "[crm]:1"),
        *("[fe80::1%eth0]:443", "crm.corp.example.:443", "crm\n:443", "ipv4:10.0.0.1:443", "dns:///crm:443", "-a:443"),
        *(7, None, ["crm:443"]),
    ],
)
def test_another_form_of_an_address_is_refused(address: Any) -> None:
    """Whatever one resolver or another would make of it."""
    assert [one for one in problems(address=address) if "address must be HOST:PORT" in one]


def test_the_host_is_one_that_may_get_the_credential() -> None:
    """Alone or with its port."""
    assert read(("crm.corp.example:443",)).port == 443
    for hosts in ((), ("corp.example",), ("crm.corp.example:8443",)):
        assert problems(hosts) == ["hosts: must name crm.corp.example: it is where the credential goes"]


def test_only_the_nearest_is_spoken_to_in_clear() -> None:
    """Loopback, or what the settings open exactly; a name is judged when it is connected to."""
    for address in ("127.0.0.1:50051", "10.0.0.7:50051", "127.0.0.1:9"):
        assert not read((address.partition(":")[0],), address=address, tls=False).is_encrypted
    assert not read(tls=False).is_encrypted
    for address in ("10.0.0.7:50052", "93.184.216.34:50051"):
        assert "tls may be false only" in problems((address.partition(":")[0],), address=address, tls=False)[0]
    assert is_private_target("10.0.0.7", 50051, GUARD)
    assert not is_private_target("10.0.0.7", 50052, GUARD)


def test_how_a_credential_is_shown() -> None:
    """As a bearer token, or alone under a name."""
    assert read(auth={"kind": "bearer"}).auth == ("authorization", "Bearer ")
    assert read(auth={"kind": "header", "name": "x-api-key"}).auth == ("x-api-key", "")


@pytest.mark.parametrize(
    "auth",
    [
        "bearer",
        {},
        {"kind": "basic"},
        {"kind": "bearer", "name": "x"},
        {"kind": "header"},
        {"kind": "header", "name": "X-Api-Key"},
        {"kind": "header", "name": "grpc-timeout"},
        {"kind": "header", "name": "tollhouse-assertion"},
        {"kind": "header", "name": ["x"]},
    ],
)
def test_another_way_is_refused(auth: Any) -> None:
    """It is told."""
    assert len(problems(auth=auth)) == 1


@pytest.mark.parametrize("authority", ["", "CRM", "a/b", "a:0", "a:b", "a\r\nb", "a@b", 7, "user:pass@crm"])
def test_another_form_of_an_authority_is_refused(authority: Any) -> None:
    """A name with or without a port is taken."""
    assert read(authority="crm.internal:8443").authority == "crm.internal:8443"
    assert "authority" in problems(authority=authority)[0]


def test_everything_that_is_wrong_is_told() -> None:
    """At once."""
    found = problems((), address="x", tls="no", reflection=1, auth=7, authority=7, proxy="x")
    assert len(found) == 6
    assert found[0].startswith("options: 'proxy' is not known; known are address, auth")
