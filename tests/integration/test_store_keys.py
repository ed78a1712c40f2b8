"""Idempotency keys in the store: across replicas, restarts and what cannot be known."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.claims import claim
from fakes.clock import FakeClock
from fakes.lines import result
from fakes.seal import FakeSeal
from real.postgres import Postgres
from real.stores import locked, opened, postgres_settings, sqlite_settings

from gateway.call import Standing
from gateway.errors import Reason, Refusal
from gateway.idempotency.store import LEASE_SECONDS, StoreKeys
from gateway.settings.store import StoreSettings
from gateway.store import keys as rows
from gateway.store import writers
from gateway.store.columns import moment_of
from gateway.store.database import Database

DAY = 24 * 60 * 60.0


@pytest.fixture(params=["sqlite", "postgresql"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSettings:
    """A database at the newest revision."""
    more = {"timeout_ms": 5000}
    if request.param == "sqlite":
        return await sqlite_settings(tmp_path, **more)
    return await postgres_settings(request.getfixturevalue("server"), **more)


def _bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


class Replica:
    """One gateway's keys over the database that all share."""

    def __init__(self, database: Database, writer: str, clock: FakeClock) -> None:
        self.database = database
        self.seal = FakeSeal()
        self.store = StoreKeys(database, writer=writer, clock=clock, seal=self.seal)
        self.keys = self.store.of("acme")


@pytest.fixture
def clock() -> FakeClock:
    """The time of all of them."""
    return FakeClock()


@pytest.fixture
async def replicas(settings: StoreSettings, clock: FakeClock) -> AsyncIterator[list[Replica]]:
    """Two gateways."""
    async with contextlib.AsyncExitStack() as stack:
        databases = [await stack.enter_async_context(opened(settings, clock)) for _ in range(2)]
        yield [Replica(database, f"w{number}", clock) for number, database in enumerate(databases)]


async def test_of_fifty_on_two_replicas_one_wins(replicas: list[Replica]) -> None:
    """The others learn who did, and what for."""
    claims = [claim(f"c{number}") for number in range(50)]
    outcomes = await asyncio.gather(*(replicas[number % 2].keys.claim(one, b"{}") for number, one in enumerate(claims)))
    assert outcomes.count(None) == 1
    winner = f"c{outcomes.index(None)}"
    assert {known.call_id for known in outcomes if known} == {winner}


async def test_a_result_survives_a_restart_and_is_found_by_every_replica(
    settings: StoreSettings, replicas: list[Replica], clock: FakeClock
) -> None:
    """Sealed on disk, and the same when it comes back."""
    await replicas[0].keys.claim(claim(), b"{}")
    await replicas[0].keys.settle(claim(), result("the very first"))
    async with opened(settings, clock) as database:
        for one in (replicas[1], Replica(database, "w9", clock)):
            known = await one.keys.look("k")
            assert known is not None
            assert known.result == result("the very first")


async def test_what_is_kept_cannot_be_read(tmp_path: Path, clock: FakeClock) -> None:
    """Not in the file, nor in what is beside it."""
    settings = await sqlite_settings(tmp_path)
    async with opened(settings, clock) as database:
        one = Replica(database, "w0", clock)
        await one.keys.claim(claim(), b"{}")
        await one.keys.settle(claim(), result("a private word"))
        kept = _bytes_in(tmp_path)
    assert b"sealed:acme/k:" in kept
    assert b"private" not in kept


async def test_a_result_that_cannot_be_sealed_is_not_kept(replicas: list[Replica]) -> None:
    """It happened all the same. One that does not open any more is as good as gone."""
    one = replicas[0]
    await one.keys.claim(claim(), b"{}")
    await one.keys.claim(claim("c2", "other"), b"{}")
    await one.keys.settle(claim(), result())
    one.seal.is_broken = True
    await one.keys.settle(claim("c2", "other"), result())
    for key in ("k", "other"):
        known = await one.keys.look(key)
        assert known is not None
        assert (known.standing, known.result) == (Standing.DONE, None)


async def test_a_key_is_remembered_for_a_day(replicas: list[Replica], clock: FakeClock) -> None:
    """And is free after it, for a new effect."""
    keys = replicas[0].keys
    await keys.claim(claim(), b"{}")
    await keys.settle(claim(), result())
    clock.advance(DAY - 1)
    assert await keys.look("k") is not None
    clock.advance(1)
    assert await keys.look("k") is None
    assert await keys.claim(claim("c2"), b"{}") is None
    known = await keys.look("k")
    assert known is not None
    assert (known.standing, known.call_id, known.result) == (Standing.IN_PROGRESS, "c2", None)


async def test_what_is_unfinished_is_never_forgotten(replicas: list[Replica], clock: FakeClock) -> None:
    """Nor is what is unknown; what is done goes when its time is over."""
    one = replicas[0]
    for name in ("open", "unknown", "done"):
        await one.keys.claim(claim(name, name), b"{}")
    await one.keys.leave_unknown(claim("unknown", "unknown"))
    await one.keys.settle(claim("done", "done"), None)
    clock.advance(400 * DAY)
    await one.store.mend()
    found = [await one.keys.look(name) for name in ("open", "unknown", "done")]
    assert [known and known.standing for known in found] == [Standing.IN_PROGRESS, Standing.UNKNOWN, None]


async def test_a_key_that_nobody_can_repeat_is_soon_forgotten_when_it_is_done(
    replicas: list[Replica], clock: FakeClock
) -> None:
    """The call's own; a day of them would fill the store. An hour is for whoever tells of the call after a crash."""
    keys = replicas[0].keys
    await keys.claim(claim("c1", "call:c1"), b"{}")
    assert await keys.look("call:c1") is not None
    await keys.settle(claim("c1", "call:c1"), result())
    kept = await keys.look("call:c1")
    assert kept is not None
    assert (kept.standing, kept.result) == (Standing.DONE, None)
    clock.advance(60 * 60)
    assert await keys.look("call:c1") is None


