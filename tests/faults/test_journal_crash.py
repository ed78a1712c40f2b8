"""Kill and power cut at every operation, on a disk in memory."""

import asyncio
import contextlib
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from fakes.audit import keys_of, opened, until, written
from fakes.clock import FakeClock
from fakes.files import Disk
from fakes.lines import begin, line, result

from gateway.audit.open import Audit
from gateway.audit.verify import verify_files
from gateway.call import Standing
from gateway.errors import Refusal
from gateway.idempotency.base import Claim
from gateway.idempotency.journal import JournalKeys

CALLS = 12


@dataclass
class Seen:
    """What a client knows of its calls."""

    begun: set[str] = field(default_factory=set)
    tried: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    sent: dict[str, Claim] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)


def _claim(number: int, call_id: str) -> Claim:
    return Claim(key=f"{number:064x}", call_id=call_id, effect_id=call_id, arguments_digest="sha256:aa")


async def _one(audit: Audit, keys: JournalKeys, number: int, seen: Seen) -> None:
    """One call: every second one sends something; one of those in three is released, one unknown."""
    call_id = f"c{number}"
    seen.tried.add(call_id)
    audit.journal.begin(begin(call_id))
    seen.begun.add(call_id)
    happened = ""
    if number % 2:
        claim = _claim(number, call_id)
        assert await keys.claim(claim, b'{"side_effect":"send"}') is None
        happened = ("yes", "no", "unknown")[number // 2 % 3]
        if happened != "no":
            seen.sent[call_id] = claim
        await {"yes": lambda c: keys.settle(c, result()), "no": keys.release, "unknown": keys.leave_unknown}[happened](
            claim
        )
    await audit.sink.append(line(call_id, happened=happened, outcome="ok" if happened != "unknown" else "unknown"))
    seen.answered.add(call_id)


async def _run(disk: Disk, seen: Seen) -> None:
    """Calls, some at the same time, in files so small that they rotate all the time."""
    clock = FakeClock()
    try:
        audit = opened(disk, clock, segment_bytes=1200, journal_bytes=700, active=lambda: 2)
    except OSError:
        return
    keys = keys_of(audit, clock)
    for first in range(0, CALLS, 2):
        pair = [_one(audit, keys, number, seen) for number in (first, first + 1)]
        for outcome in await asyncio.gather(*pair, return_exceptions=True):
            assert outcome is None or isinstance(outcome, Refusal), outcome
        clock.advance(1)
    await audit.close()


async def _survive(disk: Disk, seen: Seen, *, begun: set[str]) -> None:
    """After a restart: one line for each call, none twice, the chain whole, and no key free that was sent."""
    audit = opened(disk)
    keys = keys_of(audit)
    counts = Counter(item["call_id"] for item in written(disk))
    assert {call_id for call_id in begun if counts[call_id] != 1} == set()
    assert all(count == 1 for count in counts.values())
    assert set(counts) <= seen.tried
    verdict = verify_files(disk.directory("audit"))
    assert verdict.first_bad is None
    for claim in seen.sent.values():
        known = await keys.look(claim.key)
        assert known is not None
        assert known.standing in {Standing.DONE, Standing.UNKNOWN}
    await audit.close()


def _operations() -> int:
    disk = Disk()
    asyncio.run(_run(disk, Seen()))
    return disk.operations


async def test_a_kill_at_any_operation_leaves_one_line_per_call() -> None:
    """Begins, intents, notes, lines, both rotations and their removals: wherever the process dies."""
    total = await asyncio.to_thread(_operations)
    assert total > 60
    for kill_at in range(1, total + 3):
        disk, seen = Disk(), Seen()
        disk.kill_at = kill_at
        await _run(disk, seen)
        await _survive(disk.after_kill(), seen, begun=seen.begun)


async def test_a_kill_during_recovery_changes_nothing() -> None:
    """Recovery that is itself killed, at any operation, is done again and leaves one line per call."""
    for kill_at in range(5, 80, 7):
        first, seen = Disk(), Seen()
        first.kill_at = kill_at
        await _run(first, seen)
        for again in range(1, 14):
            second = first.after_kill()
            second.kill_at = again
            try:
                audit = opened(second)
            except OSError:
                pass
            else:
                await audit.close()
            await _survive(second.after_kill(), seen, begun=seen.begun)


@pytest.mark.parametrize("seed", range(3))
async def test_a_power_cut_loses_no_answer_and_no_intent(seed: int) -> None:
    """After a cut at any operation every answered call has its line, and every key that was sent is taken."""
    chance = random.Random(seed)
    total = await asyncio.to_thread(_operations)
    for kill_at in range(1, total + 3):
        disk, seen = Disk(), Seen()
        disk.kill_at = kill_at
        await _run(disk, seen)
        await _survive(disk.after_power_cut(chance), seen, begun=seen.answered)


@pytest.mark.parametrize("room", range(0, 9000, 450))
async def test_a_full_disk_refuses_and_heals(room: int) -> None:
    """Whatever fits: each call is answered or refused; with space again, every line is there exactly once."""
    disk, seen, clock = Disk(), Seen(), FakeClock()
    audit = opened(disk, clock, segment_bytes=1200, journal_bytes=700)
    keys = keys_of(audit, clock)
    disk.room = room
    for number in range(CALLS):
        with contextlib.suppress(Refusal):
            await _one(audit, keys, number, seen)
    disk.room = None
    clock.advance(1)
    await until(lambda: audit.sink.is_healthy)
    await _one(audit, keys, 100, seen)
    counts = Counter(item["call_id"] for item in written(disk))
    assert {call_id: counts[call_id] for call_id in seen.answered} == dict.fromkeys(seen.answered, 1)
    await audit.close()
    await _survive(disk.after_kill(), seen, begun=seen.begun)
