"""A database that dies, freezes, or is locked: every transaction ends in time, and work goes on after."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import trustme
from fakes.claims import budget, claim
from fakes.lines import result
from fakes.relay import Relay, Way, postgres_error
from fakes.seal import FakeSeal
from real.postgres import Postgres, postgres
from real.stores import CLOCK, locked, opened, postgres_settings, sqlite_settings
from real.waiting import until
from sqlalchemy import select, text, update

from adapters.base import Fault
from gateway.call import Standing
from gateway.errors import Refusal
from gateway.idempotency.store import StoreKeys
from gateway.settings.store import StoreSettings
from gateway.store.database import Database
from gateway.store.failures import StoreDown
from gateway.store.schema import budgets

TIMEOUT_MS = 400
SLACK_SECONDS = 1.0
"""What a busy machine may add."""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A real PostgreSQL."""
    with postgres() as running:
        yield running


@pytest.fixture
async def settings(server: Postgres) -> StoreSettings:
    """A database in it, and little patience."""
    return await postgres_settings(server, timeout_ms=TIMEOUT_MS)


@pytest.fixture
async def database(settings: StoreSettings) -> AsyncIterator[Database]:
    """Transactions on it; there is a budget."""
    async with opened(settings) as database:
        async with database.tenant("acme") as session:
            await session.execute(budgets.insert().values(budget("acme")))
        yield database


async def _read(database: Database) -> int:
    async with database.tenant("acme", is_read=True) as session:
        return int((await session.execute(select(budgets.c.spent))).scalar_one())


async def _down(database: Database) -> StoreDown:
    began = time.monotonic()
    with pytest.raises(StoreDown) as caught:
        await _read(database)
    assert time.monotonic() - began < TIMEOUT_MS / 1000 + SLACK_SECONDS
    return caught.value


async def _works(database: Database) -> bool:
    with contextlib.suppress(StoreDown):
        return await _read(database) >= 0
    return False


async def test_a_frozen_server_is_given_up_in_time(server: Postgres, database: Database) -> None:
    """On connections that are open and on new ones, one call or many; when it goes on so do we."""
    server.freeze()
    try:
        assert (await _down(database)).fault is Fault.TIMEOUT
        downs = await asyncio.gather(*(_down(database) for _ in range(20)))
        assert {down.fault for down in downs} == {Fault.TIMEOUT}
    finally:
        server.thaw()
    await until(lambda: _works(database))


async def test_a_server_that_freezes_inside_a_transaction_is_given_up_in_time(
    server: Postgres, database: Database
) -> None:
    """Whether it was done nobody can know; it was whole, or not at all."""

    async def spend_and_freeze() -> None:
        async with database.tenant("acme") as session:
            await session.execute(update(budgets).values(spent=7))
            await session.execute(update(budgets).values(reserved=7))
            server.freeze()

    began = time.monotonic()
    with pytest.raises(StoreDown):
        await spend_and_freeze()
    assert time.monotonic() - began < TIMEOUT_MS / 1000 + SLACK_SECONDS
    server.thaw()
    await until(lambda: _works(database))
    async with database.tenant("acme", is_read=True) as session:
        (found,) = await session.execute(select(budgets.c.spent, budgets.c.reserved))
    assert found.spent == found.reserved


async def test_a_killed_server_is_told_apart_from_a_slow_one(server: Postgres, database: Database) -> None:
    """At once, and without a restart of ours everything works again."""
    await asyncio.gather(*(_read(database) for _ in range(8)))
    server.daemon.kill()
    try:
        faults = {(await _down(database)).fault for _ in range(3)}
    finally:
        server.start()
    assert faults <= {Fault.RESET, Fault.REFUSED}
    assert await _read(database) == 0


async def test_connections_that_the_server_closed_are_replaced(server: Postgres, database: Database) -> None:
    """A failover, or a pooler that tidies up: no call of ours fails of it."""
    await asyncio.gather(*(_read(database) for _ in range(8)))
    name = database.settings.server[2]
    server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    assert await asyncio.gather(*(_read(database) for _ in range(8))) == [0] * 8


