"""The gateway asks vendors until it knows, and never guesses."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.unresolved import Scene, intent, person
from real.stores import locked, opened, sqlite_settings

from adapters.base import AdapterError, ErrorKind, Finding, Happened
from gateway.audit.base import LineKind
from gateway.resolution.reconciler import Unresolved
from gateway.settings.resolution import ResolutionSettings
from gateway.settings.store import StoreSettings

SETTLED_SECONDS = ResolutionSettings().not_done_after_seconds
HOUR = 3600.0


@pytest.fixture
async def settings(tmp_path: Path) -> StoreSettings:
    """A database."""
    return await sqlite_settings(tmp_path)


@pytest.fixture
async def scene(settings: StoreSettings) -> AsyncIterator[Scene]:
    """Nothing is unknown yet."""
    clock = FakeClock()
    async with opened(settings, clock) as database:
        yield Scene(database=database, clock=clock)


def _names(scene: Scene) -> list[str]:
    return [event["event"] for event in scene.events]


async def test_what_the_vendor_did_is_done(scene: Scene) -> None:
    """After five seconds it is asked; the line is the gateway's own."""
    await scene.put()
    scene.vendor.effects["e-c1"] = {}
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    await scene.round(reconciler, after=4.9)
    assert scene.vendor.asked == []
    await scene.round(reconciler, after=0.1)
    assert await scene.standing() == "done"
    (line,) = scene.lines
    assert (line.kind, line.outcome, line.happened) == (LineKind.RESOLUTION, "ok", "yes")
    assert (line.principal, line.principal_kind, line.proof) == ("tollhouse", "workflow", "gateway")
    assert (line.agent, line.tool, line.effect_id) == ("helper", "pay", "e-c1")
    assert "outcome_resolved" in _names(scene)


async def test_what_the_vendor_did_not_do_frees_its_key(scene: Scene) -> None:
    """Once nothing can be on its way to it any more."""
    await scene.put()
    reconciler = scene.reconciler()
    await scene.round(reconciler, after=SETTLED_SECONDS)
    await scene.round(reconciler, after=5)
    assert await scene.standing() == ""
    assert [line.happened for line in scene.lines] == ["no"]


async def test_what_the_vendor_has_not_done_yet_it_may_still_do(scene: Scene) -> None:
    """An early no settles nothing: a late request would be done, and the key be free for a second one."""
    await scene.put()
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    await scene.round(reconciler, after=5)
    assert len(scene.vendor.asked) == 1
    assert await scene.standing() == "unknown"
    assert scene.lines == []
    assert [event["why"] for event in scene.events] == ["too_early"]


async def test_a_vendor_that_is_away_is_asked_again(scene: Scene) -> None:
    """Ever more rarely, and in the end it tells."""
    await scene.put()
    scene.vendor.effects["e-c1"] = {}
    away = AdapterError(ErrorKind.UNAVAILABLE, "It is away.", happened=Happened.NO)
    scene.vendor.failures = [away, away]
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    for seconds, questions in ((5, 1), (29, 1), (1, 2), (119, 2)):
        await scene.round(reconciler, after=seconds)
        assert len(scene.vendor.asked) == questions
        assert await scene.standing() == "unknown"
    await scene.round(reconciler, after=1)
    assert await scene.standing() == "done"
    assert len(scene.lines) == 1


async def test_a_vendor_that_does_not_know_settles_nothing(scene: Scene) -> None:
    """However late it is."""
    await scene.put()
    scene.vendor.answer = Finding.STILL_UNKNOWN
    reconciler = scene.reconciler()
    for _ in range(5):
        await scene.round(reconciler, after=HOUR * 2)
    assert len(scene.vendor.asked) == 4
    assert await scene.standing() == "unknown"
    assert scene.lines == []


async def test_when_the_credential_or_the_tool_is_gone_it_stays_unknown(scene: Scene) -> None:
    """And is asked as soon as they are back and its turn has come."""
    await scene.put()
    scene.vendor.effects["e-c1"] = {}
    values, tools = scene.source.values, scene.tools
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    scene.source.values = {}
    await scene.round(reconciler, after=5)
    scene.source.values, scene.tools = values, ()
    await scene.round(reconciler, after=30)
    assert scene.vendor.asked == []
    assert [event["why"] for event in scene.events] == ["credential_missing", "nobody_to_ask"]
    scene.tools = tools
    await scene.round(reconciler, after=120)
    assert await scene.standing() == "done"


async def test_what_a_person_settled_is_not_asked_about(scene: Scene) -> None:
    """Since the last look."""
    await scene.put()
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    await scene.desk().resolve(person(), "c1", Happened.YES, "I looked.")
    scene.settings = ResolutionSettings(look_seconds=300)
    await scene.round(reconciler, after=5)
    assert scene.vendor.asked == []
    assert len(scene.lines) == 1


