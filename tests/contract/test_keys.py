"""What every implementation of `Keys` does."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.keys import DictKeys
from fakes.lines import result
from fakes.seal import FakeSeal
from real.postgres import Postgres
from real.stores import locked, opened, postgres_settings, sqlite_settings

from gateway.call import Standing
from gateway.errors import Reason, Refusal
from gateway.idempotency.base import Claim, Keys
from gateway.idempotency.store import StoreKeys
from gateway.settings.store import StoreSettings
from gateway.store.database import Database

TENANTS = itertools.count()


@dataclass
class Made:
    """Keys, and what makes that which is under them fail and work again."""

    keys: Keys
    broken: Callable[[], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def _set(thing: object, name: str, value: object) -> Iterator[None]:
    before = getattr(thing, name)
    setattr(thing, name, value)
    try:
        yield
    finally:
        setattr(thing, name, before)


@contextlib.contextmanager
def _frozen(server: Postgres, database: Database) -> Iterator[None]:
    with _set(database, "_seconds", 0.3):
        server.freeze()
        try:
            yield
        finally:
            server.thaw()


@contextlib.asynccontextmanager
async def _over_a_store(
    settings: StoreSettings, broken: Callable[[Database], contextlib.AbstractContextManager[None]]
) -> AsyncIterator[Made]:
    async with opened(settings) as database:
        keys = StoreKeys(database, writer="w1", clock=FakeClock(), seal=FakeSeal())
        yield Made(keys.of(f"tenant-{next(TENANTS)}"), lambda: broken(database))


@pytest.fixture(params=["fake", "sqlite", "postgresql"])
async def made(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Made]:
    """Each implementation in turn."""
    match request.param:
        case "fake":
            fake = DictKeys()
            yield Made(fake, lambda: _set(fake, "is_down", True))
        case "sqlite":
            settings = await sqlite_settings(tmp_path)
            async with _over_a_store(settings, lambda _: locked(settings.path)) as one:
                yield one
        case "postgresql":
            server = request.getfixturevalue("server")
            settings = await postgres_settings(server, timeout_ms=10_000)
            async with _over_a_store(settings, lambda database: _frozen(server, database)) as one:
                yield one


@pytest.fixture
def keys(made: Made) -> Keys:
    """The keys."""
    return made.keys


def _claim(call_id: str = "c1", key: str = "k") -> Claim:
    return Claim(key=key, call_id=call_id, effect_id=f"e-{call_id}", arguments_digest="sha256:aa")


async def test_an_unknown_key_is_free(keys: Keys) -> None:
    """`look` gives None."""
    assert await keys.look("k") is None


async def test_a_claimed_key_is_in_progress_for_others(keys: Keys) -> None:
    """With the call and the effect that own it."""
    assert await keys.claim(_claim(), b"{}") is None
    for known in (await keys.look("k"), await keys.claim(_claim("c2"), b"{}")):
        assert known is not None
        assert known.standing is Standing.IN_PROGRESS
        assert (known.call_id, known.effect_id, known.arguments_digest) == ("c1", "e-c1", "sha256:aa")


async def test_of_many_who_claim_at_once_exactly_one_wins(keys: Keys) -> None:
    """The others learn who did."""
    outcomes = await asyncio.gather(*(keys.claim(_claim(f"c{number}"), b"{}") for number in range(20)))
    assert outcomes.count(None) == 1
    winner = f"c{outcomes.index(None)}"
    assert {known.call_id for known in outcomes if known} == {winner}


async def test_a_settled_key_gives_the_first_result(keys: Keys) -> None:
    """However often it is asked for, and whoever else tries to change it."""
    await keys.claim(_claim(), b"{}")
    await keys.settle(_claim(), result("first"))
    await keys.settle(_claim("c2"), result("second"))
    await keys.release(_claim())
    await keys.leave_unknown(_claim())
    known = await keys.claim(_claim("c3"), b"{}")
    assert known is not None
    assert (known.standing, known.call_id, known.result) == (Standing.DONE, "c1", result("first"))


async def test_an_effect_without_a_result_is_done_too(keys: Keys) -> None:
    """Its answer was unusable, but it happened."""
    await keys.claim(_claim(), b"{}")
    await keys.settle(_claim(), None)
    known = await keys.look("k")
    assert known is not None
    assert (known.standing, known.result) == (Standing.DONE, None)


async def test_a_released_key_is_free_again(keys: Keys) -> None:
    """For its owner alone to release."""
    await keys.claim(_claim(), b"{}")
    await keys.release(_claim("c2"))
    assert await keys.look("k") is not None
    await keys.release(_claim())
    assert await keys.claim(_claim("c3"), b"{}") is None


async def test_an_unknown_effect_keeps_its_key(keys: Keys) -> None:
    """Nobody can claim it."""
    await keys.claim(_claim(), b"{}")
    await keys.leave_unknown(_claim())
    known = await keys.claim(_claim("c2"), b"{}")
    assert known is not None
    assert known.standing is Standing.UNKNOWN


async def test_an_effect_that_was_unknown_can_be_settled_by_its_owner(keys: Keys) -> None:
    """When somebody found out."""
    await keys.claim(_claim(), b"{}")
    await keys.leave_unknown(_claim())
    await keys.settle(_claim(), result())
    known = await keys.look("k")
    assert known is not None
    assert known.standing is Standing.DONE


async def test_while_nothing_can_be_written_nothing_is_claimed(made: Made) -> None:
    """The refusal says that nothing may be sent, and the key is free afterwards; what was known still is."""
    keys = made.keys
    await keys.claim(_claim(), b"{}")
    with made.broken():
        with pytest.raises(Refusal) as caught:
            await keys.claim(_claim("c2", key="other"), b"{}")
        assert caught.value.reason is Reason.STORE_UNAVAILABLE
        await keys.leave_unknown(_claim())
    assert await keys.look("other") is None
    known = await keys.look("k")
    assert known is not None
    assert known.standing is Standing.UNKNOWN


async def test_a_key_is_not_shown(keys: Keys) -> None:
    """Not even in scoped form."""
    assert "secret-key" not in repr(_claim(key="secret-key"))
