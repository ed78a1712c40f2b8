"""Only checked addresses reach the connector."""

import pytest
from fakes.resolver import FakeResolver

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.transport.guard import Guard
from adapters.transport.resolver import CheckedResolver, SystemResolver


def _checked(*answers: list[str], targets: tuple[str, ...] = ()) -> CheckedResolver:
    return CheckedResolver(FakeResolver({"name.test": list(answers)}), Guard.of(targets))


async def _hosts(resolver: CheckedResolver, port: int = 443) -> list[str]:
    return [found["host"] for found in await resolver.resolve("name.test", port)]


async def test_public_addresses_come_through_with_their_family() -> None:
    """Name and port are kept beside the address, so that Host and SNI stay the name's."""
    found = await _checked(["93.184.216.34", "2606:4700::1"]).resolve("name.test", 443)
    assert [(each["hostname"], each["host"], each["port"], each["family"].name) for each in found] == [
        ("name.test", "93.184.216.34", 443, "AF_INET"),
        ("name.test", "2606:4700::1", 443, "AF_INET6"),
    ]


async def test_inner_addresses_among_public_ones_are_left_out() -> None:
    """Every address is checked and not only the first."""
    answers = ["93.184.216.34", "127.0.0.1", "::1", "fe80::1%2", "::ffff:10.0.0.1", "nonsense"]
    assert await _hosts(_checked(answers)) == ["93.184.216.34"]


async def test_a_name_with_inner_addresses_alone_is_refused() -> None:
    """Without saying which addresses they are."""
    with pytest.raises(AdapterError) as caught:
        await _hosts(_checked(["10.1.2.3", "127.0.0.1"]))
    assert caught.value.kind is ErrorKind.ADDRESS_REFUSED
    assert "10.1" not in caught.value.message


async def test_g16_a_name_that_is_rebound_is_refused() -> None:
    """The first answer is public, the second is not: each connection checks its own."""
    resolver = _checked(["93.184.216.34"], ["127.0.0.1"])
    assert await _hosts(resolver) == ["93.184.216.34"]
    with pytest.raises(AdapterError):
        await _hosts(resolver)


async def test_a_private_target_counts_with_its_port() -> None:
    """A name may lead to an exact exception."""
    assert await _hosts(_checked(["127.0.0.1"], targets=("127.0.0.1:8000",)), 8000) == ["127.0.0.1"]
    with pytest.raises(AdapterError):
        await _hosts(_checked(["127.0.0.1"], targets=("127.0.0.1:8000",)), 8001)


@pytest.mark.parametrize("answers", [[], [[]]])
async def test_a_name_without_an_address_is_unavailable(answers: list[list[str]]) -> None:
    """It does not exist, or it has no address."""
    with pytest.raises(AdapterError) as caught:
        await _hosts(_checked(*answers))
    assert caught.value.kind is ErrorKind.UNAVAILABLE
    assert caught.value.happened is Happened.NO


async def test_the_machine_knows_loopback() -> None:
    """The real resolver gives plain addresses."""
    assert set(await SystemResolver().resolve("localhost", 80)) <= {"127.0.0.1", "::1"}


async def test_a_name_that_no_resolver_takes_is_unavailable() -> None:
    """An over-long label breaks the codec of getaddrinfo; that is an unknown host."""
    with pytest.raises(AdapterError) as caught:
        await CheckedResolver(SystemResolver(), Guard()).resolve("a" * 70 + ".test", 80)
    assert caught.value.kind is ErrorKind.UNAVAILABLE