async def test_a_claim_that_was_left_frees_its_key(replicas: list[Replica]) -> None:
    """Nothing was sent, whatever the store has done: `mend` sees to it."""
    one = replicas[0]
    await one.keys.claim(claim("first", "first"), b"{}")
    for turns in range(12):
        leaving = asyncio.create_task(one.keys.claim(claim(f"c{turns}"), b"{}"))
        for _ in range(turns):
            await asyncio.sleep(0.0005)
        leaving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await leaving
            await one.keys.release(claim(f"c{turns}"))
        await one.store.mend()
        assert one.store.owed == 0
        assert await replicas[1].keys.look("k") is None


async def test_a_key_in_doubt_is_freed_after_the_transaction_that_may_take_it(
    server: Postgres, clock: FakeClock
) -> None:
    """A slow server may end a transaction long after the gateway gave it up: freeing waits for it."""
    settings = await postgres_settings(server, timeout_ms=5000)
    async with opened(settings, clock) as database:
        one = Replica(database, "w0", clock)
        await one.store.of("acme").mend()
        now = moment_of(clock.now())
        async with database.tenant("acme") as slow:
            await rows.take(slow, claim(), writer="w0", intent=b"{}", arguments=None, now=now)
            one.keys._owe(claim(), lambda session: one.keys._undo(session, claim(), b"{}"))
            freeing = asyncio.create_task(one.store.mend())
            done, _ = await asyncio.wait({freeing}, timeout=0.3)
            assert not done
        await freeing
        assert await one.keys.look("k") is None


async def test_what_the_store_could_not_be_told_is_told_later(tmp_path: Path, clock: FakeClock) -> None:
    """What happened is told before anything else is said of its key, and nothing takes its place."""
    settings = await sqlite_settings(tmp_path)
    async with opened(settings, clock) as database:
        one = Replica(database, "w0", clock)
        await one.keys.claim(claim(), b"{}")
        with locked(settings.path):
            await one.keys.leave_unknown(claim())
            await one.keys.settle(claim(), result("it happened"))
            await one.keys.release(claim())
            assert one.store.owed == 1
            with pytest.raises(Refusal) as caught:
                await one.keys.look("k")
            assert caught.value.reason is Reason.STORE_UNAVAILABLE
        known = await one.keys.look("k")
        assert known is not None
        assert (known.standing, known.result) == (Standing.DONE, result("it happened"))
        assert one.store.owed == 0


async def test_claim_and_intent_are_there_together(tmp_path: Path, clock: FakeClock) -> None:
    """And the intent is gone once it is known what came of it."""
    settings = await sqlite_settings(tmp_path)
    async with opened(settings, clock) as database:
        one = Replica(database, "w0", clock)
        await one.keys.claim(claim(), b'{"tool":"send"}')
        with contextlib.closing(sqlite3.connect(settings.path)) as file:
            select = "SELECT standing, intent FROM idempotency"
            assert file.execute(select).fetchall() == [("in_progress", b'{"tool":"send"}')]
            await one.keys.settle(claim(), None)
            assert file.execute(select).fetchall() == [("done", None)]


async def test_the_claims_of_a_writer_that_is_gone_are_closed_once(replicas: list[Replica], clock: FakeClock) -> None:
    """By one of many; each is unknown from then on, and its intent tells of it. The living keep theirs."""
    gone, here = replicas
    for number in range(10):
        await gone.keys.claim(claim(f"c{number}", f"k{number}"), b'{"n":%d}' % number)
    clock.advance(LEASE_SECONDS + 31)
    await here.keys.claim(claim("alive", "alive"), b"{}")
    assert here.keys.is_held
    assert not gone.keys.is_held

    async def close(replica: Replica) -> list[str]:
        async with replica.database.tenant("acme") as session:
            now = moment_of(clock.now())
            found = await writers.lapsed_claims(session, moment_of(clock.now() - 30))
            assert all(one.intent == b'{"n":%b}' % one.key[1:].encode() for one in found)
            return [one.call_id for one in found if await writers.close(session, one, "call", closed_by="w", now=now)]

    closed = await asyncio.gather(*(close(replica) for replica in replicas * 3))
    assert sorted(name for names in closed for name in names) == [f"c{number}" for number in range(10)]
    known = await here.keys.look("k3")
    assert known is not None
    assert known.standing is Standing.UNKNOWN
    assert (known_alive := await here.keys.look("alive")) is not None
    assert known_alive.standing is Standing.IN_PROGRESS


async def test_a_lease_is_renewed_by_work_and_by_mending(replicas: list[Replica], clock: FakeClock) -> None:
    """While either goes on it does not lapse."""
    one = replicas[0]
    await one.keys.claim(claim(), b"{}")
    for number in range(4):
        clock.advance(LEASE_SECONDS - 1)
        assert one.keys.is_held
        if number % 2:
            await one.keys.claim(claim(f"d{number}", f"d{number}"), b"{}")
        else:
            await one.store.mend()


async def test_tenants_do_not_share_keys(server: Postgres, clock: FakeClock) -> None:
    """The same key is another's in another tenant."""
    async with opened(await postgres_settings(server), clock) as database:
        store = StoreKeys(database, writer="w0", clock=clock, seal=FakeSeal())
        assert await store.of("acme").claim(claim(), b"{}") is None
        assert await store.of("rival").look("k") is None
        assert await store.of("rival").claim(claim(), b"{}") is None
