"""The journal: what is refused when the disk fails, and that it heals."""

import asyncio
import contextlib
import errno
import random
import threading

import pytest
from fakes.audit import opened, until
from fakes.clock import FakeClock
from fakes.files import Disk
from fakes.lines import begin, line

from adapters.base import Fault
from gateway.audit.commit import Pace
from gateway.audit.journal import FileJournal
from gateway.audit.records import replay
from gateway.errors import Reason, Refusal


def _refused(journal: FileJournal, call_id: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        journal.begin(begin(call_id))
    return caught.value


def _alive(disk: Disk) -> set[str]:
    return set(replay(disk.after_kill().directory("journal")).ledger.begins)


async def test_a_begin_survives_a_kill_and_waits_for_no_sync() -> None:
    """The record is in the file when `begin` returns, though every sync would fail."""
    disk = Disk()
    audit = opened(disk)
    disk.sync_error = OSError(errno.EIO, "broken")
    audit.journal.begin(begin("c1"))
    assert _alive(disk) == {"call:c1"}


async def test_a_call_with_a_line_is_not_alive_any_more() -> None:
    """The next segment does not carry it."""
    disk = Disk()
    audit = opened(disk, journal_bytes=1)
    audit.journal.begin(begin("c1"))
    await audit.sink.append(line("c1"))
    for number in range(20):
        audit.journal.begin(begin(f"d{number}"))
    assert "call:c1" not in _alive(disk)
    assert len(_alive(disk)) == 20
    await audit.close()


async def test_rotation_keeps_what_is_alive_and_removes_old_segments() -> None:
    """Forty open calls in segments of a few records are all there, in one or two files."""
    disk = Disk()
    audit = opened(disk, journal_bytes=500)
    for number in range(40):
        audit.journal.begin(begin(f"c{number}"))
        await asyncio.sleep(0)
    await audit.close()
    assert len(_alive(disk)) == 40
    assert len(disk.directory("journal").names()) <= 2


async def test_a_full_disk_refuses_and_space_heals() -> None:
    """Refused with the disk's fault; after the back-off the next begin opens a new segment."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock)
    audit.journal.begin(begin("c1"))
    disk.room = 30
    refusal = _refused(audit.journal, "c2")
    assert (refusal.reason, refusal.fault) == (Reason.JOURNAL_UNAVAILABLE, Fault.REFUSED)
    assert not audit.journal.is_healthy
    clock.advance(1)
    assert _refused(audit.journal, "c3").fault is Fault.REFUSED
    disk.room = None
    assert _refused(audit.journal, "c4").fault is Fault.REFUSED, "not before the back-off is over"
    clock.advance(1)
    audit.journal.begin(begin("c5"))
    assert audit.journal.is_healthy
    await audit.close()
    assert _alive(disk) == {"call:c1", "call:c5"}


async def test_a_full_disk_costs_no_descriptors_and_no_names() -> None:
    """However often a segment is begun in vain: the abandoned one stays, and nothing else."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock)
    audit.journal.begin(begin("c1"))
    for _ in range(50):
        disk.room = 30
        _refused(audit.journal, "c2")
        clock.advance(1)
    assert len(disk.directory("journal").names()) == 1
    assert disk.open_files <= 2
    disk.room = None
    audit.journal.begin(begin("c3"))
    await audit.close()
    assert _alive(disk) == {"call:c1", "call:c3"}


async def test_a_disk_with_room_for_a_segment_and_no_more_costs_no_descriptors() -> None:
    """Each segment takes what is alive and not the call that it was begun for."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock)
    audit.journal.begin(begin("c1"))
    size = len(disk.directory("journal").content("journal-00000001.log"))
    for room in [30, *[size + 30] * 20]:
        disk.room = room
        _refused(audit.journal, "c2")
        clock.advance(1)
        await asyncio.wait_for(until(lambda: disk.open_files <= 4), 5)
    disk.room = None
    audit.journal.begin(begin("c3"))
    await until(lambda: len(disk.directory("journal").names()) == 1)
    await audit.close()


async def test_while_lines_cannot_be_written_no_call_begins() -> None:
    """A call that could not end must not begin; when the sink is well again, calls go on."""
    disk = Disk()
    audit = opened(disk)
    disk.room = 0
    with pytest.raises(Refusal):
        await audit.sink.append(line("c1"))
    assert _refused(audit.journal, "c2").reason is Reason.AUDIT_UNAVAILABLE
    disk.room = None
    await until(lambda: audit.sink.is_healthy)
    audit.journal.begin(begin("c3"))
    await audit.close()


async def test_a_closed_journal_begins_nothing() -> None:
    """Closing twice is harmless."""
    audit = opened(Disk())
    await audit.close()
    await audit.close()
    assert _refused(audit.journal, "c1").reason is Reason.JOURNAL_UNAVAILABLE


async def _rotated(journal: FileJournal, clock: FakeClock, number: int) -> None:
    """Begin calls until a new segment is begun, and let its sync be tried."""
    clock.advance(1)
    with contextlib.suppress(Refusal):
        journal.begin(begin(f"r{number}"))
    await until(lambda: journal.is_idle)


async def test_a_segment_whose_sync_failed_is_abandoned() -> None:
    """The next one has all that is alive, and only when it is durable do older ones go."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock, journal_bytes=1)
    audit.journal.begin(begin("c1"))
    disk.sync_error = OSError(errno.EIO, "broken")
    for number in range(3):
        await _rotated(audit.journal, clock, number)
    assert not audit.journal.is_healthy
    before = set(disk.directory("journal").names())
    assert before
    disk.sync_error = None
    for number in range(3, 6):
        await _rotated(audit.journal, clock, number)
    assert audit.journal.is_healthy
    assert not before & set(disk.directory("journal").names())
    await audit.close()
    assert "call:c1" in _alive(disk)


async def test_a_disk_that_cannot_sync_costs_no_descriptors() -> None:
    """Every try leaves a segment to be removed later, and closes it; when the disk is well they go."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock, journal_bytes=1)
    disk.sync_error = OSError(errno.EIO, "broken")
    for number in range(50):
        await _rotated(audit.journal, clock, number)
    assert disk.open_files <= 3
    disk.sync_error = None
    for number in range(50, 53):
        await _rotated(audit.journal, clock, number)
    assert len(disk.directory("journal").names()) <= 2
    await audit.close()


async def test_a_forgotten_call_is_not_alive_any_more() -> None:
    """Nor after a restart: another gateway has written its line. A broken disk does not keep it from being told."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock)
    audit.journal.begin(begin("c1"))
    audit.journal.begin(begin("c2"), is_adopted=True)
    audit.journal.forget("call", "c1")
    assert _alive(disk) == {"call:c2"}
    disk.room = 0
    audit.journal.forget("call", "c2")
    disk.room = None
    clock.advance(1)
    audit.journal.begin(begin("c3"))
    await audit.close()
    assert _alive(disk) == {"call:c3"}


async def test_a_segment_that_cannot_be_removed_is_removed_later() -> None:
    """A failed removal harms nobody and is tried again."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock, journal_bytes=1)
    files = disk.directory("journal")
    remove = files.remove
    files.remove = lambda name: (_ for _ in ()).throw(OSError(errno.EIO, name))
    for number in range(6):
        await _rotated(audit.journal, clock, number)
    assert len(files.names()) > 2
    files.remove = remove
    for number in range(6, 9):
        await _rotated(audit.journal, clock, number)
    assert len(files.names()) <= 2
    await audit.close()


async def test_a_sync_makes_every_begin_survive_a_power_cut() -> None:
    """When it returns."""
    disk = Disk()
    audit = opened(disk)
    audit.journal.begin(begin("c1"))
    await audit.journal.sync()
    assert set(replay(disk.after_power_cut(random.Random(1)).directory("journal")).ledger.begins) == {"call:c1"}
    await audit.close()


async def test_a_sync_that_fails_is_refused_and_its_segment_abandoned() -> None:
    """With the disk's fault; the next segment has what is alive."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock)
    audit.journal.begin(begin("c1"))
    disk.sync_error = OSError(errno.EIO, "broken")
    with pytest.raises(Refusal) as caught:
        await audit.journal.sync()
    assert (caught.value.reason, caught.value.fault) == (Reason.JOURNAL_UNAVAILABLE, Fault.ERROR)
    assert not audit.journal.is_healthy
    disk.sync_error = None
    clock.advance(1)
    await audit.journal.sync()
    assert set(replay(disk.after_power_cut(random.Random(1)).directory("journal")).ledger.begins) == {"call:c1"}
    await audit.close()


async def test_a_hung_sync_is_refused_after_the_timeout_and_heals() -> None:
    """At once while the disk hangs, and reads may begin all the while, in a new segment."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock, pace=Pace(timeout_seconds=0.05, retry_seconds=0.001))
    disk.held = threading.Event()
    for seconds in (1.0, 0.04):
        with pytest.raises(Refusal) as caught:
            await asyncio.wait_for(audit.journal.sync(), seconds)
        assert caught.value.fault is Fault.TIMEOUT
        clock.advance(1)
    audit.journal.begin(begin("c1"))
    disk.held.set()
    await until(lambda: audit.journal.is_healthy)
    await audit.journal.sync()
    await audit.close()
    assert _alive(disk) == {"call:c1"}
