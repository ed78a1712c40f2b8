"""The rows of events, on both databases: each kept once, read in order without a gap, forgotten from the oldest on."""

import asyncio
import random
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import START, FakeClock
from fakes.events import arrived
from real.postgres import Postgres
from real.stores import opened, postgres_settings, sqlite_settings
from sqlalchemy import select

from gateway.settings.store import StoreSettings
from gateway.store import events as rows
from gateway.store.columns import moment_of
from gateway.store.database import Database
from gateway.store.events import Head, Page
from gateway.store.schema import event_ids

TRACKER = ("tracker",)
OLD, NEW = moment_of(START), moment_of(START + 1000)


@pytest.fixture(params=["sqlite", "postgresql"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSettings:
    """Each database in turn."""
    made = sqlite_settings(tmp_path) if request.param == "sqlite" else None
    return await (made or postgres_settings(request.getfixturevalue("server"), timeout_ms=20_000))


@pytest.fixture
async def database(settings: StoreSettings) -> AsyncIterator[Database]:
    """Transactions on it."""
    async with opened(settings, FakeClock()) as one:
        yield one


async def _keep(database: Database, event_id: str = "v1", **changes: Any) -> int:
    return await database.run("acme", lambda session: rows.keep(session, arrived(event_id, **changes)))


async def _page(database: Database, after: int = 0, of: Collection[str] = TRACKER, limit: int = 100) -> Page:
    return await database.run("acme", lambda session: rows.page(session, after, of, limit), is_read=True)


async def _forget(database: Database, *, before: Any = OLD, most: int = 1000, limit: int = 100) -> int:
    return await database.run("acme", lambda session: rows.forget(session, before=before, most=most, limit=limit))


def _numbers(page: Page) -> list[int]:
    return [event.number for event in page.events]


async def test_events_are_numbered_as_they_come(database: Database) -> None:
    """From one on, without a gap, and are read in that order."""
    assert [await _keep(database, f"v{number}") for number in range(1, 6)] == [1, 2, 3, 4, 5]
    page = await _page(database, after=2)
    assert (_numbers(page), page.head) == ([3, 4, 5], Head(number=5))
    assert _numbers(await _page(database, after=2, limit=2)) == [3, 4]


async def test_a_repetition_is_kept_once(database: Database) -> None:
    """Whatever else it says; it takes no number. The same id of another connection is another event."""
    assert [await _keep(database), await _keep(database, content=b"other")] == [1, 0]
    assert await _keep(database, connection="shop") == 2
    assert (await database.run("acme", lambda session: rows.read(session, [1])))[1].content == b"sealed"


async def test_fifty_that_repeat_one_event_at_once_keep_it_once(database: Database) -> None:
    """And nobody waits for anybody for ever."""
    assert sorted(await asyncio.gather(*(_keep(database) for _ in range(50)))) == [0] * 49 + [1]
    assert (await _page(database)).head == Head(number=1)


async def test_a_page_is_of_the_connections_that_are_asked_for(database: Database) -> None:
    """The head is the tenant's all the same."""
    for number, connection in enumerate(("tracker", "shop", "tracker", "mail")):
        await _keep(database, f"v{number}", connection=connection)
    assert _numbers(await _page(database)) == [1, 3]
    assert _numbers(await _page(database, of=("shop", "mail"))) == [2, 4]
    assert await _page(database, of=()) == Page(head=Head(number=4), events=())


async def test_a_whole_event_is_what_was_kept(database: Database) -> None:
    """Its moments to the microsecond. One that is not there is left out."""
    one = arrived(occurred_at=moment_of(START - 1.25), content=bytes(range(256)))
    await database.run("acme", lambda session: rows.keep(session, one))
    assert await database.run("acme", lambda session: rows.read(session, [1, 2])) == {1: one}


async def test_the_oldest_are_forgotten_by_their_time(database: Database) -> None:
    """So many at a time; the floor tells up to where."""
    for number in range(1, 7):
        await _keep(database, f"v{number}", received_at=OLD if number < 5 else NEW)
    assert [await _forget(database, before=NEW, limit=3) for _ in range(3)] == [3, 1, 0]
    page = await _page(database)
    assert (_numbers(page), page.head) == ([5, 6], Head(number=6, floor=4))


async def test_the_oldest_are_forgotten_beyond_so_many(database: Database) -> None:
    """However young they are."""
    for number in range(1, 7):
        await _keep(database, f"v{number}")
    assert await _forget(database, most=2) == 4
    assert await _forget(database, most=2) == 0
    assert _numbers(await _page(database)) == [5, 6]
    assert await _keep(database, "v7") == 7


async def test_an_event_that_is_forgotten_is_still_known(database: Database) -> None:
    """Its vendor may sign no time: who repeats it later gets nothing kept, until its id is forgotten as well."""
    await _keep(database)
    await _keep(database, "v2", received_at=NEW)
    await _forget(database, before=NEW)
    assert await _keep(database) == 0
    forgotten = [await database.run("acme", lambda session: rows.forget_ids(session, NEW, 10)) for _ in range(2)]
    assert forgotten == [1, 0]
    assert await _keep(database) == 3


async def test_the_id_of_what_is_kept_is_not_forgotten(database: Database) -> None:
    """However old it is; and so many at a time."""
    for number in range(5):
        await _keep(database, f"v{number}")
    await _forget(database, most=1)
    late = moment_of(START + 1e6)
    assert [await database.run("acme", lambda s: rows.forget_ids(s, late, 3)) for _ in range(3)] == [3, 1, 0]
    async with database.tenant("acme", is_read=True) as session:
        assert (await session.execute(select(event_ids.c.event_id))).scalars().all() == ["v4"]


async def test_a_reader_sees_every_event_however_slow_its_writers_are(settings: StoreSettings) -> None:
    """Eight writers of two replicas hold their transactions open for a while of any length, and a reader goes on from
    what it has read: nothing shows up behind it.
    """
    chance, seen, each = random.Random(6), [], 12
    async with opened(settings, is_hurried=False) as first, opened(settings, is_hurried=False) as second:
        await first.admit("acme")
        await second.admit("acme")

        async def write(writer: int) -> None:
            for number in range(each):
                async with (first, second)[writer % 2].tenant("acme") as session:
                    assert await rows.keep(session, arrived(f"v{writer}-{number}"))
                    await asyncio.sleep(chance.random() * 0.01)

        writing = asyncio.gather(*(write(writer) for writer in range(8)))
        while len(seen) < 8 * each:
            seen += _numbers(await _page(second, after=seen[-1] if seen else 0, limit=7))
            assert seen == list(range(1, len(seen) + 1))
            await asyncio.sleep(0)
            assert not (writing.done() and writing.exception())
        await writing


async def test_what_is_kept_and_forgotten_at_once_gets_in_nobodys_way(settings: StoreSettings) -> None:
    """By two replicas: nobody waits for anybody for ever, and numbers and floor stay what they are."""
    async with opened(settings, is_hurried=False) as first, opened(settings, is_hurried=False) as second:
        old = moment_of(START + 1e6)

        async def forget(database: Database) -> None:
            for _ in range(15):
                await _forget(database, most=3, limit=5)
                await database.run("acme", lambda session: rows.forget_ids(session, old, 5))

        async def keep(database: Database, writer: int) -> None:
            for number in range(30):
                await _keep(database, f"v{writer % 2}-{number}")

        replicas = (first, second)
        await first.admit("acme")
        await asyncio.gather(
            *(keep(replicas[writer % 2], writer) for writer in range(4)), *(forget(one) for one in replicas * 2)
        )
        page = await _page(first)
        assert _numbers(page) == list(range(page.head.floor + 1, page.head.number + 1))


async def test_two_tenants_have_numbers_of_their_own(server: Postgres) -> None:
    """And never see each other's."""
    async with opened(await postgres_settings(server)) as database:
        await _keep(database, "v1", content=b"of acme")
        assert await database.run("rival", lambda s: rows.keep(s, arrived("v1", content=b"of rival"))) == 1
        theirs = await database.run("rival", lambda s: rows.read(s, [1, 2]), is_read=True)
        assert [event.content for event in theirs.values()] == [b"of rival"]
        assert _numbers(await _page(database)) == [1]
