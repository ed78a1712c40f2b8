"""A key set by URL: when it is asked for, how long it holds, and what never replaces it."""

import asyncio
import itertools
import json

import pytest
from fakes.clock import FakeClock
from fakes.http import FakeFetcher
from fakes.tokens import Issuer, key_set

from adapters.base import Fault
from gateway.clients.http import FetchFailed
from gateway.errors import StartError, Unauthenticated
from gateway.identity.keys_url import RETRY_SECONDS, TICK_SECONDS, UNANSWERED_SECONDS, UNKNOWN_KEY_SECONDS, UrlKeys
from gateway.settings.listeners import JwtIdentity

URL = "https://issuer.example/keys"
DOWN = FetchFailed("the server cannot be reached", Fault.REFUSED)
ONE, TWO = Issuer("k1"), Issuer("k2")


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def fetcher():
    return FakeFetcher(ONE.document())


@pytest.fixture
def events():
    return []


@pytest.fixture
async def keys(clock, fetcher, events):
    settings = JwtIdentity(kind="jwt", issuer="i", audience="a", jwks_url=URL)
    keys = UrlKeys(settings, fetcher, clock, on_event=lambda name, fields: events.append((name, dict(fields))))
    yield keys
    await keys.stop()


async def settle():
    """Let every task run until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


async def passes(clock, seconds):
    """So much time, tick by tick."""
    for _ in range(round(seconds / TICK_SECONDS)):
        clock.advance(TICK_SECONDS)
        await settle()


async def test_the_set_is_there_once_it_has_started(keys):
    """Start waits for the first answer."""
    with pytest.raises(Unauthenticated):
        keys.current()
    await keys.start()
    assert keys.current() == key_set(ONE)
    assert (keys.status().is_ready, keys.status().problem) == (True, "")


async def test_a_removed_key_is_out_within_the_refresh(keys, fetcher, clock):
    """With the time that an answer may take to spare; and not by asking all the time."""
    await keys.start()
    fetcher.document = TWO.document()
    await passes(clock, 55)
    assert keys.current() == key_set(TWO)
    await passes(clock, 545)
    assert 10 <= len(fetcher.asked) <= 14


async def test_an_unchanged_set_is_the_same_object(keys, fetcher, clock):
    """Whether the server says so, or sends it again in another order."""
    fetcher.document, fetcher.etag = ONE.document(TWO), '"v1"'
    await keys.start()
    first = keys.current()
    await passes(clock, 60)
    assert fetcher.asked[:2] == ["", '"v1"']
    assert keys.current() is first
    fetcher.document, fetcher.etag = TWO.document(ONE), ""
    await passes(clock, 60)
    assert keys.current() is first
    assert keys.status().age_seconds < 60


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"<html>",
        b'{"keys": []}',
        b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}',
        b" " * (1024 * 1024 + 1),
        json.dumps({"keys": [ONE.jwk(), ONE.jwk()]}).encode(),
    ],
    ids=["empty", "page", "no keys", "symmetric", "too large", "twice"],
)
async def test_what_is_no_key_set_is_no_answer(document, keys, fetcher, clock, events):
    """The last good one holds, its etag is asked with, and the status says what is wrong."""
    fetcher.etag = '"good"'
    await keys.start()
    good = keys.current()
    fetcher.document, fetcher.etag = document, '"bad"'
    await passes(clock, 120)
    assert keys.current() is good
    assert set(fetcher.asked[1:]) == {'"good"'}
    assert keys.status().is_ready
    assert keys.status().problem.startswith("the document ")
    assert [name for name, _ in events] == ["keys_changed", "keys_unanswered"]


async def test_the_last_set_holds_while_nobody_answers_and_then_no_longer(keys, fetcher, clock):
    """For `jwks_max_stale_seconds` since the last answer was asked for."""
    await keys.start()
    fetcher.failure = DOWN
    await passes(clock, 900)
    assert keys.current() == key_set(ONE)
    assert keys.status().age_seconds == 900
    clock.advance(0.1)
    with pytest.raises(Unauthenticated, match="cannot be reached"):
        keys.current()
    assert not keys.status().is_ready
    fetcher.failure = None
    await passes(clock, 2)
    assert keys.current() == key_set(ONE)


async def test_without_staleness_a_set_holds_as_long_as_a_refresh_may_take(fetcher, clock):
    """`jwks_max_stale_seconds: 0` is not an outage between two answers."""
    settings = JwtIdentity(kind="jwt", issuer="i", audience="a", jwks_url=URL, jwks_max_stale_seconds=0)
    keys = UrlKeys(settings, fetcher, clock)
    await keys.start()
    for _ in range(240):
        await passes(clock, TICK_SECONDS)
        keys.current()
    fetcher.failure = DOWN
    await passes(clock, 61)
    with pytest.raises(Unauthenticated):
        keys.current()
    await keys.stop()


async def test_an_issuer_that_does_not_answer_yet_stops_no_start(keys, fetcher, clock, events):
    """Nobody is let in; it is asked every second, and holds within two of its return."""
    fetcher.failure = DOWN
    await keys.start()
    with pytest.raises(Unauthenticated):
        keys.current()
    await passes(clock, 30)
    assert 25 <= len(fetcher.asked) <= 32
    assert events == [("keys_unanswered", {"problem": "the server cannot be reached"})]
    fetcher.failure = None
    await passes(clock, 2)
    assert keys.current() == key_set(ONE)
    assert events[1:] == [("keys_changed", {"count": "1"})]


async def test_a_fetch_that_hangs_does_not_hold_up_the_next(keys, fetcher, clock):
    """With nothing to go by: the server came back, and the connection to the former one still waits."""
    fetcher.failure = DOWN
    await keys.start()
    fetcher.gate = asyncio.Event()
    await passes(clock, 3)
    fetcher.failure = fetcher.gate = None
    await passes(clock, 2)
    assert keys.current() == key_set(ONE)


async def test_a_late_answer_does_not_undo_a_later_one(keys, fetcher, clock):
    """The set as it was three seconds ago would bring a removed key back."""
    fetcher.failure = DOWN
    await keys.start()
    fetcher.failure, fetcher.gate = None, asyncio.Event()
    late = fetcher.gate
    await passes(clock, RETRY_SECONDS)
    fetcher.document, fetcher.gate = TWO.document(), None
    await passes(clock, RETRY_SECONDS)
    assert keys.current() == key_set(TWO)
    late.set()
    await settle()
    assert keys.current() == key_set(TWO)


async def test_however_often_it_is_to_be_asked_few_requests_hang_at_once(fetcher, clock):
    """A refresh of a tenth of a second does not pile them up before an issuer that says nothing."""
    settings = JwtIdentity(kind="jwt", issuer="i", audience="a", jwks_url=URL, jwks_refresh_seconds=0.1)
    keys = UrlKeys(settings, fetcher, clock)
    await keys.start()
    fetcher.gate = asyncio.Event()
    for _ in range(250):
        clock.advance(0.02)
        await settle()
    assert 4 <= len(fetcher.asked) - 1 <= 6
    await keys.stop()


async def test_a_set_is_as_old_as_its_question(keys, fetcher, clock):
    """The issuer may have looked at its keys right when it was asked."""
    fetcher.gate = asyncio.Event()
    starting = asyncio.create_task(keys.start())
    await settle()
    clock.advance(3)
    fetcher.gate.set()
    await starting
    assert keys.status().age_seconds == 3


async def test_while_the_last_set_holds_an_outage_is_asked_about_now_and_then(keys, fetcher, clock):
    """Every few seconds, so that a return is noticed before the next refresh."""
    await keys.start()
    fetcher.failure = DOWN
    await passes(clock, 60)
    asked = len(fetcher.asked)
    await passes(clock, 10 * UNANSWERED_SECONDS)
    assert 8 <= len(fetcher.asked) - asked <= 11


async def test_an_unknown_key_asks_at_once(keys, fetcher):
    """And whoever asked waits for the answer."""
    await keys.start()
    fetcher.document = TWO.document()
    await keys.look_again()
    assert keys.current() == key_set(TWO)


async def test_many_unknown_keys_are_one_question(keys, fetcher, clock):
    """At the same time they wait for one answer; afterwards they wait for nothing for a few seconds."""
    await keys.start()
    fetcher.gate = asyncio.Event()
    waiting = [asyncio.create_task(keys.look_again()) for _ in range(50)]
    await settle()
    fetcher.gate.set()
    await asyncio.gather(*waiting)
    assert len(fetcher.asked) == 2
    for _ in range(50):
        await keys.look_again()
    assert len(fetcher.asked) == 2
    clock.advance(UNKNOWN_KEY_SECONDS)
    await keys.look_again()
    assert len(fetcher.asked) == 3


async def test_a_caller_that_goes_away_takes_nobodys_answer(keys, fetcher):
    """The fetch that many wait for goes on."""
    await keys.start()
    fetcher.document, fetcher.gate = TWO.document(), asyncio.Event()
    first, second = (asyncio.create_task(keys.look_again()) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    fetcher.gate.set()
    await second
    assert keys.current() == key_set(TWO)


async def test_random_keys_do_not_put_off_the_refresh(keys, fetcher, clock):
    """A stranger who asks all the time makes us ask a little more often, and no less."""
    await keys.start()
    for _ in itertools.repeat(None, 120):
        await keys.look_again()
        await passes(clock, TICK_SECONDS)
    assert len(fetcher.asked) <= 60 / UNKNOWN_KEY_SECONDS + 3


async def test_a_ca_file_that_cannot_be_used_does_not_start(keys, fetcher):
    """That will never work, whoever answers."""
    fetcher.unusable = FetchFailed("the CA file cannot be used: x", Fault.NOT_LOADED)
    with pytest.raises(StartError, match="CA file"):
        await keys.start()
    assert fetcher.asked == []


async def test_stopping_ends_everything(keys, fetcher, clock):
    """Fetches that hang too; nobody is let in and nothing is asked from here on."""
    await keys.start()
    fetcher.gate = asyncio.Event()
    waiting = asyncio.create_task(keys.look_again())
    await settle()
    await keys.stop()
    await waiting
    assert fetcher.is_closed
    with pytest.raises(Unauthenticated):
        keys.current()
    asked = len(fetcher.asked)
    await passes(clock, 5)
    await keys.look_again()
    assert len(fetcher.asked) == asked
    await keys.stop()
