"""An unknown outcome becomes a known one, with one line. Races are in `tests/integration/test_resolution.py`."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.sink import ListSink
from fakes.unresolved import DIGEST, WORD, Scene, intent, person
from real.stores import locked, opened, sqlite_settings

from adapters.base import Happened
from gateway.audit.base import Line, LineKind
from gateway.errors import Refused, RefusedKind
from gateway.settings.store import StoreSettings


@pytest.fixture
async def settings(tmp_path: Path) -> StoreSettings:
    """A database."""
    return await sqlite_settings(tmp_path)


@pytest.fixture
async def scene(settings: StoreSettings) -> AsyncIterator[Scene]:
    """One effect is unknown."""
    clock = FakeClock()
    async with opened(settings, clock) as database:
        scene = Scene(database=database, clock=clock)
        await scene.put()
        yield scene


class SlowSink(ListSink):
    """Keeps a line when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.gate = asyncio.Event(), asyncio.Event()

    async def append(self, line: Line) -> None:
        """In its time."""
        self.is_asked.set()
        await self.gate.wait()
        await super().append(line)


async def _settle(scene: Scene, happened: Happened = Happened.YES) -> bool:
    unknown = await scene.found()
    assert unknown is not None
    return await scene.settling().settle(unknown, happened, by=person(), note=WORD)


@pytest.mark.parametrize(("happened", "standing"), [(Happened.YES, "done"), (Happened.NO, "")])
async def test_an_outcome_is_settled_with_one_line(scene: Scene, happened: Happened, standing: str) -> None:
    """It says who settled what, whose it is, what was found, and how they know."""
    assert await _settle(scene, happened)
    assert await scene.standing() == standing
    (line,) = scene.lines
    assert (line.kind, line.outcome, line.happened, line.note) == (LineKind.RESOLUTION, "ok", happened, WORD)
    assert (line.principal, line.principal_kind, line.proof) == ("ann", "human", "jwt")
    assert (line.agent, line.run_id, line.tool, line.tool_version) == ("helper", "r1", "pay", "1")
    assert (line.effect_id, line.connection, line.side_effect) == ("e-c1", "bank", "write")
    assert (line.arguments_digest, line.key_digest) == (DIGEST, "kd")


async def test_the_line_names_the_approval(scene: Scene) -> None:
    """Of an effect that somebody had approved."""
    await scene.put("c2", intent=intent(approval_id="a1"))
    unknown = await scene.found("c2")
    assert unknown is not None
    await scene.settling().settle(unknown, Happened.YES, by=person(), note=WORD)
    assert scene.lines[0].approval_id == "a1"


async def test_who_is_late_settles_nothing_and_leaves_no_line(scene: Scene) -> None:
    """Nor a begin, which would need one."""
    unknown = await scene.found()
    assert unknown is not None
    assert await scene.settling().settle(unknown, Happened.YES, by=person(), note=WORD)
    assert not await scene.settling().settle(unknown, Happened.NO, by=person(), note=WORD)
    assert await scene.standing() == "done"
    assert len(scene.lines) == len(scene.journal.begins) == 1


async def test_not_knowing_settles_nothing(scene: Scene) -> None:
    """It is a fault of ours to try."""
    with pytest.raises(ValueError, match="not settled"):
        await _settle(scene, Happened.UNKNOWN)
    assert await scene.standing() == "unknown"


async def test_what_cannot_be_begun_is_not_done(scene: Scene) -> None:
    """The journal does not take it: the outcome stays unknown."""
    scene.journal.is_down = True
    with pytest.raises(Refused) as caught:
        await _settle(scene)
    assert caught.value.kind is RefusedKind.UNAVAILABLE
    assert await scene.standing() == "unknown"
    assert scene.lines == []


async def test_what_cannot_be_written_down_is_owed(scene: Scene) -> None:
    """It is settled, its line comes later, and whoever did it is told to look."""
    scene.sink.is_down = True
    with pytest.raises(Refused) as caught:
        await _settle(scene)
    assert caught.value.kind is RefusedKind.UNAVAILABLE
    assert await scene.standing() == "done"
    assert [line.outcome for line in scene.sink.owed] == ["ok"]


async def test_while_the_store_does_not_answer_nothing_is_settled(scene: Scene, settings: StoreSettings) -> None:
    """Nor written down: nothing was begun."""
    unknown = await scene.found()
    assert unknown is not None
    with locked(settings.path), pytest.raises(Refused) as caught:
        await scene.settling().settle(unknown, Happened.YES, by=person(), note=WORD)
    assert caught.value.kind is RefusedKind.UNAVAILABLE
    assert await scene.standing() == "unknown"
    assert scene.journal.begins == []


async def test_whoever_leaves_meanwhile_leaves_it_settled(scene: Scene) -> None:
    """With its line."""
    scene.outer_sink = sink = SlowSink()
    settling = asyncio.create_task(_settle(scene))
    await sink.is_asked.wait()
    settling.cancel()
    await asyncio.sleep(0)
    sink.gate.set()
    assert await settling
    assert await scene.standing() == "done"
    assert [line.outcome for line in sink.lines] == ["ok"]
