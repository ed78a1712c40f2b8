"""How long what was read may be used."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fakes.clock import FakeClock

from gateway.clients.vault_answers import SecretFields, SecretPlace, Trouble, VaultFailed
from gateway.credentials.vault_cache import NEGATIVE_SECONDS, Lifetimes, SecretCache

PLACE = SecretPlace(namespace="", mount="secret", version=2, path="app")
OTHER = SecretPlace(namespace="acme", mount="secret", version=2, path="app")
HELD = [Trouble.UNREACHABLE, Trouble.RESET, Trouble.TIMEOUT, Trouble.BUSY, Trouble.SEALED, Trouble.FAILED]
GONE = [Trouble.DENIED, Trouble.LOGIN_DENIED, Trouble.ABSENT, Trouble.DELETED]


class Server:
    """What a cache reads from; `gate` holds answers back."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {"pw": "value-1"}
        self.suggested_seconds = 0.0
        self.failure: Exception | None = None
        self.reads: list[SecretPlace] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def read(self, place: SecretPlace) -> SecretFields:
        """What is there now."""
        self.reads.append(place)
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return SecretFields(dict(self.fields), self.suggested_seconds)

    def fail(self, trouble: Trouble) -> None:
        """From now on."""
        self.failure = VaultFailed(trouble)


class Kit:
    """A cache of 100 seconds, 50 more when nobody answers, without chance."""

    def __init__(self, chance: float = 0.0) -> None:
        self.server = Server()
        self.clock = FakeClock()
        lifetimes = Lifetimes(cache_seconds=100.0, max_stale_seconds=50.0, wait_seconds=0.2)
        self.cache = SecretCache(self.server.read, lifetimes, monotonic=self.clock.monotonic, chance=lambda: chance)

    async def value(self, place: SecretPlace = PLACE, name: str = "pw") -> Any:
        """What a caller gets."""
        return (await self.cache.get(place, name)).values.get(name)

    async def trouble(self) -> Trouble:
        """What a caller gets when there is nothing."""
        with pytest.raises(VaultFailed) as caught:
            await self.cache.get(PLACE, "pw")
        return caught.value.trouble

    async def settle(self) -> None:
        """Let what runs in the background end."""
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
async def kit() -> AsyncIterator[Kit]:
    """A fresh one."""
    made = Kit()
    yield made
    await made.cache.close()


async def test_200_callers_cause_one_read(kit: Kit) -> None:
    """All get its answer."""
    kit.server.gate.clear()
    callers = [asyncio.create_task(kit.value()) for _ in range(200)]
    await kit.settle()
    kit.server.gate.set()
    assert set(await asyncio.gather(*callers)) == {"value-1"}
    assert kit.server.reads == [PLACE]


async def test_a_caller_that_goes_away_takes_nobodys_answer_with_it(kit: Kit) -> None:
    """Not even the one who asked first."""
    kit.server.gate.clear()
    first, second = asyncio.create_task(kit.value()), asyncio.create_task(kit.value())
    await kit.settle()
    first.cancel()
    await kit.settle()
    kit.server.gate.set()
    assert await second == "value-1"
    assert first.cancelled()
    assert len(kit.server.reads) == 1


async def test_every_place_is_read_for_itself(kit: Kit) -> None:
    """A tenant's namespace is part of the place."""
    await kit.value(PLACE)
    kit.server.fields = {"pw": "value-2"}
    assert await kit.value(OTHER) == "value-2"
    assert await kit.value(PLACE) == "value-1"


async def test_one_read_gives_all_fields(kit: Kit) -> None:
    """A user and a password that belong together."""
    kit.server.fields = {"user": "smtp", "pw": "value-1"}
    assert (await kit.value(name="user"), await kit.value(name="pw")) == ("smtp", "value-1")
    assert len(kit.server.reads) == 1


async def test_from_three_quarters_on_it_is_read_again_and_nobody_waits(kit: Kit) -> None:
    """The old value serves until the new one is there."""
    await kit.value()
    kit.server.fields = {"pw": "value-2"}
    kit.clock.advance(74.9)
    await kit.value()
    assert len(kit.server.reads) == 1
    kit.clock.advance(0.2)
    kit.server.gate.clear()
    assert [await kit.value() for _ in range(3)] == ["value-1"] * 3
    kit.server.gate.set()
    await kit.settle()
    assert await kit.value() == "value-2"
    assert len(kit.server.reads) == 2


