"""When a server is asked for its tools."""

import asyncio
import gc
import weakref

import pytest
from fakes.clock import FakeClock
from fakes.mcp_sessions import FakeSession, published

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.mcp_upstream.looks import FRESH_SECONDS, LOOK_SECONDS, MAX_LOOKS, Looks
from adapters.mcp_upstream.pins import pin_of


class Looking:
    """Looks at sessions."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.looks = Looks(self.clock)

    async def pins(self, session: FakeSession, seconds: float = 5.0) -> dict[str, tuple[str, ...]]:
        """What it publishes."""
        return dict(await self.looks.pins(session, self.clock.monotonic() + seconds))


@pytest.fixture
def looking() -> Looking:
    """A looker."""
    return Looking()


async def test_a_session_is_looked_at_once_a_minute(looking: Looking) -> None:
    """However often it is called."""
    session = FakeSession(tools_list=[published()])
    for _ in range(3):
        assert await looking.pins(session) == {"send_email": (pin_of(published()),)}
    looking.clock.advance(FRESH_SECONDS - 1)
    await looking.pins(session)
    assert session.lists == 1
    looking.clock.advance(1)
    await looking.pins(session)
    assert session.lists == 2


async def test_a_session_that_says_that_its_tools_changed_is_looked_at_again(looking: Looking) -> None:
    """Before anything else is called."""
    session = FakeSession(tools_list=[published()])
    await looking.pins(session)
    session.tools_list, session.tools_changed = [published(title="New")], 1
    assert await looking.pins(session) == {"send_email": (pin_of(published(title="New")),)}
    await looking.pins(session)
    assert session.lists == 2


async def test_sessions_are_looked_at_apart(looking: Looking) -> None:
    """Who answers in one need not be who answers in another, though their tools have the same names."""
    one, other = FakeSession(tools_list=[published()]), FakeSession(tools_list=[published(title="Other")])
    for _ in range(2):
        assert await looking.pins(one) != await looking.pins(other)
    assert (one.lists, other.lists) == (1, 1)


async def test_a_session_that_is_gone_is_forgotten(looking: Looking) -> None:
    """Nothing is kept of it."""
    session = FakeSession(tools_list=[published()])
    gone = weakref.ref(session)
    await looking.pins(session)
    del session
    gc.collect()
    assert gone() is None


async def test_one_looks_for_all(looking: Looking) -> None:
    """Never two at once, and those who waited look no more."""
    session = FakeSession(tools_list=[published()])
    session.listing.clear()
    waiting = [asyncio.ensure_future(looking.pins(session)) for _ in range(5)]
    await session.looked.wait()
    session.listing.set()
    assert len(await asyncio.gather(*waiting)) == 5
    assert (session.lists, session.most_lists_at_once) == (1, 1)


async def test_a_change_that_is_told_while_the_list_comes_is_not_missed(looking: Looking) -> None:
    """The list may be of before it."""
    session = FakeSession(tools_list=[published()])
    session.listing.clear()
    looked = asyncio.ensure_future(looking.pins(session))
    await session.looked.wait()
    session.tools_changed += 1
    session.listing.set()
    await looked
    await looking.pins(session)
    assert session.lists == 2


async def test_who_is_cancelled_while_looking_leaves_it_to_the_next(looking: Looking) -> None:
    """Nobody is held up by it, and nothing of it is believed."""
    session = FakeSession(tools_list=[published()])
    session.listing.clear()
    first = asyncio.ensure_future(looking.pins(session))
    await session.looked.wait()
    second = asyncio.ensure_future(looking.pins(session))
    await asyncio.sleep(0)
    first.cancel()
    session.listing.set()
    assert await second
    assert first.cancelled()
    assert (session.lists, session.most_lists_at_once) == (2, 1)


async def test_a_look_that_fails_is_not_believed(looking: Looking) -> None:
    """Nor is the one before it."""
    session = FakeSession(tools_list=[published()])
    await looking.pins(session)
    looking.clock.advance(FRESH_SECONDS)
    session.trouble = AdapterError(ErrorKind.UNAVAILABLE, "No.", happened=Happened.NO)
    for lists in (2, 3):
        with pytest.raises(AdapterError):
            await looking.pins(session)
        assert session.lists == lists
    session.trouble = None
    assert await looking.pins(session)


async def test_who_waits_for_a_look_waits_until_his_own_deadline(looking: Looking) -> None:
    """And no longer, however long the one who looks may."""
    session = FakeSession(tools_list=[published()])
    session.listing.clear()
    first = asyncio.ensure_future(looking.pins(session, seconds=60))
    await session.looked.wait()
    with pytest.raises(AdapterError) as caught:
        await looking.pins(session, seconds=0.01)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.DEADLINE, Happened.NO)
    session.listing.set()
    assert await first
    assert session.lists == 1


async def test_a_look_is_over_before_the_call(looking: Looking) -> None:
    """At its deadline, and after ten seconds at the latest: others wait."""
    session = FakeSession()
    began = looking.clock.monotonic()
    await looking.pins(session, 3.0)
    session.tools_changed += 1
    await looking.pins(session, 300.0)
    assert session.deadlines == [began + 3.0, began + LOOK_SECONDS]


async def test_whoever_reviews_sees_what_is_published_now(looking: Looking) -> None:
    """And everybody else from then on."""
    session = FakeSession(tools_list=[published()])
    await looking.pins(session)
    session.tools_list = [published("new")]
    tools = await looking.looks.tools(session, looking.clock.monotonic() + 5)
    assert [tool["name"] for tool in tools] == ["new"]
    assert list(await looking.pins(session)) == ["new"]
    assert session.lists == 2


async def test_what_changed_while_it_was_looked_at_is_looked_at_again_before_the_call(looking: Looking) -> None:
    """The call is judged by what is published after the change."""
    session = FakeSession(tools_list=[published()])
    session.listing.clear()
    looked = asyncio.ensure_future(looking.pins(session))
    await session.looked.wait()
    session.tools_list, session.tools_changed = [published(title="New")], 1
    session.listing.set()
    assert await looked == {"send_email": (pin_of(published(title="New")),)}


async def test_tools_that_change_all_the_time_are_not_called(looking: Looking) -> None:
    """Looking has an end."""
    session = FakeSession(tools_list=[published()])

    async def tools(_deadline: float) -> list[dict[str, object]]:
        session.lists += 1
        session.tools_changed += 1
        return [published()]

    session.tools = tools  # type: ignore[method-assign, assignment]
    with pytest.raises(AdapterError) as caught:
        await looking.pins(session)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert session.lists == MAX_LOOKS
