"""The sink: durable lines in a chain, on a disk that fails."""

import asyncio
import errno
import threading
from enum import StrEnum

import orjson
import pytest
from fakes.audit import opened, until, written
from fakes.files import Disk
from fakes.lines import line

from adapters.base import Fault
from gateway.audit.chain import unseal
from gateway.audit.commit import Pace
from gateway.audit.lines import LineSink, encode_line
from gateway.audit.verify import verify_files
from gateway.errors import Reason, Refusal


def _fields(raw: bytes) -> dict[str, object]:
    return orjson.loads(raw + b"}")


async def _refused(sink: LineSink, call_id: str) -> Fault | None:
    with pytest.raises(Refusal) as caught:
        await sink.append(line(call_id))
    assert caught.value.reason is Reason.AUDIT_UNAVAILABLE
    return caught.value.fault


async def _until_healthy(sink: LineSink) -> None:
    await until(lambda: sink.is_healthy)


def _ids(disk: Disk) -> list[tuple[str, bool]]:
    return [(value["call_id"], value.get("delivered", True)) for value in written(disk)]


def test_a_line_has_time_first_and_no_empty_fields() -> None:
    """But for those that say who did what and how it ended."""
    fields = _fields(encode_line(line("c1", tool="", steps_us={"policy": 3}, policy_reasons=("a", "b"))))
    assert next(iter(fields)) == "time"
    assert fields["tool"] == ""
    assert fields["steps_us"] == {"policy": 3}
    assert fields["policy_reasons"] == ["a", "b"]
    assert {"fault", "attempts", "replay", "cost", "delivered", "run_id"}.isdisjoint(fields)


class _Odd(StrEnum):
    A = "a"


@pytest.mark.parametrize("odd", ["\ud800", 2**70, {1, 2}, _Odd.A, [2**70, None, True, 1.5]])
def test_a_line_is_written_whatever_is_in_it(odd: object) -> None:
    """A line that cannot be serialised would be a call without a line."""
    fields = _fields(encode_line(line("c1", cost={"x": odd})))
    assert fields["call_id"] == "c1"
    assert "x" in fields["cost"]


async def test_a_line_is_durable_when_append_returns() -> None:
    """It survives a power cut, and so does the name of its file."""
    disk = Disk()
    audit = opened(disk)
    await audit.sink.append(line("c1"))
    (inode,) = disk.directory("audit").durable.values()
    assert inode.synced == len(inode.content)
    assert audit.sink.head == (2, unseal(inode.content.splitlines(keepends=True)[-1])[1].hash)
    await audit.close()


async def test_the_chain_goes_on_over_files_and_restarts() -> None:
    """Many small files, written by three processes, verify as one chain."""
    disk = Disk()
    for process in range(3):
        audit = opened(disk, segment_bytes=1500)
        for number in range(10):
            await audit.sink.append(line(f"p{process}-{number}"))
        await audit.close()
        disk = disk.after_kill()
    verdict = verify_files(disk.directory("audit"))
    assert (verdict.ok, verdict.lines, verdict.first_seq) == (True, 30, 1)
    assert verdict.files > 3
    assert len(_ids(disk)) == 30


async def test_a_failed_sync_abandons_the_file_and_nobody_is_refused() -> None:
    """The lines are written to a new file at once, whose first record says where the old one ends."""
    disk = Disk()
    audit = opened(disk)
    await audit.sink.append(line("c1"))
    disk.sync_error = OSError(errno.EIO, "broken")
    original = disk.sync

    def once() -> None:
        try:
            original()
        finally:
            disk.sync_error = None

    disk.sync = once
    await audit.sink.append(line("c2"))
    await audit.close()
    assert len(disk.directory("audit").names()) == 2
    assert _ids(disk) == [("c1", True), ("c2", True)]
    verdict = verify_files(disk.directory("audit"))
    assert verdict.ok
    assert verdict.ignored_bytes > 0