async def test_what_nobody_asked_for_in_time_is_waited_for(kit: Kit) -> None:
    """A value past its time is not used before a server was asked."""
    await kit.value()
    kit.server.fields = {"pw": "value-2"}
    kit.clock.advance(100.0)
    assert await kit.value() == "value-2"


async def test_lifetimes_differ_by_chance() -> None:
    """By a fifth at most."""
    kit = Kit(chance=1.0)
    await kit.value()
    kit.server.fields = {"pw": "value-2"}
    kit.clock.advance(80.0)
    assert await kit.value() == "value-2"
    await kit.cache.close()


async def test_a_server_may_ask_for_less_time_but_not_for_more(kit: Kit) -> None:
    """The engine's lease of version 1 is a hint."""
    kit.server.suggested_seconds = 10.0
    await kit.value()
    kit.clock.advance(10.0)
    kit.server.suggested_seconds = 1_000_000.0
    await kit.value()
    assert len(kit.server.reads) == 2
    kit.clock.advance(100.0)
    await kit.value()
    assert len(kit.server.reads) == 3


@pytest.mark.parametrize("trouble", HELD)
async def test_while_no_server_answers_the_old_value_serves_but_not_for_ever(kit: Kit, trouble: Trouble) -> None:
    """150 seconds after it was read it is over."""
    await kit.value()
    kit.server.fail(trouble)
    for _ in range(14):
        kit.clock.advance(10.7)
        assert await kit.value() == "value-1"
        await kit.settle()
    kit.clock.advance(0.3)
    assert await kit.trouble() is trouble


@pytest.mark.parametrize("trouble", GONE)
async def test_what_was_taken_away_is_never_used_again(kit: Kit, trouble: Trouble) -> None:
    """From the next refresh on, in the background as well, and when no server answers afterwards."""
    await kit.value()
    kit.server.fail(trouble)
    kit.clock.advance(75.0)
    await kit.value()
    await kit.settle()
    assert await kit.trouble() is trouble
    kit.server.fail(Trouble.UNREACHABLE)
    kit.clock.advance(NEGATIVE_SECONDS)
    assert await kit.trouble() is Trouble.UNREACHABLE


@pytest.mark.parametrize("trouble", GONE)
async def test_a_no_is_not_asked_for_again_at_once(kit: Kit, trouble: Trouble) -> None:
    """For two seconds."""
    kit.server.fail(trouble)
    for _ in range(10):
        assert await kit.trouble() is trouble
    assert len(kit.server.reads) == 1
    kit.server.failure = None
    kit.clock.advance(NEGATIVE_SECONDS)
    assert await kit.value() == "value-1"


async def test_after_a_failed_refresh_nobody_waits_and_few_ask(kit: Kit) -> None:
    """A frozen server costs each a full timeout otherwise."""
    await kit.value()
    kit.server.fail(Trouble.TIMEOUT)
    kit.clock.advance(110.0)
    assert await kit.value() == "value-1"
    kit.server.gate.clear()
    for _ in range(200):
        kit.clock.advance(0.01)
        assert await asyncio.wait_for(kit.value(), 0.05) == "value-1"
    assert len(kit.server.reads) == 3


async def test_a_server_that_is_back_is_found_within_two_seconds(kit: Kit) -> None:
    """However long it was away."""
    kit.server.fail(Trouble.UNREACHABLE)
    for _ in range(60):
        kit.clock.advance(1.0)
        await kit.trouble()
    kit.server.failure = None
    kit.clock.advance(1.0)
    assert await kit.value() == "value-1"


async def test_an_old_failure_does_not_excuse_an_old_value(kit: Kit) -> None:
    """A server failed once, long ago; what is past its time is not used before one is asked again."""
    await kit.value()
    kit.server.fail(Trouble.RESET)
    kit.clock.advance(80.0)
    await kit.value()
    await kit.settle()
    kit.server.fail(Trouble.DENIED)
    kit.clock.advance(40.0)
    assert await kit.trouble() is Trouble.DENIED


async def test_a_caller_waits_for_so_long_and_no_longer(kit: Kit) -> None:
    """What is not too old serves then; the read goes on for the next caller."""
    kit.server.gate.clear()
    assert await kit.trouble() is Trouble.TIMEOUT
    kit.server.gate.set()
    await kit.settle()
    assert await kit.value() == "value-1"
    assert len(kit.server.reads) == 1
    kit.clock.advance(120.0)
    kit.server.gate.clear()
    assert await kit.value() == "value-1"


