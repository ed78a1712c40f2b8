"""Handing lines on: at the outlet's pace, from memory or from the files, over restarts, and never in a call's way."""

import asyncio
import dataclasses
from collections.abc import Mapping
from pathlib import Path

from fakes.audit import opened, until
from fakes.files import Disk
from fakes.lines import line
from fakes.outlet import QUICK, ListOutlet, follower_of

from gateway.audit.chain import unseal
from gateway.audit.lines import LineSink
from gateway.audit.outlets.following import Followers
from gateway.audit.outlets.position import PositionFile


def _ids(outlet: ListOutlet) -> list[str]:
    return [unseal(one.raw)[0]["call_id"] for one in outlet.lines]


async def _append(sink: LineSink, *numbers: int) -> None:
    for number in numbers:
        await sink.append(line(f"c{number}"))


def _names(*numbers: int) -> list[str]:
    return [f"c{number}" for number in numbers]


async def test_a_hung_outlet_is_timed_out_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    """It is marked, told of once, and told of again when it is back."""
    disk, outlet, events = Disk(), ListOutlet(), []
    audit = opened(disk)
    outlet.gate = asyncio.Event()
    pacing = dataclasses.replace(QUICK, timeout_seconds=0.02)

    def on_event(name: str, fields: Mapping[str, str]) -> None:
        events.append((name, fields["sink"]))

    follower = follower_of(audit.sink, disk, outlet, tmp_path / "p", pacing=pacing, on_event=on_event)
    follower.start()
    await asyncio.wait_for(_append(audit.sink, 0, 1, 2), 1.0)
    await until(lambda: follower.status().problem == "it did not answer in time")
    assert audit.sink.is_healthy
    outlet.gate.set()
    await until(lambda: len(outlet.lines) == 3 and follower.status().is_up)
    assert _ids(outlet) == _names(0, 1, 2)
    assert events == [("sink_down", "list"), ("sink_up", "list")]
    await follower.stop()
    await audit.close()


async def test_memory_is_bounded_and_the_files_hold_the_rest(tmp_path: Path) -> None:
    """What does not fit into the queue is counted as missed, and read from the files in order."""
    disk, outlet = Disk(), ListOutlet()
    audit = opened(disk, segment_bytes=3000)
    follower = follower_of(
        audit.sink, disk, outlet, tmp_path / "p", pacing=dataclasses.replace(QUICK, queue=4, batch=3)
    )
    follower.start()
    await _append(audit.sink, 0)
    await until(lambda: len(outlet.lines) == 1)
    outlet.is_down = True
    await _append(audit.sink, *range(1, 20))
    assert len(follower._queue) <= 4
    outlet.is_down = False
    await _append(audit.sink, 20)
    await until(lambda: len(outlet.lines) == 21)
    assert _ids(outlet) == _names(*range(21))
    assert follower.status().missed > 0
    await follower.stop()
    await audit.close()


async def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    """What became durable before a crash and was not handed on is; what was, is not again after a clean stop."""
    disk, outlet = Disk(), ListOutlet()
    audit = opened(disk)
    follower = follower_of(audit.sink, disk, outlet, tmp_path / "p")
    follower.start()
    await _append(audit.sink, 0, 1)
    await follower.stop()
    assert outlet.is_closed
    await _append(audit.sink, 2, 3)
    await audit.close()
    again = opened(disk.after_kill())
    follower = follower_of(again.sink, disk, outlet, tmp_path / "p")
    follower.start()
    await until(lambda: len(outlet.lines) == 4)
    assert _ids(outlet) == _names(0, 1, 2, 3)
    await follower.stop()
    await again.close()


