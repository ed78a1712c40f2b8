"""Watching events: at least once, in order, by the row of the moment."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.events import Post, catalogue_of, post_over, subscriber, tracker
from fakes.principals import principal
from real.stores import sqlite_settings
from sqlalchemy import delete, update

from gateway.errors import Reason, Refusal, Refused, RefusedKind
from gateway.events.interest import Asked
from gateway.events.watching import FEW, PAGE
from gateway.settings.events import EventSettings
from gateway.store.schema import event_heads, events
from gateway.store.sealing import SealDown

SETTINGS = EventSettings(address="unix:e", retain_seconds=100, most_watchers=2)


@pytest.fixture
async def post(tmp_path: Path) -> AsyncIterator[Post]:
    """A tenant with an agent that gets all events of one connection."""
    async with post_over(await sqlite_settings(tmp_path), settings=SETTINGS) as one:
        yield one


async def test_the_first_answer_comes_at_once(post: Post) -> None:
    """A cursor without an event: from there on nothing is lost, whatever becomes of the stream."""
    await post.keep("before")
    stream = post.watch()
    first = await stream.next()
    assert (first.event, first.missed) == (None, False)
    await stream.close()
    await post.keep("between")
    again = post.watch(after=first.cursor)
    assert await again.ids(1) == ["between"]
    await again.close()


async def test_events_come_in_their_order_while_they_happen(post: Post) -> None:
    """Whole, each with the cursor behind it."""
    stream = post.watch()
    await stream.next()
    for number in range(3):
        await post.keep(f"v{number}")
        seen = await stream.next()
        assert seen.event is not None
        assert (seen.event.id, seen.event.data_json) == (f"v{number}", b'{"title":"It is broken"}')
        assert seen.event.labels == ("untrusted", "private")
    await stream.close()


async def test_a_stream_that_was_cut_goes_on_where_it_was(post: Post) -> None:
    """Behind the last answer that was dealt with, and after an older cursor the later ones again."""
    for number in range(6):
        await post.keep(f"v{number}")
    stream = post.watch(from_oldest=True)
    cursors = [(await stream.next()).cursor for _ in range(4)]
    await stream.close()
    for read in (4, 3):
        again = post.watch(after=cursors[read - 1])
        assert await again.ids(6 - read) == [f"v{number}" for number in range(read, 6)]
        await again.close()


async def test_many_more_than_a_page_all_come(post: Post) -> None:
    """Those in between that are somebody else's are left out."""
    total = 2 * PAGE + FEW + 1
    kinds = ("push.made", "issue.opened", "issue.opened")
    await asyncio.gather(*(post.keep(f"v{number}", kind=kinds[number % 3]) for number in range(total)))
    post.catalogue = catalogue_of([subscriber("issue.*")], [tracker()])
    stream = post.watch(from_oldest=True)
    wanted = [f"v{number}" for number in range(total) if number % 3]
    assert await stream.ids(len(wanted)) == wanted
    await stream.close()


async def test_another_agent_of_the_tenant_gets_what_its_own_row_names(post: Post) -> None:
    """And an agent without a subscription, or without a row, gets signs of life and learns of nothing."""
    post.catalogue = catalogue_of(
        [subscriber("*"), subscriber("issue.closed", name="closer"), subscriber(name="nothing")], [tracker()]
    )
    post.watching._sign_seconds = 0.0
    await post.keep("opened")
    await post.keep("closed", kind="issue.closed")
    stream = post.watch(principal(agent="closer"), from_oldest=True)
    assert await stream.ids(1) == ["closed"]
    await stream.close()
    for who in (principal(agent="nothing"), principal(agent="nobody")):
        stream = post.watch(who, from_oldest=True)
        signs = [await stream.next() for _ in range(3)]
        assert [(sign.event, sign.missed) for sign in signs] == [(None, False)] * 3
        await stream.close()


