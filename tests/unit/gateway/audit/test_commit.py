"""Group commit: who shares a batch, and what happens when the disk does not answer."""

import asyncio
import errno
import threading

import pytest
from fakes.audit import until

from adapters.base import Fault
from gateway.audit.commit import GroupCommit, NotCommitted, Pace, fault_of


class Recorder:
    """A write that keeps its batches, and fails or waits when told."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.error: Exception | None = None
        self.held: threading.Event | None = None

    def write(self, batch: list[int]) -> None:
        """Keep the batch."""
        if self.held is not None:
            self.held.wait()
        if self.error is not None:
            raise self.error
        self.batches.append(batch)

    @property
    def items(self) -> list[int]:
        """Everything written, in order."""
        return [item for batch in self.batches for item in batch]


def _commit(write: Recorder, active: int = 1, **changes: object) -> GroupCommit[int]:
    pace = changes.pop("pace", Pace(delay_seconds=0.005, timeout_seconds=2.0, retry_seconds=0.001))
    return GroupCommit("test", write.write, active=lambda: active, pace=pace, **changes)


async def _refusal(commit: GroupCommit[int], item: int) -> Fault:
    with pytest.raises(NotCommitted) as caught:
        await commit.put(item)
    return caught.value.fault


async def test_one_caller_waits_for_nobody() -> None:
    """With one call at work its item is handed over at once, however long the delay is."""
    write = Recorder()
    commit = _commit(write, active=1, pace=Pace(delay_seconds=50.0, timeout_seconds=60.0))
    await asyncio.wait_for(commit.put(1), 5)
    assert write.batches == [[1]]
    await commit.close()


async def test_all_who_are_at_work_share_one_batch() -> None:
    """The batch goes when the last of those at work has joined it, in the order in which they came."""
    write = Recorder()
    commit = _commit(write, active=8, pace=Pace(delay_seconds=50.0, timeout_seconds=60.0))
    await asyncio.wait_for(asyncio.gather(*(commit.put(item) for item in range(8))), 5)
    assert write.batches == [list(range(8))]
    await commit.close()


async def test_a_batch_waits_no_longer_than_the_delay() -> None:
    """When others are at work and do not come, the batch goes without them."""
    write = Recorder()
    commit = _commit(write, active=8)
    await commit.put(1)
    assert write.batches == [[1]]
    await commit.close()


async def test_only_one_batch_is_in_the_threads_hands() -> None:
    """Items that come while a batch is written are the next batch, together."""
    write = Recorder()
    write.held = threading.Event()
    commit = _commit(write)
    puts = [asyncio.ensure_future(commit.put(1))]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    puts += [asyncio.ensure_future(commit.put(item)) for item in (2, 3)]
    await asyncio.sleep(0)
    write.held.set()
    await asyncio.gather(*puts)
    assert write.batches == [[1], [2, 3]]
    await commit.close()


async def test_done_is_told_before_the_callers_wake_up() -> None:
    """`done` runs in the loop, first."""
    order: list[str] = []
    commit = _commit(Recorder(), done=lambda items: order.append(f"done {items}"))
    await commit.put(1)
    order.append("woke")
    assert order == ["done [1]", "woke"]
    await commit.close()


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (OSError(errno.ENOSPC, "full"), Fault.REFUSED),
        (OSError(errno.EROFS, "read only"), Fault.REFUSED),
        (OSError(errno.EIO, "broken"), Fault.ERROR),
        (TimeoutError(), Fault.TIMEOUT),
        (ValueError("a bug"), Fault.ERROR),
    ],
)
async def test_a_failed_write_refuses_its_batch(error: Exception, fault: Fault) -> None:
    """The caller learns how the disk failed; the next batch is tried afresh."""
    write = Recorder()
    commit = _commit(write)
    write.error = error
    assert await _refusal(commit, 1) is fault
    write.error = None
    await commit.put(2)
    assert write.items == [2]
    await commit.close()


def test_a_fault_is_told_from_an_error_number() -> None:
    """A quota counts as a full disk."""
    assert fault_of(OSError(errno.EDQUOT, "quota")) is Fault.REFUSED


async def test_a_kept_batch_is_written_when_the_disk_is_back() -> None:
    """Refused items are handed over again by themselves, in order and before newer ones; until then every
    put is refused, and its item is kept too.
    """
    write = Recorder()
    commit = _commit(write, keeps_failed=True)
    write.error = OSError(errno.EIO, "broken")
    assert await _refusal(commit, 1) is Fault.ERROR
    assert not commit.is_healthy
    assert await _refusal(commit, 2) is Fault.ERROR
    write.error = None
    await until(lambda: commit.is_healthy)
    await commit.put(3)
    assert write.items == [1, 2, 3]
    await commit.close()


async def test_a_write_that_hangs_is_given_up_until_it_comes_back() -> None:
    """Waiting callers are refused after the timeout, newcomers at once; when the batch comes back all is well."""
    write = Recorder()
    write.held = threading.Event()
    commit = _commit(write, pace=Pace(timeout_seconds=0.05))
    assert await _refusal(commit, 1) is Fault.TIMEOUT
    assert not commit.is_healthy
    assert await asyncio.wait_for(_refusal(commit, 2), 0.04) is Fault.TIMEOUT
    write.held.set()
    await until(lambda: commit.is_healthy)
    await commit.put(3)
    assert write.items == [1, 2, 3]
    await commit.close()


async def test_a_cancelled_caller_does_not_lose_its_item() -> None:
    """Whoever stops waiting leaves the item behind, to be written."""
    write = Recorder()
    commit = _commit(write, active=2)
    task = asyncio.ensure_future(commit.put(1))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await commit.put(2)
    assert write.items == [1, 2]
    await commit.close()


async def test_closing_writes_what_is_pending_and_takes_no_more() -> None:
    """A batch that waits for others goes at once; a later put is refused."""
    write = Recorder()
    commit = _commit(write, active=8, pace=Pace(delay_seconds=50.0, timeout_seconds=60.0))
    task = asyncio.ensure_future(commit.put(1))
    await asyncio.sleep(0)
    await commit.close()
    await task
    assert write.items == [1]
    assert await _refusal(commit, 2) is Fault.REFUSED
    await commit.close()


async def test_closing_does_not_wait_for_a_disk_that_hangs() -> None:
    """Close returns after the timeout, with the thread still stuck."""
    write = Recorder()
    write.held = threading.Event()
    commit = _commit(write, pace=Pace(timeout_seconds=0.02))
    assert await _refusal(commit, 1) is Fault.TIMEOUT
    await asyncio.wait_for(commit.close(), 5)
    write.held.set()


async def test_a_pushed_item_is_written_though_nobody_waits() -> None:
    """`push` returns at once."""
    write = Recorder()
    commit = _commit(write)
    commit.push(7)
    await commit.close()
    assert write.items == [7]