async def test_a_statement_that_takes_too_long_is_ended_on_the_server_too(server: Postgres, database: Database) -> None:
    """Nothing of it goes on there."""
    with pytest.raises(StoreDown) as caught:
        async with database.tenant("acme") as session:
            await session.execute(text("SELECT pg_sleep(60)"))
    assert caught.value.fault is Fault.TIMEOUT

    async def is_over() -> bool:
        return server.sql("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'") == "0"

    await until(is_over)


async def test_a_pool_that_is_used_up_is_waited_for_in_time(settings: StoreSettings) -> None:
    """Whoever holds the only connection has a deadline as well."""
    async with opened(settings.model_copy(update={"pool_size": 1})) as database:
        await database.admit("acme")
        outcomes = await asyncio.gather(*(self_sleeping(database) for _ in range(3)), return_exceptions=True)
        assert all(isinstance(outcome, StoreDown) for outcome in outcomes)
        async with database.tenant("acme", is_read=True) as session:
            await session.execute(select(budgets))


async def self_sleeping(database: Database) -> None:
    """Holds a connection for longer than it may."""
    async with database.tenant("acme") as session:
        await session.execute(text("SELECT pg_sleep(5)"))


async def test_what_happened_while_the_server_was_away_is_told_when_it_is_back(
    server: Postgres, settings: StoreSettings
) -> None:
    """The key stays taken all the while, and the result is there in the end."""
    async with opened(settings) as database:
        store = StoreKeys(database, writer="w1", clock=CLOCK, seal=FakeSeal())
        keys = store.of("acme")
        await keys.claim(claim(), b"{}")
        server.freeze()
        try:
            await keys.settle(claim(), result("it happened"))
            with pytest.raises(Refusal):
                await keys.claim(claim("c2"), b"{}")
        finally:
            server.thaw()

        async def is_mended() -> bool:
            with contextlib.suppress(StoreDown):
                await store.mend()
            return store.owed == 0

        await until(is_mended)
        known = await keys.look("k")
        assert known is not None
        assert (known.standing, known.result) == (Standing.DONE, result("it happened"))


async def test_sqlite_that_others_lock_is_given_up_in_time(tmp_path: Path) -> None:
    """Reads go on; writes go on when the lock is gone."""
    settings = await sqlite_settings(tmp_path, timeout_ms=TIMEOUT_MS)
    async with opened(settings, is_hurried=False) as database:
        async with database.tenant("acme") as session:
            await session.execute(budgets.insert().values(budget("acme")))
        with locked(settings.path):
            assert await _read(database) == 0
            began = time.monotonic()
            for outcome in await asyncio.gather(*(_spend(database) for _ in range(5)), return_exceptions=True):
                assert isinstance(outcome, StoreDown)
                assert outcome.fault is Fault.TIMEOUT
            assert time.monotonic() - began < TIMEOUT_MS / 1000 + SLACK_SECONDS
        await _spend(database)
        assert await _read(database) == 1


async def _spend(database: Database) -> None:
    async with database.tenant("acme") as session:
        await session.execute(update(budgets).values(spent=budgets.c.spent + 1))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_callers_that_leave_anywhere_leave_nothing_behind(server: Postgres, tmp_path: Path, kind: str) -> None:
    """No lock, no half transaction, no connection of the pool."""
    more = {"timeout_ms": 5000, "pool_size": 2}
    settings = await (postgres_settings(server, **more) if kind == "postgresql" else sqlite_settings(tmp_path, **more))
    chance = random.Random(4)
    async with opened(settings) as database:
        async with database.tenant("acme") as session:
            await session.execute(budgets.insert().values(budget("acme")))
        leaving = []
        for _ in range(60):
            leaving.append(asyncio.create_task(_spend(database)))
            await asyncio.sleep(chance.random() * 0.003)
            chance.choice(leaving).cancel()
        outcomes = await asyncio.gather(*leaving, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {type(None), asyncio.CancelledError}
        before = await _read(database)
        await asyncio.gather(*(_spend(database) for _ in range(8)))
        assert await _read(database) == before + 8
        assert before >= outcomes.count(None)


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def _impostor(answer: Answer) -> AsyncIterator[int]:
    """Something that listens where a database should, and its port."""
    at_work = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        at_work.add(asyncio.current_task())
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await answer(reader, writer)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        yield server.sockets[0].getsockname()[1]
        for task in at_work:
            task.cancel()
        await asyncio.gather(*at_work, return_exceptions=True)


async def _hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def _closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(8)
    writer.transport.abort()


def _says(words: bytes) -> Answer:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(8)
        writer.write(words)
        await _hangs(reader, writer)

    return say


async def _drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"N")
        await writer.drain()
        await asyncio.sleep(0.05)


