"""The journal: what is refused when the disk fails, and that it heals."""

import asyncio
import errno
import random
import threading

import pytest
from fakes.audit import keys_of, opened, until
from fakes.clock import FakeClock
from fakes.files import Disk
from fakes.lines import begin, line

from adapters.base import Fault
from gateway.audit.commit import Pace
from gateway.audit.journal import FileJournal
from gateway.audit.records import replay
from gateway.errors import Reason, Refusal

INTENT = {"type": "intent", "call_id": "c1", "effect_id": "c1"}


def _refused(journal: FileJournal, call_id: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        journal.begin(begin(call_id))
    return caught.value


async def _intent_refused(journal: FileJournal) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await journal.intent(dict(INTENT))
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


async def test_an_intent_survives_a_power_cut() -> None:
    """Once `intent` returns, and the begin before it with it."""
    disk = Disk()
    audit = opened(disk)
    audit.journal.begin(begin("c1"))
    await audit.journal.intent(dict(INTENT))
    found = replay(disk.directory("journal")).ledger
    assert set(found.intents) == {"c1"}
    name = disk.directory("journal").names()[-1]
    inode = disk.directory("journal").durable[name]
    assert inode.synced == len(inode.content)
    await audit.close()


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


async def test_an_intent_is_carried_while_its_call_runs() -> None:
    """Through rotations that begin before it is durable, and after."""
    disk = Disk()
    audit = opened(disk, journal_bytes=1)
    disk.held = threading.Event()
    task = asyncio.ensure_future(audit.journal.intent({**INTENT, "key": "k"}))
    await asyncio.to_thread(disk.is_syncing.wait)
    for number in range(10):
        audit.journal.begin(begin(f"c{number}"))
    disk.held.set()
    await task
    for number in range(10, 20):
        audit.journal.begin(begin(f"c{number}"))
    await audit.close()
    ledger = replay(disk.after_power_cut(random.Random(1)).directory("journal")).ledger
    assert set(ledger.intents) == {"c1"}
    assert set(ledger.keys) == {"k"}


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


async def test_after_a_failed_sync_the_segment_is_abandoned() -> None:
    """The intent is refused, and the next segment has the open calls but not that intent."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock)
    audit.journal.begin(begin("c1"))
    disk.sync_error = OSError(errno.EIO, "broken")
    assert (await _intent_refused(audit.journal)).fault is Fault.ERROR
    first = disk.directory("journal").names()
    disk.sync_error = None
    clock.advance(1)
    audit.journal.begin(begin("c2"))
    await audit.close()
    assert disk.directory("journal").names() != first
    assert _alive(disk) == {"call:c1", "call:c2"}
    assert replay(disk.directory("journal")).ledger.intents == {}


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
    await audit.journal.intent(dict(INTENT))
    assert len(disk.directory("journal").names()) == 1
    await audit.close()


async def test_a_disk_that_cannot_sync_costs_no_descriptors() -> None:
    """Every try leaves a segment to be removed later, and closes it; when the disk is well they go."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock)
    disk.sync_error = OSError(errno.EIO, "broken")
    for _ in range(50):
        await _intent_refused(audit.journal)
        clock.advance(1)
    assert disk.open_files <= 3
    disk.sync_error = None
    await audit.journal.intent({**INTENT, "call_id": "c2"})
    assert len(disk.directory("journal").names()) == 1
    await audit.close()


async def test_a_hung_sync_refuses_after_the_timeout_and_heals() -> None:
    """Reads may still begin, in a new segment; intents are refused at once until the disk is back."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock, pace=Pace(timeout_seconds=0.05, retry_seconds=0.001))
    disk.held = threading.Event()
    assert (await _intent_refused(audit.journal)).fault is Fault.TIMEOUT
    clock.advance(1)
    audit.journal.begin(begin("c1"))
    assert (await asyncio.wait_for(_intent_refused(audit.journal), 0.04)).fault is Fault.TIMEOUT
    disk.held.set()
    await until(lambda: audit.journal.is_healthy)
    await audit.journal.intent({**INTENT, "call_id": "c2"})
    await audit.close()
    ledger = replay(disk.directory("journal")).ledger
    assert set(ledger.begins) == {"call:c1"}
    assert set(ledger.intents) == {"c2"}


async def test_a_cancelled_intent_is_not_written_later() -> None:
    """What was still waiting when its caller left never reaches the disk."""
    disk = Disk()
    audit = opened(disk, active=lambda: 2, pace=Pace(delay_seconds=50.0, timeout_seconds=60.0))
    task = asyncio.ensure_future(audit.journal.intent(dict(INTENT)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await audit.close()
    assert replay(disk.directory("journal")).ledger.intents == {}


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


async def test_a_note_never_raises_and_reaches_the_next_segment() -> None:
    """A note on a broken disk is in what the next segment carries."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock)
    disk.room = 0
    note = {"type": "unknown", "key": "k", "call_id": "c1", "effect_id": "c1", "arguments_digest": "d"}
    audit.journal.note(note)
    disk.room = None
    clock.advance(1)
    audit.journal.begin(begin("c2"))
    await audit.close()
    assert keys_of(opened(disk.after_kill()))._known["k"].call_id == "c1"


async def test_a_closed_journal_begins_nothing() -> None:
    """Closing twice is harmless."""
    audit = opened(Disk())
    await audit.close()
    await audit.close()
    assert _refused(audit.journal, "c1").reason is Reason.JOURNAL_UNAVAILABLE


async def test_a_segment_that_cannot_be_removed_is_removed_later() -> None:
    """A failed removal harms nobody and is tried again."""
    disk = Disk()
    audit = opened(disk, journal_bytes=300)
    files = disk.directory("journal")
    remove = files.remove
    files.remove = lambda name: (_ for _ in ()).throw(OSError(errno.EIO, name))
    for number in range(6):
        audit.journal.begin(begin(f"c{number}"))
        await audit.journal.intent({**INTENT, "call_id": f"c{number}"})
    assert len(files.names()) > 2
    files.remove = remove
    await audit.journal.intent({**INTENT, "call_id": "last"})
    assert len(files.names()) <= 2
    await audit.close()
