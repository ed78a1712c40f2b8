"""Kill and power cut at every operation, on a disk in memory, over a real store."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fakes.aftermaths import Process, claim_of, intent_of, process
from fakes.audit import until, written
from fakes.clock import FakeClock
from fakes.files import Disk, Killed
from fakes.lines import begin, line
from real.stores import sqlite_settings

from gateway.audit.verify import verify_files
from gateway.call import Standing
from gateway.errors import Refusal
from gateway.settings.store import StoreSettings

CALLS = 12
SMALL = {"segment_bytes": 1200, "journal_bytes": 700, "active": lambda: 2}
"""Files that rotate all the time."""


@dataclass
class Seen:
    """What a client knows of its calls."""

    begun: set[str] = field(default_factory=set)
    tried: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)


def _alive(disk: Disk) -> None:
    """A process that is killed asks the store nothing any more."""
    if disk.kill_at is not None and disk.operations >= disk.kill_at:
        raise Killed(5, "killed")


async def _one(gateway: Process, number: int, seen: Seen) -> None:
    """One call: every second one sends something; one of those in three is released, one unknown."""
    call_id = f"c{number}"
    seen.tried.add(call_id)
    gateway.audit.journal.begin(begin(call_id))
    seen.begun.add(call_id)
    if number % 2:
        await gateway.audit.journal.sync()
        _alive(gateway.disk)
        assert await gateway.keys.claim(claim_of(call_id), intent_of(call_id)) is None
        happened = ("yes", "no", "unknown")[number // 2 % 3]
        if happened != "no":
            seen.sent.add(call_id)
        _alive(gateway.disk)
        await gateway.end(claim_of(call_id), happened)
    else:
        await gateway.audit.sink.append(line(call_id))
    seen.answered.add(call_id)


async def _run(disk: Disk, settings: StoreSettings, seen: Seen) -> None:
    """Calls, some at the same time."""
    clock = FakeClock()
    with contextlib.suppress(OSError):
        async with process(disk, settings, clock, **SMALL) as gateway:
            await gateway.recover()
            for first in range(0, CALLS, 2):
                pair = [_one(gateway, number, seen) for number in (first, first + 1)]
                for outcome in await asyncio.gather(*pair, return_exceptions=True):
                    assert outcome is None or isinstance(outcome, Refusal | Killed), outcome
                clock.advance(1)
            await gateway.audit.close()


@contextlib.asynccontextmanager
async def _restarted(disk: Disk, settings: StoreSettings) -> AsyncIterator[Process]:
    async with process(disk, settings, FakeClock(), boot="2") as gateway:
        await gateway.recover()
        yield gateway
        await gateway.audit.close()


async def _survive(disk: Disk, settings: StoreSettings, seen: Seen, *, begun: set[str]) -> None:
    """After a restart: one line for each call, none twice, the chain whole, and no key free that was sent."""
    async with _restarted(disk, settings) as gateway:
        counts = Counter(item["call_id"] for item in written(disk))
        assert {call_id for call_id in begun if counts[call_id] != 1} == set()
        assert all(count == 1 for count in counts.values())
        assert set(counts) <= seen.tried
        assert verify_files(disk.directory("audit")).first_bad is None
        for call_id in seen.sent:
            known = await gateway.keys.look(f"key-{call_id}")
            assert known is not None
            assert known.standing in {Standing.DONE, Standing.UNKNOWN}


@pytest.fixture
def store(tmp_path: Path) -> Callable[[], "asyncio.Future[StoreSettings]"]:
    """A new database each time."""
    return lambda: asyncio.ensure_future(sqlite_settings(tmp_path))


async def _operations(settings: StoreSettings) -> int:
    disk = Disk()
    await _run(disk, settings, Seen())
    return disk.operations


async def test_a_kill_at_any_operation_leaves_one_line_per_call(store: Callable[[], asyncio.Future]) -> None:
    """Begins, lines, both rotations and their removals: wherever the process dies."""
    total = await _operations(await store())
    assert total > 40
    for kill_at in range(1, total + 3):
        disk, seen, settings = Disk(), Seen(), await store()
        disk.kill_at = kill_at
        await _run(disk, settings, seen)
        await _survive(disk.after_kill(), settings, seen, begun=seen.begun)


async def test_a_kill_during_recovery_changes_nothing(store: Callable[[], asyncio.Future]) -> None:
    """Recovery that is itself killed, at any operation, is done again and leaves one line per call."""
    for kill_at in range(5, 60, 11):
        for again in range(1, 14, 2):
            first, seen, settings = Disk(), Seen(), await store()
            first.kill_at = kill_at
            await _run(first, settings, seen)
            second = first.after_kill()
            second.kill_at = again
            with contextlib.suppress(OSError, Refusal):
                async with _restarted(second, settings):
                    pass
            await _survive(second.after_kill(), settings, seen, begun=seen.begun)


@pytest.mark.parametrize("seed", range(2))
async def test_a_power_cut_loses_no_answer_and_no_intent(store: Callable[[], asyncio.Future], seed: int) -> None:
    """After a cut at any operation every answered call has its line, and every key that was sent is taken. The
    store is one that had synced: what it answered it still knows. Each seed cuts at every other operation.
    """
    chance = random.Random(seed)
    total = await _operations(await store())
    for kill_at in range(1 + seed, total + 3, 2):
        disk, seen, settings = Disk(), Seen(), await store()
        disk.kill_at = kill_at
        await _run(disk, settings, seen)
        await _survive(disk.after_power_cut(chance), settings, seen, begun=seen.answered | seen.sent)


@pytest.mark.parametrize("room", range(0, 9000, 900))
async def test_a_full_disk_refuses_and_heals(store: Callable[[], asyncio.Future], room: int) -> None:
    """Whatever fits: each call is answered or refused; with space again, every line is there exactly once."""
    disk, seen, clock, settings = Disk(), Seen(), FakeClock(), await store()
    async with process(disk, settings, clock, segment_bytes=1200, journal_bytes=700) as gateway:
        disk.room = room
        for number in range(CALLS):
            with contextlib.suppress(Refusal):
                await _one(gateway, number, seen)
        disk.room = None
        clock.advance(1)
        await until(lambda: gateway.audit.sink.is_healthy)
        await _one(gateway, 100, seen)
        counts = Counter(item["call_id"] for item in written(disk))
        assert {call_id: counts[call_id] for call_id in seen.answered} == dict.fromkeys(seen.answered, 1)
        await gateway.audit.close()
    await _survive(disk.after_kill(), settings, seen, begun=seen.begun)
