"""kill -9 of a real process, again and again, on a real disk."""

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from fakes.clock import FakeClock

from gateway.audit.files import Directory
from gateway.audit.open import audit_directory, open_audit
from gateway.audit.reading import lines_after
from gateway.audit.verify import verify
from gateway.call import Standing
from gateway.idempotency.journal import JournalKeys
from gateway.settings.parts import AuditSettings

SMALL = AuditSettings(segment_bytes=64 * 1024, commit_delay_ms=1)

CHILD = """
import asyncio, functools, itertools, os, sys
from pathlib import Path
from fakes.lines import begin, line, result
import gateway.audit.open
from gateway.clock import SystemClock
from gateway.idempotency.base import Claim
from gateway.idempotency.journal import JournalKeys
from gateway.settings.parts import AuditSettings

gateway.audit.open.Opening = functools.partial(gateway.audit.open.Opening, journal_bytes=4000)

async def work(audit, keys, numbers, tag):
    for number in numbers:
        call_id = f"{tag}-{number}"
        audit.journal.begin(begin(call_id))
        os.write(1, f"B {call_id}\\n".encode())
        if number % 3 == 0:
            claim = Claim(key=call_id, call_id=call_id, effect_id=call_id, arguments_digest="d")
            assert await keys.claim(claim, b'{"side_effect":"send"}') is None
            os.write(1, f"S {call_id}\\n".encode())
            await keys.settle(claim, result())
        await audit.sink.append(line(call_id, happened="yes" if number % 3 == 0 else ""))
        os.write(1, f"A {call_id}\\n".encode())

async def main(state_dir, tag):
    settings = AuditSettings(segment_bytes=64 * 1024, commit_delay_ms=1)
    audit = gateway.audit.open.open_audit(Path(state_dir), settings, SystemClock(), lambda: 4)
    keys = JournalKeys(audit.journal, clock=SystemClock(), remembered=audit.key_records)
    numbers = itertools.count()
    await asyncio.gather(*(work(audit, keys, numbers, tag) for _ in range(4)))

asyncio.run(main(*sys.argv[1:]))
"""


def _run_and_kill(state_dir: Path, tag: str, after: int) -> list[list[str]]:
    """What a child said until it was killed, some time after it had said so many things."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(state_dir), tag], stdout=subprocess.PIPE, env=environment
    )
    assert child.stdout is not None
    with child, child.stdout:
        said = [child.stdout.readline() for _ in range(after)]
        child.kill()
        said += child.stdout.readlines()
    return [entry.decode().split() for entry in said]


async def test_g15_kill_9_at_any_time_leaves_one_line_per_call(tmp_path: Path) -> None:
    """A process killed six times over, each time at another moment: one line for each call that began, a
    whole chain, `ok` for each that was answered, and no key of a send is free.
    """
    state_dir, chance = tmp_path / "state", random.Random(15)
    said: list[list[str]] = []
    for round_ in range(6):
        said += await asyncio.to_thread(_run_and_kill, state_dir, f"r{round_}", chance.randint(1, 400))
    audit = open_audit(state_dir, SMALL, FakeClock(), lambda: 1)
    keys = JournalKeys(audit.journal, clock=FakeClock(), remembered=audit.key_records)
    for word, call_id in said:
        if word == "S":
            known = await keys.look(call_id)
            assert known is not None
            assert known.standing in {Standing.DONE, Standing.UNKNOWN}
    await audit.close()

    lines = list(lines_after(Directory(audit_directory(state_dir)), 0))
    counts = Counter(line["call_id"] for line in lines)
    outcomes = {line["call_id"]: line["outcome"] for line in lines}
    assert set(counts.values()) == {1}
    assert {call_id for word, call_id in said if word == "B"} <= set(counts)
    assert {outcomes[call_id] for word, call_id in said if word == "A"} == {"ok"}
    assert "unknown" in outcomes.values()
    assert verify(audit_directory(state_dir)).first_bad is None
