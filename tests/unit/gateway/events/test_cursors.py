"""Cursors: opaque, of one agent, and never made up."""

import pytest
from fakes.principals import principal
from fakes.seal import FakeSeal

from gateway.errors import Refused, RefusedKind
from gateway.events.cursors import MOST_CHARACTERS, Cursors
from gateway.store.sealing import SealDown

ME = principal()


@pytest.mark.parametrize("number", [0, 1, 255, 2**63 - 1])
async def test_a_cursor_gives_its_number_back(number: int) -> None:
    """In text that can stand anywhere."""
    cursors = Cursors(FakeSeal())
    cursor = await cursors.write(ME, number)
    assert await cursors.read(ME, cursor) == number
    assert cursor.isascii()
    assert not set(cursor) & set("+/= \n")
    assert len(cursor) < MOST_CHARACTERS


@pytest.mark.parametrize("who", [principal(tenant="rival"), principal(agent="other")])
async def test_a_cursor_is_nobody_elses(who: object) -> None:
    """Of another tenant or another agent."""
    cursors = Cursors(FakeSeal())
    cursor = await cursors.write(ME, 7)
    with pytest.raises(Refused) as caught:
        await cursors.read(who, cursor)  # type: ignore[arg-type]
    assert caught.value.kind is RefusedKind.INVALID


async def test_another_principal_of_the_agent_may_go_on() -> None:
    """A pod that was restarted has another name."""
    cursors = Cursors(FakeSeal())
    assert await cursors.read(principal(id="helper-2"), await cursors.write(ME, 7)) == 7


@pytest.mark.parametrize("cursor", ["7", "AAAA", "not a cursor", "é", "=" * 8, "A" * 100, "AAAAA"])
async def test_what_was_made_up_is_refused(cursor: str) -> None:
    """All alike."""
    with pytest.raises(Refused) as caught:
        await Cursors(FakeSeal()).read(ME, cursor)
    assert caught.value.kind is RefusedKind.INVALID
    assert cursor not in caught.value.message


async def test_what_was_sealed_for_something_else_is_refused() -> None:
    """A cursor is eight bytes, whoever sealed what."""
    seal = FakeSeal()
    cursors = Cursors(seal)
    cursor = await cursors.write(ME, 2**62)

    class Longer(FakeSeal):
        async def open(self, tenant: str, place: str, sealed: bytes) -> bytes:
            return await super().open(tenant, place, sealed) + b"\0"

    with pytest.raises(Refused):
        await Cursors(Longer()).read(ME, cursor)


async def test_a_seal_that_is_down_says_nothing_about_a_cursor() -> None:
    """It may be good: whoever has it asks again."""

    class Down(FakeSeal):
        async def open(self, tenant: str, place: str, sealed: bytes) -> bytes:
            raise SealDown("away")

    cursor = await Cursors(FakeSeal()).write(ME, 7)
    with pytest.raises(SealDown):
        await Cursors(Down()).read(ME, cursor)