async def test_an_answer_that_comes_after_a_person_settled_it_changes_nothing(scene: Scene) -> None:
    """The person was first, and the one line is theirs."""
    await scene.put()
    scene.vendor.gate = asyncio.Event()
    reconciler = scene.reconciler()
    await scene.round(reconciler, after=SETTLED_SECONDS)
    scene.clock.advance(5)
    reconciler.tick()
    await scene.vendor.started.wait()
    await scene.desk().resolve(person(), "c1", Happened.YES, "I looked.")
    scene.vendor.gate.set()
    await reconciler.idle()
    assert await scene.standing() == "done"
    assert [line.principal for line in scene.lines] == ["ann"]


async def test_a_round_takes_no_more_than_it_may(scene: Scene) -> None:
    """The rest has its turn in the next."""
    scene.settings = ResolutionSettings(concurrent=2)
    for number in range(3):
        await scene.put(f"c{number}")
        scene.vendor.effects[f"e-c{number}"] = {}
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    await scene.round(reconciler, after=5)
    assert len(scene.vendor.asked) == 2
    await scene.round(reconciler)
    assert len(scene.vendor.asked) == 3
    assert len(scene.lines) == 3


async def test_one_that_hangs_does_not_begin_a_second_round(scene: Scene) -> None:
    """Ticks come every second whatever the vendor does."""
    await scene.put()
    scene.vendor.gate = asyncio.Event()
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    scene.clock.advance(5)
    for _ in range(3):
        reconciler.tick()
        await scene.vendor.started.wait()
        scene.clock.advance(HOUR)
    assert len(scene.vendor.asked) == 1
    await reconciler.stop()
    assert await scene.standing() == "unknown"
    await reconciler.stop()


async def test_one_that_breaks_does_not_hold_up_the_others(scene: Scene) -> None:
    """Whatever an adapter does."""
    await scene.put("c1")
    await scene.put("c2")
    scene.vendor.effects |= {"e-c1": {}, "e-c2": {}}
    scene.vendor.failures = [RuntimeError(f"{scene.source.values['PAY_TOKEN']} is wrong")]
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    await scene.round(reconciler, after=5)
    assert sorted([await scene.standing("c1"), await scene.standing("c2")]) == ["done", "unknown"]
    assert scene.source.values["PAY_TOKEN"] not in scene.written.getvalue()


async def test_while_the_journal_is_down_nothing_is_settled(scene: Scene) -> None:
    """It is asked again later."""
    await scene.put()
    scene.vendor.effects["e-c1"] = {}
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    scene.journal.is_down = True
    await scene.round(reconciler, after=5)
    assert await scene.standing() == "unknown"
    scene.journal.is_down = False
    await scene.round(reconciler, after=30)
    assert await scene.standing() == "done"
    assert len(scene.lines) == 1


async def test_while_the_store_is_down_nobody_is_asked(scene: Scene, settings: StoreSettings) -> None:
    """And the gateway goes on; what it knew of how many there are is shown."""
    await scene.put()
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    await scene.database.close()
    settings.path.rename(settings.path.with_suffix(".away"))
    settings.path.mkdir()
    await scene.round(reconciler, after=5)
    assert scene.vendor.asked == []
    assert "resolution_held_up" in _names(scene)
    assert reconciler.status().count == 1


async def test_a_store_that_takes_no_writes_leaves_it_unknown(scene: Scene, settings: StoreSettings) -> None:
    """What was found out is found out again."""
    await scene.put()
    scene.vendor.effects["e-c1"] = {}
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    with locked(settings.path):
        await scene.round(reconciler, after=5)
    assert await scene.standing() == "unknown"
    assert scene.lines == []
    await scene.round(reconciler, after=30)
    assert await scene.standing() == "done"


async def test_vendors_are_not_asked_when_the_settings_say_so(scene: Scene) -> None:
    """They are counted all the same."""
    scene.settings = ResolutionSettings(enabled=False)
    await scene.put()
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    await scene.round(reconciler, after=HOUR)
    assert scene.vendor.asked == []
    assert reconciler.status().count == 1


async def test_it_says_how_many_there_are_and_how_old(scene: Scene) -> None:
    """Those that nobody can be asked about as well; nobody is asked for it."""
    reconciler = scene.reconciler()
    assert reconciler.status() == Unresolved(count=0, oldest_seconds=0.0)
    await scene.put("c1", is_askable=False)
    await scene.put("c2")
    await scene.round(reconciler)
    scene.clock.advance(7)
    assert reconciler.status() == Unresolved(count=2, oldest_seconds=7.0)


async def test_what_stays_unknown_is_an_event_once_an_hour(scene: Scene) -> None:
    """A person has to look at it."""
    await scene.put("c1", is_askable=False, intent=intent(tool="post"))
    reconciler = scene.reconciler()
    for seconds in (HOUR - 10, 10, 10, HOUR - 20, 10):
        await scene.round(reconciler, after=seconds)
    told = [event for event in scene.events if event["event"] == "outcomes_unknown_for_long"]
    assert [(event["tenant"], event["count"]) for event in told] == [("acme", 1), ("acme", 1)]