async def test_a_field_that_was_not_there_is_looked_for_again_soon(kit: Kit) -> None:
    """Somebody adds it and need not wait for the value's time to be over; but not at every call."""
    assert [await kit.value(name="new") for _ in range(5)] == [None] * 5
    assert len(kit.server.reads) == 1
    kit.server.fields = {"pw": "value-1", "new": "value-9"}
    kit.clock.advance(NEGATIVE_SECONDS)
    assert await kit.value(name="new") == "value-9"


async def test_what_was_worked_out_stays_with_a_value_that_stays(kit: Kit) -> None:
    """And goes with one that changes."""
    kit.server.fields = {"pw": "value-1", "user": "smtp"}
    before = await kit.cache.get(PLACE, "pw")
    pw, user = before.derived("pw"), before.derived("user")
    kit.server.fields = {"pw": "value-2", "user": "smtp"}
    kit.clock.advance(100.0)
    after = await kit.cache.get(PLACE, "pw")
    assert after.derived("user") is user
    assert after.derived("pw") is not pw


async def test_a_reader_that_breaks_is_trouble_and_its_words_go_nowhere(kit: Kit) -> None:
    """They may hold the secret."""
    kit.server.failure = ValueError("cannot read value-1")
    assert await kit.trouble() is Trouble.MALFORMED


async def test_what_is_over_is_forgotten(kit: Kit) -> None:
    """A secret that nobody asks for does not stay in memory for ever."""
    await kit.value(PLACE)
    kit.clock.advance(151.0)
    await kit.value(OTHER)
    assert set(kit.cache._entries) == {OTHER}


async def test_closing_ends_what_is_being_read(kit: Kit) -> None:
    """A caller that waits for it gets trouble, not a cancellation of its own."""
    kit.server.gate.clear()
    caller = asyncio.create_task(kit.trouble())
    await kit.settle()
    await kit.cache.close()
    assert await caller is Trouble.TIMEOUT


class TestAgain:
    """What a server has now, whatever was read before."""

    async def test_it_is_read_past_what_is_held(self, kit: Kit) -> None:
        """And what is held from then on."""
        await kit.value()
        kit.server.fields = {"pw": "value-2"}
        kit.clock.advance(1)
        assert await kit.value() == "value-1"
        assert (await kit.cache.again(PLACE)).values == {"pw": "value-2"}
        assert await kit.value() == "value-2"
        assert len(kit.server.reads) == 2

    async def test_a_read_that_began_before_does_not_count(self, kit: Kit) -> None:
        """It may bring what was there before."""
        kit.server.gate.clear()
        early = asyncio.ensure_future(kit.value())
        await kit.settle()
        again = asyncio.ensure_future(kit.cache.again(PLACE))
        await kit.settle()
        kit.clock.advance(1)
        kit.server.gate.set()
        await early
        assert (await again).values == {"pw": "value-1"}
        assert len(kit.server.reads) == 2

    @pytest.mark.parametrize("trouble", [*HELD, *GONE])
    async def test_what_is_held_is_no_answer(self, kit: Kit, trouble: Trouble) -> None:
        """Nobody knows what is there now."""
        await kit.value()
        kit.server.fail(trouble)
        with pytest.raises(VaultFailed) as caught:
            await kit.cache.again(PLACE)
        assert caught.value.trouble is trouble

    async def test_a_server_that_does_not_answer_is_waited_for_as_long_as_by_anybody(self, kit: Kit) -> None:
        """Then it is late."""
        await kit.value()
        kit.server.gate.clear()
        with pytest.raises(VaultFailed) as caught:
            await kit.cache.again(PLACE)
        assert caught.value.trouble is Trouble.TIMEOUT

    async def test_one_who_leaves_takes_nobodys_answer_along(self, kit: Kit) -> None:
        """The read goes on."""
        kit.server.gate.clear()
        leaver = asyncio.ensure_future(kit.cache.again(PLACE))
        await kit.settle()
        stays = asyncio.ensure_future(kit.value())
        await kit.settle()
        leaver.cancel()
        kit.server.gate.set()
        assert await stays == "value-1"

    async def test_what_somebody_else_has_read_or_written_is_held(self, kit: Kit) -> None:
        """For as long as what is read here."""
        await kit.value()
        kit.cache.put(PLACE, SecretFields({"pw": "value-2"}, 0.0, 2))
        kit.cache.put(OTHER, SecretFields({"pw": "value-3"}, 0.0, 2))
        kit.server.fail(Trouble.UNREACHABLE)
        kit.clock.advance(149)
        assert [await kit.value(), await kit.value(OTHER)] == ["value-2", "value-3"]
        kit.clock.advance(2)
        assert await kit.trouble() is Trouble.UNREACHABLE