async def test_a_full_disk_refuses_and_owes() -> None:
    """Owed lines are written first when there is space, and say that their answers were withheld."""
    disk = Disk()
    audit = opened(disk)
    await audit.sink.append(line("c1"))
    disk.room = 100
    assert await _refused(audit.sink, "c2") is Fault.REFUSED
    assert not audit.sink.is_healthy
    assert await _refused(audit.sink, "c3") is Fault.REFUSED
    disk.room = None
    await _until_healthy(audit.sink)
    await audit.sink.append(line("c4"))
    await audit.close()
    assert _ids(disk) == [("c1", True), ("c2", False), ("c3", False), ("c4", True)]
    assert verify_files(disk.directory("audit")).ok


async def test_a_hung_sync_refuses_and_its_line_says_so() -> None:
    """A line whose sync came back after its answer was withheld is not left as if it had been delivered."""
    disk = Disk()
    audit = opened(disk, pace=Pace(timeout_seconds=0.05, retry_seconds=0.001))
    await audit.sink.append(line("c1"))
    disk.held = threading.Event()
    assert await _refused(audit.sink, "c2") is Fault.TIMEOUT
    disk.held.set()
    await _until_healthy(audit.sink)
    await audit.sink.append(line("c3"))
    await audit.close()
    assert _ids(disk) == [("c1", True), ("c2", False), ("c3", True)]
    assert verify_files(disk.directory("audit")).ok


async def test_a_cancelled_caller_does_not_lose_its_line() -> None:
    """The line is written all the same, once."""
    disk = Disk()
    audit = opened(disk, active=lambda: 2)
    task = asyncio.ensure_future(audit.sink.append(line("c1")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await audit.sink.append(line("c2"))
    await audit.close()
    assert _ids(disk) == [("c1", True), ("c2", True)]


async def test_the_journal_hears_of_each_durable_line() -> None:
    """A call with a line was not cut off."""
    disk = Disk()
    audit = opened(disk)
    await audit.sink.append(line("c1"))
    await audit.close()
    assert opened(disk.after_kill()).cut_off == ()


async def test_many_at_once_are_in_one_chain() -> None:
    """Fifty callers, whole batches, no number twice."""
    disk = Disk()
    audit = opened(disk, active=lambda: 50)
    await asyncio.gather(*(audit.sink.append(line(f"c{number}")) for number in range(50)))
    await audit.close()
    assert verify_files(disk.directory("audit")).lines == 50
    assert [value["seq"] for value in written(disk)] == list(range(2, 52))


async def test_each_tenants_lines_are_a_chain_over_files_and_restarts() -> None:
    """Without a gap, also after a batch that had to be written again."""
    disk = Disk()
    for process in range(3):
        audit = opened(disk, segment_bytes=1500)
        for number in range(6):
            await audit.sink.append(line(f"p{process}-{number}", tenant="ab"[number % 2]))
        disk.room = 50
        await _refused(audit.sink, f"p{process}-6")
        disk.room = None
        await _until_healthy(audit.sink)
        standing = audit.sink.standing()
        await audit.close()
        disk = disk.after_kill()
    for tenant in "ab":
        own = [value for value in written(disk) if value["tenant"] == tenant]
        assert [value["tenant_seq"] for value in own] == list(range(1, len(own) + 1))
        assert standing.tenants[tenant] == (own[-1]["tenant_seq"], own[-1]["hash"])
    assert (standing.writer, standing.seq) == ("w1", verify_files(disk.directory("audit")).head_seq)


async def test_an_odd_tenant_is_one_tenant() -> None:
    """What is no UTF-8 is tamed in the line and in the chain alike."""
    disk = Disk()
    for _process in range(2):
        audit = opened(disk)
        await audit.sink.append(line("c1", tenant="\ud800é"))
        await audit.close()
        disk = disk.after_kill()
    assert [value["tenant_seq"] for value in written(disk)] == [1, 2]
    assert verify_files(disk.directory("audit")).tenants == 1


async def test_durable_lines_are_handed_on_as_they_were_written() -> None:
    """In order; what was refused with what it says of that."""
    disk, told = Disk(), []
    audit = opened(disk)
    audit.sink.hand_on(told.extend)
    await audit.sink.append(line("c1"))
    disk.room = 50
    await _refused(audit.sink, "c2")
    disk.room = None
    await _until_healthy(audit.sink)
    await audit.close()
    values = [unseal(one.raw)[0] for one in told]
    assert values == written(disk)
    assert [one.seq for one in told] == [value["seq"] for value in values]
    assert values[1]["delivered"] is False