async def test_events_of_others_are_no_reason_to_say_anything(post: Post) -> None:
    """When signs of life come is no sign of theirs."""
    post.catalogue = catalogue_of([subscriber("issue.closed")], [tracker()])
    stream = post.watch()
    await stream.next()
    waiting = asyncio.create_task(stream.next())
    for number in range(5):
        await post.keep(f"v{number}")
        await asyncio.sleep(0.03)
    assert not waiting.done()
    await post.keep("mine", kind="issue.closed")
    seen = await waiting
    assert seen.event is not None
    assert seen.event.id == "mine"
    await stream.close()


async def test_a_changed_row_takes_effect_at_once(post: Post) -> None:
    """Also on what was read already and waits to be sent."""
    for number in range(3):
        await post.keep(f"v{number}")
    stream = post.watch(from_oldest=True)
    assert await stream.ids(1) == ["v0"]
    post.catalogue = catalogue_of([subscriber("issue.closed")], [tracker()])
    await post.keep("closed", kind="issue.closed")
    assert await stream.ids(1) == ["closed"]
    await stream.close()


async def test_the_request_narrows_what_is_sent(post: Post) -> None:
    """By its own connections and kinds."""
    await post.keep("opened")
    await post.keep("closed", kind="issue.closed")
    stream = post.watch(asked=Asked.of(["tracker"], ["issue.closed"]), from_oldest=True)
    assert await stream.ids(1) == ["closed"]
    await stream.close()


async def test_signs_of_life_move_the_cursor_on(post: Post) -> None:
    """So that whoever comes back does not read the events of others again."""
    post.catalogue = catalogue_of([subscriber("issue.closed")], [tracker()])
    post.watching._sign_seconds = 0.0
    stream = post.watch()
    first = await stream.next()
    await post.keep("of another")
    later = [await stream.next() for _ in range(3)][-1]
    await stream.close()
    assert [await post.cursors.read(principal(), one.cursor) for one in (first, later)] == [0, 1]


async def test_what_went_in_between_is_missed(post: Post) -> None:
    """Which is said once, with the next answer; whoever begins with the oldest missed nothing."""
    await post.keep("v0")
    stream = post.watch(from_oldest=True)
    cursor = (await stream.next()).cursor
    await stream.close()
    await post.keep("v1")
    post.clock.advance(101)
    await post.keep("v2", received_at=post.clock.now())
    await post.keep("v3", received_at=post.clock.now())
    await post.kept.forget(["acme"])
    again = post.watch(after=cursor)
    seen = [await again.next() for _ in range(2)]
    assert [(one.event and one.event.id, one.missed) for one in seen] == [("v2", True), ("v3", False)]
    await again.close()
    fresh = post.watch(from_oldest=True)
    assert not (await fresh.next()).missed
    await fresh.close()


async def test_what_is_lost_with_nothing_behind_it_is_missed_too(post: Post) -> None:
    """A sign of life says it."""
    stream = post.watch()
    cursor = (await stream.next()).cursor
    await stream.close()
    await post.keep("v0")
    post.clock.advance(101)
    await post.kept.forget(["acme"])
    again = post.watch(after=cursor)
    seen = await again.next()
    assert (seen.event, seen.missed) == (None, True)
    await again.close()


async def test_a_cursor_beyond_all_events_is_of_another_store(post: Post) -> None:
    """Going on from it would leave out what comes in until then."""
    cursor = await post.cursors.write(principal(), 7)
    with pytest.raises(Refused) as caught:
        await post.watch(after=cursor).next()
    assert caught.value.kind is RefusedKind.INVALID


async def test_an_agent_watches_in_so_many_places_at_once(post: Post) -> None:
    """Another one may, and so may it when it ends one."""
    open_ones = [post.watch() for _ in range(2)]
    for stream in open_ones:
        await stream.next()
    with pytest.raises(Refusal) as caught:
        await post.watch().next()
    assert caught.value.reason is Reason.CALLER_RATE
    other = post.watch(principal(agent="other"))
    await other.next()
    assert post.watching.open == 3
    for stream in (*open_ones, other):
        await stream.close()
    assert post.watching.open == 0
    again = post.watch()
    await again.next()
    await again.close()