_LOGGED_IN = b"R\x00\x00\x00\x08\x00\x00\x00\x00" + b"S\x00\x00\x00\x18server_version\x0018.0\x00"
_READY = _LOGGED_IN + b"Z\x00\x00\x00\x05I"
_ERROR = b"SFATAL\x00C57P03\x00Mstarting: secret\x00\x00"
ANSWERS: dict[str, tuple[Answer, set[Fault]]] = {
    "hang": (_hangs, {Fault.TIMEOUT}),
    "slow": (_drips, set(Fault)),
    "reset": (_resets, {Fault.RESET}),
    "close": (_closes, {Fault.RESET}),
    "error": (_says(b"E" + (len(_ERROR) + 4).to_bytes(4, "big") + _ERROR), {Fault.NOT_LOADED}),
    "garbage": (_says(b"HTTP/1.1 200 OK\r\n\r\n" * 9), {Fault.MALFORMED, Fault.TIMEOUT, Fault.RESET}),
    "an odd login": (_says(b"R\x00\x00\x00\x08\x00\x00\x00\x63"), set(Fault)),
    "nonsense after the login": (_says(_READY + b"\xff" * 64), set(Fault)),
    "silence after the login": (_says(_READY), {Fault.TIMEOUT}),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_whatever_answers_in_place_of_a_database_is_down(name: str) -> None:
    """In time, told apart where it can be, and nothing is claimed."""
    answer, faults = ANSWERS[name]
    async with _impostor(answer) as port:
        settings = StoreSettings(url=f"postgresql://127.0.0.1:{port}/x", user="app", timeout_ms=TIMEOUT_MS)
        async with opened(settings) as database:
            down = await _down(database)
            assert down.fault in faults, down
            assert "secret" not in str(down)
            keys = StoreKeys(database, writer="w1", clock=CLOCK, seal=FakeSeal()).of("acme")
            with pytest.raises(Refusal):
                await keys.claim(claim(), b"{}")


async def test_a_server_that_failed_at_every_begin_is_as_good_as_before(server: Postgres) -> None:
    """No connection of the pool stays spoilt by a transaction that never began."""
    settings = await postgres_settings(server, timeout_ms=TIMEOUT_MS)
    host, port, name = settings.server
    async with Relay(f"{host}:{port}", postgres_error).listening("127.0.0.1:0") as relay:
        behind = settings.model_copy(update={"url": f"postgresql://{relay.address}/{name}"})
        async with opened(behind) as database:
            async with database.tenant("acme") as session:
                await session.execute(budgets.insert().values(budget("acme")))
            await asyncio.gather(*(_read(database) for _ in range(4)))
            await relay.turn(Way.NONSENSE)
            downs = await asyncio.gather(*(_down(database) for _ in range(8)))
            assert {down.fault for down in downs} == {Fault.ERROR}
            await relay.turn(Way.PASS)
            assert await asyncio.gather(*(_read(database) for _ in range(16))) == [0] * 16


async def test_a_server_that_nobody_vouches_for_is_not_told_the_password(server: Postgres, tmp_path: Path) -> None:
    """Where TLS is asked for there is no way around it."""
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    settings = server.settings("postgres", ca_file=tmp_path / "ca.pem", timeout_ms=TIMEOUT_MS)
    async with opened(settings) as database:
        assert (await _down(database)).fault in {Fault.REFUSED, Fault.RESET, Fault.ERROR}
