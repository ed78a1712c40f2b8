"""Opening a state directory on a real disk."""

import asyncio
import dataclasses
import threading
from pathlib import Path

import pytest
from fakes.audit import opened, until, written
from fakes.clock import FakeClock
from fakes.files import Disk
from fakes.lines import begin, line

from gateway.audit.commit import Pace
from gateway.audit.open import Audit, audit_directory, open_audit
from gateway.audit.reading import tail
from gateway.audit.verify import verify
from gateway.errors import StartError
from gateway.settings.parts import AuditSettings


def _open(state_dir: Path, writer: str = "w1") -> Audit:
    return open_audit(state_dir, AuditSettings(), FakeClock(), lambda: 1, new_writer=lambda: writer)


async def test_a_call_is_begun_and_ended_on_a_real_disk(tmp_path: Path) -> None:
    """The state directory is made; after closing it can be opened again, and the writer is the same."""
    state_dir = tmp_path / "a" / "state"
    for number in range(3):
        audit = _open(state_dir)
        audit.journal.begin(begin(f"c{number}"))
        await audit.journal.sync()
        await audit.sink.append(line(f"c{number}"))
        assert audit.cut_off == ()
        await audit.close()
    values = [item.value for item in tail(audit_directory(state_dir))]
    assert [value["call_id"] for value in values if value] == ["c0", "c1", "c2"]
    assert len({value["writer"] for value in values if value}) == 1
    assert verify(audit_directory(state_dir)).ok
    assert state_dir.stat().st_mode & 0o777 == 0o700


async def test_what_was_cut_off_is_known_when_it_is_opened_again(tmp_path: Path) -> None:
    """A call that has begun and has no line, until it has one or another gateway tells of it."""
    state_dir = tmp_path / "state"
    audit = _open(state_dir)
    for call_id in ("c1", "c2", "c3"):
        audit.journal.begin(begin(call_id))
    await audit.sink.append(line("c1"))
    audit.journal.forget("call", "c2")
    await audit.close()
    for _start in range(2):  # nobody has told of it yet: the next start knows of it too
        again = _open(state_dir)
        assert [cut.begin["call_id"] for cut in again.cut_off] == ["c3"]
        await again.close()
    last = _open(state_dir)
    await last.sink.append(line("c3"))
    await last.close()
    assert _open(state_dir).cut_off == ()


async def test_two_gateways_do_not_share_a_state_directory(tmp_path: Path) -> None:
    """The second is refused and leaves the first alone; a failed opening lets go of the lock."""
    audit = _open(tmp_path / "state")
    for _attempt in range(2):
        with pytest.raises(StartError, match="another gateway uses"):
            _open(tmp_path / "state")
    await audit.close()
    await _open(tmp_path / "state").close()


async def test_while_a_disk_hangs_closing_touches_nothing_that_is_being_written() -> None:
    """Files stay open and the directory stays ours, though nobody waits for the line any more."""
    disk, freed = Disk(), []
    audit = opened(disk, pace=Pace(delay_seconds=0.001, timeout_seconds=0.05))
    audit = dataclasses.replace(audit, release=lambda: freed.append(True))
    await audit.sink.append(line("c1"))
    disk.held = threading.Event()
    left = asyncio.ensure_future(audit.sink.append(line("c2")))
    await asyncio.to_thread(disk.is_syncing.wait)
    left.cancel()
    await audit.close()
    assert (disk.open_files, freed) == (1, [])
    disk.held.set()
    await until(lambda: audit.sink.is_idle)
    await audit.close()
    assert (disk.open_files, freed) == (0, [True])
    assert [item["call_id"] for item in written(disk)] == ["c1", "c2"]


async def test_a_directory_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    """A file in its place, or a directory that others may enter."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match="cannot be used"):
        _open(tmp_path / "file")
    await _open(tmp_path / "state").close()
    (tmp_path / "state" / "audit").chmod(0o750)
    with pytest.raises(StartError, match="chmod 700"):
        _open(tmp_path / "state")
    (tmp_path / "state" / "audit").chmod(0o700)
    await _open(tmp_path / "state").close()


async def test_the_writer_is_made_up_once(tmp_path: Path) -> None:
    """A name that a crash left half-written is made up anew."""
    await _open(tmp_path / "state", writer="abc").close()
    assert (tmp_path / "state" / "writer").read_text() == "abc\n"
    await _open(tmp_path / "state", writer="never").close()
    assert (tmp_path / "state" / "writer").read_text() == "abc\n"
    (tmp_path / "state" / "writer").write_text("")
    await _open(tmp_path / "state", writer="xyz").close()
    assert (tmp_path / "state" / "writer").read_text() == "xyz\n"
