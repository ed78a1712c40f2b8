"""Plain connections to checked addresses."""

import pytest
from fakes.resolver import FakeResolver
from fakes.web import INNER_FORMS, inner_resolver, open_inner

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.transport.dialler import Dialler
from adapters.transport.guard import Guard
from adapters.transport.urls import canonical_host


def dialler(*targets: str, resolver: FakeResolver | None = None) -> Dialler:
    """One that may reach these targets of its inner network."""
    return Dialler(Guard.of(targets), resolver or inner_resolver())


async def test_a_permitted_address_is_connected_to() -> None:
    """By number, and by a name that leads there."""
    async with open_inner() as inner:
        for host in ("127.0.0.1", "site.test"):
            _, writer = await dialler(f"127.0.0.1:{inner.port}").connect(host, inner.port)
            writer.close()
            await writer.wait_closed()
    assert inner.connections == 2


@pytest.mark.parametrize("form", INNER_FORMS)
async def test_g16_no_spelling_of_an_inner_address_is_connected_to(form: str) -> None:
    """In its canonical form, which is what is dialled."""
    async with open_inner() as inner:
        with pytest.raises(AdapterError) as caught:
            await dialler().connect(canonical_host(form.strip("[]").translate(_PLAIN)), inner.port)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.ADDRESS_REFUSED, Happened.NO)
    assert inner.connections == 0


_PLAIN = str.maketrans("１２７①②⑦。．", "127127..")  # noqa: RUF001 - which a URL's reader has read before


async def test_g16_a_name_is_looked_up_once_and_what_was_checked_is_connected_to() -> None:
    """The second answer, which leads inside, is refused."""
    resolver = inner_resolver()
    async with open_inner() as inner:
        at = dialler(f"127.0.0.2:{inner.port}", resolver=resolver)
        kinds = []
        for _ in range(2):
            with pytest.raises(AdapterError) as caught:
                await at.connect("rebound.test", inner.port)
            kinds.append(caught.value.kind)
    assert kinds == [ErrorKind.UNAVAILABLE, ErrorKind.ADDRESS_REFUSED]
    assert len(resolver.asked) == 2
    assert inner.connections == 0


async def test_of_several_addresses_the_allowed_ones_are_tried_in_turn() -> None:
    """Nobody listens at the first."""
    async with open_inner() as inner:
        resolver = FakeResolver({"many.test": [["10.0.0.1", "127.0.0.3", "127.0.0.1"]]})
        targets = (f"127.0.0.3:{inner.port}", f"127.0.0.1:{inner.port}")
        _, writer = await dialler(*targets, resolver=resolver).connect("many.test", inner.port)
        writer.close()
        await writer.wait_closed()
    assert inner.connections == 1


async def test_a_name_that_leads_nowhere_is_unavailable() -> None:
    """And says so."""
    with pytest.raises(AdapterError) as caught:
        await dialler().addresses("nowhere.test", 443)
    assert caught.value.kind is ErrorKind.UNAVAILABLE


async def test_ports_that_the_guard_does_not_open_are_closed() -> None:
    """Of public addresses too."""
    with pytest.raises(AdapterError) as caught:
        await dialler().addresses("93.184.216.34", 25)
    assert caught.value.kind is ErrorKind.ADDRESS_REFUSED
    assert await dialler().addresses("93.184.216.34", 443) == ["93.184.216.34"]
