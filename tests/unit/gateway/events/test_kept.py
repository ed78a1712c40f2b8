"""Events in the store: what is private is sealed, what is down is told, what is old goes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.events import Post, post_over, told
from real.stores import locked, sqlite_settings
from sqlalchemy import select

from gateway.errors import Reason, Refusal
from gateway.events.base import CUT, LABELS
from gateway.events.kept import AT_ONCE, DATA_BYTES, NotKept
from gateway.settings.events import EventSettings
from gateway.store.schema import event_ids, events

SETTINGS = EventSettings(address="unix:e", retain_seconds=100, remember_seconds=1000)


@pytest.fixture
async def post(tmp_path: Path) -> AsyncIterator[Post]:
    """A store that keeps little."""
    async with post_over(await sqlite_settings(tmp_path), settings=SETTINGS) as one:
        yield one


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"occurred_at": None},
        {"subject": "", "data_json": b"{}"},
        {"subject": 'a "quoted"\nline, \u2028é', "data_json": b'{"a":"b\\nc","n":9007199254740993}'},
    ],
)
async def test_an_event_comes_out_as_it_went_in(post: Post, changes: dict[str, object]) -> None:
    """To the byte of its data."""
    event = told(**changes)
    assert await post.kept.keep("acme", event) == 1
    read = await post.kept.read("acme", [1])
    assert (read.events, read.has_lost) == (((1, event),), False)


async def test_what_a_stranger_wrote_is_sealed(post: Post) -> None:
    """Its subject too; what it is by its kind is not."""
    await post.keep(subject="of a stranger", data_json=b'{"text":"words"}')
    async with post.database.tenant("acme", is_read=True) as session:
        row = (await session.execute(select(events))).one()
    assert b"words" not in row.content
    assert b"stranger" not in row.content
    assert row.kind == "issue.opened"
    assert b"words" in await post.seal.open("acme", "events/tracker/v1", row.content)


async def test_data_that_is_too_large_is_left_out(post: Post) -> None:
    """Which is told; the event is kept, for it happened."""
    await post.keep("large", data_json=b'{"x":"' + b"y" * DATA_BYTES + b'"}')
    ((_, event),) = (await post.kept.read("acme", [1])).events
    assert (event.data_json, event.labels, event.subject) == (b"{}", (*LABELS, CUT), "acme/shop#12")


async def test_an_event_that_cannot_be_kept_is_not(tmp_path: Path, post: Post) -> None:
    """Whoever sent it is told so: the seal is down, or the store."""
    post.seal.is_broken = True
    with pytest.raises(NotKept):
        await post.keep()
    post.seal.is_broken = False
    with locked(post.database.settings.path), pytest.raises(NotKept):
        await post.keep()
    assert (await post.kept.head("acme")).number == 0
    assert await post.keep() == 1


async def test_a_second_tenant_of_a_file_is_not_kept(post: Post) -> None:
    """The store refuses it."""
    await post.keep()
    with pytest.raises(NotKept):
        await post.keep(tenant="rival")


async def test_what_does_not_open_is_lost(post: Post) -> None:
    """And so is what is not there; the others are read."""
    for number in (1, 2, 3):
        await post.keep(f"v{number}")
    async with post.database.tenant("acme") as session:
        await session.execute(events.update().where(events.c.number == 2).values(content=b"of another key"))
    read = await post.kept.read("acme", [1, 2, 3])
    assert ([number for number, _ in read.events], read.has_lost) == ([1, 3], True)
    assert (await post.kept.read("acme", [3, 4])).has_lost


async def test_what_cannot_be_read_now_is_told_as_such(post: Post) -> None:
    """Neither the seal nor the store that is down means that there is nothing."""
    await post.keep()
    await post.database.close()
    post.database.settings.path.rename(post.database.settings.path.with_name("away"))
    for asking in (post.kept.read("acme", [1]), post.kept.head("acme"), post.kept.page("acme", 0, ["tracker"], 1)):
        with pytest.raises(Refusal) as caught:
            await asking
        assert caught.value.reason is Reason.STORE_UNAVAILABLE


async def test_what_is_old_goes_and_its_id_goes_later(post: Post) -> None:
    """A repetition in between is known."""
    await post.keep()
    post.clock.advance(50)
    await post.keep("v2", received_at=post.clock.now())
    post.clock.advance(51)
    await post.kept.forget(["acme", "acme"])
    assert ((head := await post.kept.head("acme")).floor, head.number) == (1, 2)
    assert await post.keep() == 0
    post.clock.advance(1000)
    await post.kept.forget(["acme"])
    assert (await post.kept.head("acme")).floor == 2
    assert await post.keep(received_at=post.clock.now()) == 3


async def test_what_is_too_much_goes_in_several_turns(post: Post) -> None:
    """The oldest, until as many are left as may be."""
    post.kept._settings = SETTINGS.model_copy(update={"most_kept": 2})
    await asyncio.gather(*(post.keep(f"v{number}") for number in range(AT_ONCE + 10)))
    await post.kept.forget(["acme"])
    head = await post.kept.head("acme")
    assert (head.number, head.floor) == (AT_ONCE + 10, AT_ONCE + 8)
    async with post.database.tenant("acme", is_read=True) as session:
        assert len((await session.execute(select(event_ids))).all()) == AT_ONCE + 10