async def test_one_that_takes_all_begins_with_the_first_line(tmp_path: Path) -> None:
    """A table that was added later holds everything; a collector is not flooded with the past."""
    disk = Disk()
    audit = opened(disk)
    await _append(audit.sink, 0, 1)
    for number, takes_all, ids in ((2, True, _names(0, 1, 2)), (3, False, _names(3))):
        outlet = ListOutlet(takes_all=takes_all)
        follower = follower_of(audit.sink, disk, outlet, tmp_path / f"{takes_all}")
        follower.start()
        await _append(audit.sink, number)
        await until(lambda outlet=outlet, ids=ids: _ids(outlet) == ids)
        await follower.stop()
    await audit.close()


async def test_a_position_beyond_the_audit_is_not_believed(tmp_path: Path) -> None:
    """The audit was moved away, or the file is another's: new lines are handed on all the same."""
    disk, outlet = Disk(), ListOutlet()
    PositionFile(tmp_path / "p").keep(10**6)
    audit = opened(disk)
    follower = follower_of(audit.sink, disk, outlet, tmp_path / "p")
    follower.start()
    await _append(audit.sink, 0)
    await until(lambda: len(outlet.lines) == 1)
    await follower.stop()
    await audit.close()


async def test_only_what_is_durable_is_read_from_the_files(tmp_path: Path) -> None:
    """A line that is in the page cache alone may yet be written anew."""
    disk, outlet = Disk(), ListOutlet(takes_all=True)
    audit = opened(disk)
    await _append(audit.sink, 0, 1)
    head = audit.sink.head[0] - 1
    follower = follower_of(audit.sink, disk, outlet, tmp_path / "p")
    follower._head = lambda: head
    follower.start()
    await until(lambda: len(outlet.lines) == 1 and follower._has_all)
    assert _ids(outlet) == _names(0)
    await follower.stop()
    await audit.close()


async def test_an_outlets_own_fault_is_no_end(tmp_path: Path) -> None:
    """Its name is told, and nothing of its words, which may hold a line."""

    class Broken(ListOutlet):
        faults = iter([ValueError("secret")])

        async def deliver(self, lines):
            for fault in self.faults:
                raise fault
            await super().deliver(lines)

    disk, outlet, events = Disk(), Broken(), []
    audit = opened(disk)
    follower = follower_of(audit.sink, disk, outlet, tmp_path / "p", on_event=lambda _name, told: events.append(told))
    follower.start()
    await _append(audit.sink, 0)
    await until(lambda: len(outlet.lines) == 1)
    assert events[0] == {"sink": "list", "problem": "it failed (ValueError)"}
    await follower.stop()
    await audit.close()


async def test_all_of_them_are_told_and_ended(tmp_path: Path) -> None:
    """One that is out does not keep the others from theirs, nor the end from coming."""
    disk, good, bad = Disk(), ListOutlet(), ListOutlet()
    bad.is_down = True
    audit = opened(disk)
    followers = Followers([follower_of(audit.sink, disk, one, tmp_path / str(i)) for i, one in enumerate((bad, good))])
    audit.sink.hand_on(followers.tell)
    followers.start()
    await _append(audit.sink, 0, 1)
    await until(lambda: len(good.lines) == 2 and not followers.status()[0].is_up)
    assert [status.is_up for status in followers.status()] == [False, True]
    await asyncio.wait_for(followers.stop(), 3.0)
    await followers.stop()
    assert bad.is_closed
    await audit.close()


async def test_files_that_cannot_be_read_are_tried_again(tmp_path: Path) -> None:
    """The outlet counts as out meanwhile."""
    disk, outlet = Disk(), ListOutlet(takes_all=True)
    audit = opened(disk)
    await _append(audit.sink, 0)
    files = disk.directory("audit")
    read, files.read = files.read, lambda _name: (_ for _ in ()).throw(OSError(5, "broken"))
    follower = follower_of(audit.sink, disk, outlet, tmp_path / "p")
    follower.start()
    await until(lambda: follower.status().problem == "the audit files cannot be read (OSError)")
    files.read = read
    await until(lambda: len(outlet.lines) == 1 and follower.status().is_up)
    await follower.stop()
    await audit.close()
