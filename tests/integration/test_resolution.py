"""Unknown outcomes over real databases: many find out at once, and one settles, with one line; a crash in between."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.aftermaths import process
from fakes.audit import written
from fakes.clock import FakeClock
from fakes.files import Disk
from fakes.sink import ListSink
from fakes.spending import counters
from fakes.unresolved import WORD, Scene, bank, intent, pay_tool, person
from real.stores import opened, postgres_settings, sqlite_settings

from adapters.base import Finding, Happened
from gateway.audit.base import Line
from gateway.audit.deeds import Deeds
from gateway.errors import Refused
from gateway.resolution.settling import Settling
from gateway.settings.resolution import ResolutionSettings
from gateway.settings.store import StoreSettings
from gateway.store.unknowns import account_of

EFFECTS = 20
LATE_SECONDS = ResolutionSettings().not_done_after_seconds


@pytest.fixture(params=["sqlite", "postgresql"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSettings:
    """A database at the newest revision."""
    if request.param == "sqlite":
        return await sqlite_settings(tmp_path)
    return await postgres_settings(request.getfixturevalue("server"), timeout_ms=10_000)


@pytest.fixture
async def scene(settings: StoreSettings) -> AsyncIterator[Scene]:
    """Nothing is unknown yet."""
    clock = FakeClock()
    async with opened(settings, clock) as database:
        yield Scene(database=database, clock=clock)


@pytest.mark.parametrize("finding", [Finding.DONE, Finding.NOT_DONE])
async def test_two_gateways_and_a_person_settle_each_once(
    scene: Scene, settings: StoreSettings, finding: Finding
) -> None:
    """Whoever is first; each effect has one line, which says what holds, and its budget is settled once."""
    scene.settings = ResolutionSettings(concurrent=EFFECTS)
    scene.vendor.answer = finding
    calls = [f"c{number}" for number in range(EFFECTS)]
    for call_id in calls:
        await scene.put(call_id)
    scene.clock.advance(LATE_SECONDS)
    async with contextlib.AsyncExitStack() as stack:
        pools = [await stack.enter_async_context(opened(settings, scene.clock)) for _ in range(2)]
        gateways = [scene.reconciler(pool) for pool in pools]
        for gateway in gateways:
            await scene.round(gateway)
        scene.clock.advance(5)
        for gateway in gateways:
            gateway.tick()
        people = [_resolve(scene, call_id) for call_id in calls]
        settled = await asyncio.gather(*people)
        await asyncio.gather(*(gateway.idle() for gateway in gateways))
    assert sorted(line.effect_id for line in scene.lines) == sorted(f"e-{call_id}" for call_id in calls)
    assert {line.outcome for line in scene.lines} == {"ok"}
    assert sum(settled) == sum(line.principal == "ann" for line in scene.lines)
    for line in scene.lines:
        assert await scene.standing(line.effect_id.removeprefix("e-")) == ("done" if line.happened == "yes" else "")
    done = sum(line.happened == "yes" for line in scene.lines)
    async with scene.database.tenant("acme", is_read=True) as session:
        assert await counters(session) == {"mail": (done, 0)}


async def test_every_tenants_outcomes_are_found_out(scene: Scene, settings: StoreSettings) -> None:
    """Each with its own account and under its own name; a person of one tenant reaches nothing of another."""
    if settings.is_sqlite:
        return
    scene.connections = (bank(), bank(tenant="other", credential=""))
    account = account_of(pay_tool().binding, bank(credential=""))
    await scene.put("c1")
    await scene.put("c2", tenant="other", intent=intent(account=account))
    scene.vendor.effects |= {"e-c1": {}, "e-c2": {}}
    with pytest.raises(Refused):
        await scene.desk().resolve(person(), "c2", Happened.YES, WORD)
    reconciler = scene.reconciler()
    await scene.round(reconciler)
    assert reconciler.status().count == 2
    await scene.round(reconciler, after=5)
    assert [await scene.standing("c1"), await scene.standing("c2", "other")] == ["done", "done"]
    assert sorted((line.tenant, line.principal) for line in scene.lines) == [
        ("acme", "tollhouse"),
        ("other", "tollhouse"),
    ]


class Killed(ListSink):
    """The process ends when it is about to write a line."""

    async def append(self, line: Line) -> None:
        """Never."""
        raise RuntimeError("killed")


async def test_a_crash_between_settling_and_its_line_leaves_one_line(scene: Scene, settings: StoreSettings) -> None:
    """Written by the restart: it says that nobody knows whether this deed was done. The outcome was settled, once."""
    await scene.put()
    unknown = await scene.found()
    assert unknown is not None
    disk = Disk()
    async with process(disk, settings, scene.clock) as one:
        deeds = Deeds(one.audit.journal, Killed(), clock=scene.clock, new_id=lambda: "d1")
        settling = Settling(scene.database, deeds, scene.clock)
        with pytest.raises(RuntimeError):
            await settling.settle(unknown, Happened.YES, by=person(), note=WORD)
    async with process(disk, settings, scene.clock, boot="2") as again:
        assert await again.recover() == 1
        deeds = Deeds(again.audit.journal, again.audit.sink, clock=scene.clock, new_id=lambda: "d2")
        settling = Settling(scene.database, deeds, scene.clock)
        assert not await settling.settle(unknown, Happened.NO, by=person(), note=WORD)
        await again.audit.close()
    (line,) = written(disk)
    assert (line["kind"], line["call_id"], line["outcome"], line["recovered"]) == ("resolution", "d1", "unknown", True)
    assert await scene.standing() == "done"


async def _resolve(scene: Scene, call_id: str) -> bool:
    """Whether the person was first."""
    try:
        await scene.desk().resolve(person(), call_id, Happened.YES, WORD)
    except Refused:
        return False
    return True