async def test_so_many_watch_at_once_whoever_they_are(tmp_path: Path) -> None:
    """However few each: else agents that watch would take the places of those that call."""
    async with post_over(await sqlite_settings(tmp_path), settings=SETTINGS, most_in_all=3) as post:
        streams = [post.watch(principal(agent=f"helper{number}")) for number in range(3)]
        for stream in streams:
            await stream.next()
        with pytest.raises(Refusal) as caught:
            await post.watch(principal(agent="late")).next()
        assert caught.value.reason is Reason.CALLER_RATE
        await streams.pop().close()
        streams.append(post.watch(principal(agent="late")))
        await streams[-1].next()
        for stream in streams:
            await stream.close()


async def test_who_watches_is_sent_away_when_the_gateway_ends(post: Post) -> None:
    """Whether it waits, or is being told."""
    for number in range(2 * FEW):
        await post.keep(f"v{number}")
    waiting, busy = post.watch(), post.watch(from_oldest=True)
    await waiting.next()
    assert await busy.ids(1) == ["v0"]
    ending = asyncio.create_task(waiting.next())
    await asyncio.sleep(0)
    post.watching.drain()
    with pytest.raises(Refused) as caught:
        await ending
    assert caught.value.kind is RefusedKind.UNAVAILABLE
    with pytest.raises(Refused):
        await busy.ids(2 * FEW)
    with pytest.raises(Refused):
        await post.watch().next()


async def test_who_is_between_two_answers_when_the_gateway_ends_is_sent_away_too(post: Post) -> None:
    """It was not waiting yet when the others were woken."""
    stream = post.watch()
    await stream.next()
    post.watching.drain()
    with pytest.raises(Refused):
        await stream.next()


async def test_a_stream_does_not_outlast_an_hour(post: Post) -> None:
    """Whoever watches shows again who it is: a token may have ended."""
    stream = post.watch()
    await stream.next()
    post.clock.advance(3601)
    await post.keep()
    with pytest.raises(Refused) as caught:
        await stream.next()
    assert caught.value.kind is RefusedKind.UNAVAILABLE


async def test_an_agent_that_is_stopped_gets_nothing(post: Post) -> None:
    """Its cursor stays where it is: when it may go on, the events are there."""
    stream = post.watch()
    cursor = (await stream.next()).cursor
    post.halted = Refusal(Reason.STOPPED, "An operator has stopped this agent.")
    await post.keep()
    with pytest.raises(Refusal) as caught:
        await stream.next()
    assert caught.value.reason is Reason.STOPPED
    post.halted = None
    again = post.watch(after=cursor)
    assert await again.ids(1) == ["v1"]
    await again.close()


async def _down(*_: object) -> bytes:
    raise SealDown("away")


async def test_a_stop_holds_for_the_very_next_event(post: Post) -> None:
    """Also for those that were read together with one that is told already."""
    for number in range(FEW):
        await post.keep(f"v{number}")
    stream = post.watch(from_oldest=True)
    await stream.next()
    post.halted = Refusal(Reason.STOPPED, "An operator has stopped this agent.")
    with pytest.raises(Refusal):
        await stream.next()


async def test_a_store_that_is_set_back_is_missed(post: Post) -> None:
    """Its numbers are given anew: who had come further would take the next events for seen."""
    for number in range(3):
        await post.keep(f"v{number}")
    stream = post.watch()
    await stream.next()
    async with post.database.tenant("acme") as session:
        await session.execute(delete(events).where(events.c.number > 1))
        await session.execute(update(event_heads).values(number=1))
    post.watching._sign_seconds = 0.0
    while not (seen := await stream.next()).missed:
        assert seen.event is None
    post.watching._sign_seconds = 60.0
    await post.keep("v9")
    assert await stream.ids(1) == ["v9"]
    await stream.close()


async def test_a_seal_that_is_down_ends_the_stream(post: Post) -> None:
    """Nothing is skipped for it."""
    stream = post.watch()
    await stream.next()
    await post.keep()
    post.seal.open = _down  # type: ignore[method-assign]
    with pytest.raises(Refusal) as caught:
        await stream.next()
    assert caught.value.reason is Reason.STORE_UNAVAILABLE
