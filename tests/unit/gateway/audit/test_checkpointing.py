"""Checkpoints are made every so often and at the end, wherever one is missing."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes.audit import until
from fakes.clock import FakeClock
from fakes.signing import FakeSigner

from gateway.audit.chain import Link
from gateway.audit.checkpointing import Checkpointer, FileKeeper, Keeper, NotKept
from gateway.audit.checkpoints import Checkpoint, parse, stands_of
from gateway.audit.lines import Standing
from gateway.audit.notes import notes_in
from gateway.errors import StartError

SIGNER = FakeSigner()
EMPTY = Standing("w1", 1, "0" * 64, {})


def _standing(seq: int) -> Standing:
    return Standing("w1", seq, f"{seq:064x}", {"acme": Link(seq - 1, f"{seq:064x}")})


def _checkpoints(path: Path) -> list[Checkpoint]:
    return [parse(note.text, SIGNER.key.name) for note in notes_in(path.read_text())] if path.exists() else []


class _Made:
    """A checkpointer, what it is told, and what it tells."""

    def __init__(self, *keepers: Keeper) -> None:
        self.standing = EMPTY
        self.events: list[tuple[str, Mapping[str, str]]] = []
        self.clock = FakeClock()
        self.it = Checkpointer(
            lambda: self.standing,
            keepers,
            seconds=60,
            clock=self.clock,
            on_event=lambda name, fields: self.events.append((name, fields)),
        )


class _List:
    """A keeper in memory."""

    name = "list"

    def __init__(self) -> None:
        self.kept: list[int] = []
        self.is_down = False

    async def keep(self, standing: Standing) -> None:
        """Keep it."""
        if self.is_down:
            raise NotKept("the list is down")
        self.kept.append(standing.seq)


async def test_one_is_made_of_what_was_written_since() -> None:
    """None before the first line, and none twice of the same."""
    keeper = _List()
    made = _Made(keeper)
    await made.it.make()
    for seq in (5, 5, 9):
        made.standing = _standing(seq)
        await made.it.make()
    assert keeper.kept == [5, 9]


async def test_one_is_made_at_every_interval_and_at_the_end() -> None:
    """The end does not wait for the interval, and a second end makes none."""
    keeper = _List()
    made = _Made(keeper)
    made.it.start()
    made.standing = _standing(3)
    await until(lambda: made.clock.sleepers == 1)
    made.clock.advance(59)
    await asyncio.sleep(0)
    assert keeper.kept == []
    made.clock.advance(1)
    await until(lambda: keeper.kept == [3])
    made.standing = _standing(7)
    await made.it.stop()
    made.standing = _standing(8)
    await made.it.stop()
    assert keeper.kept == [3, 7]


async def test_a_place_that_fails_is_told_of_and_tried_again() -> None:
    """Once each time, and once when it is mended; the others have theirs."""
    good, bad = _List(), _List()
    bad.name, bad.is_down = "bad", True
    made = _Made(bad, good)
    made.standing = _standing(4)
    await made.it.make()
    assert (good.kept, bad.kept) == ([4], [])
    assert made.events == [("checkpoint_failed", {"where": "bad", "problem": "the list is down"})]
    bad.is_down = False
    await made.it.make()
    assert (good.kept, bad.kept) == ([4], [4])
    assert made.events[1:] == [("checkpoint_mended", {"where": "bad"})]


async def test_a_signer_that_is_down_is_no_end(tmp_path: Path) -> None:
    """The next one covers what was written meanwhile."""
    signer = FakeSigner()
    made = _Made(FileKeeper(signer, [tmp_path / "c.notes"], FakeClock()))
    made.standing, signer.is_down = _standing(4), True
    await made.it.make()
    signer.is_down = False
    await made.it.make()
    assert [one.stands for one in _checkpoints(tmp_path / "c.notes")] == [stands_of(_standing(4))]
    assert [name for name, _ in made.events] == ["checkpoint_failed", "checkpoint_mended"]


async def test_files_have_the_same_notes_numbered_over_restarts(tmp_path: Path) -> None:
    """Beside the audit, and in a directory elsewhere under the writer's name."""
    beside, elsewhere = tmp_path / "checkpoints.notes", tmp_path / "witness"
    elsewhere.mkdir()
    for seq in (3, 6, 9):
        await FileKeeper(SIGNER, [beside, elsewhere], FakeClock()).keep(_standing(seq))
    assert [one.number for one in _checkpoints(beside)] == [1, 2, 3]
    assert _checkpoints(elsewhere / "w1.notes") == _checkpoints(beside)
    assert _checkpoints(beside)[-1].stands == stands_of(_standing(9))


async def test_a_place_that_cannot_be_written_keeps_no_other_from_its_note(tmp_path: Path) -> None:
    """What is told names the place."""
    beside = tmp_path / "checkpoints.notes"
    with pytest.raises(NotKept, match="nowhere"):
        await FileKeeper(SIGNER, [tmp_path / "nowhere" / "c.notes", beside], FakeClock()).keep(_standing(3))
    assert [one.number for one in _checkpoints(beside)] == [1]


def test_a_place_that_cannot_be_is_told_at_the_start(tmp_path: Path) -> None:
    """A file in a directory that is there, and the directory itself, can."""
    FileKeeper(SIGNER, [tmp_path, tmp_path / "c.notes"], FakeClock()).check()
    with pytest.raises(StartError, match="make the directory"):
        FileKeeper(SIGNER, [tmp_path / "nowhere" / "c.notes"], FakeClock()).check()


async def test_a_keepers_own_fault_is_no_end(tmp_path: Path) -> None:
    """The others have theirs, and it is tried again."""

    class Broken(_List):
        name = "broken"

        async def keep(self, standing: Standing) -> None:
            raise ValueError("secret")

    good = _List()
    made = _Made(Broken(), good)
    made.standing = _standing(4)
    await made.it.make()
    assert good.kept == [4]
    assert made.events == [("checkpoint_failed", {"where": "broken", "problem": "it failed (ValueError)"})]
