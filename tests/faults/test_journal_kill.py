"""kill -9 of a real process, again and again, on a real disk."""

import asyncio
import itertools
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from fakes.clock import FakeClock
from fakes.seal import FakeSeal
from real.stores import opened, sqlite_settings

from gateway.audit.files import Directory
from gateway.audit.open import audit_directory
from gateway.audit.reading import lines_after
from gateway.audit.verify import verify
from gateway.call import Standing
from gateway.idempotency.store import StoreKeys

CHILD = """
import asyncio, functools, itertools, os, secrets, sys
from pathlib import Path
from fakes.aftermaths import claim_of, intent_of
from fakes.lines import begin, line, result
from fakes.seal import FakeSeal
import gateway.audit.open
from gateway.audit.aftermath import Aftermath
from gateway.clock import SystemClock
from gateway.idempotency.store import StoreKeys
from gateway.settings.parts import AuditSettings
from gateway.settings.store import StoreSettings
from gateway.store.database import Database

gateway.audit.open.Opening = functools.partial(gateway.audit.open.Opening, journal_bytes=4000)

async def work(audit, keys, numbers, tag):
    for number in numbers:
        call_id = f"{tag}-{number}"
        audit.journal.begin(begin(call_id))
        os.write(1, f"B {call_id}\\n".encode())
        if number % 3 == 0:
            await audit.journal.sync()
            assert await keys.claim(claim_of(call_id), intent_of(call_id)) is None
            os.write(1, f"S {call_id}\\n".encode())
            await keys.settle(claim_of(call_id), result())
        await audit.sink.append(line(call_id, happened="yes" if number % 3 == 0 else ""))
        os.write(1, f"A {call_id}\\n".encode())

async def main(state_dir, store, tag):
    settings, clock = AuditSettings(segment_bytes=64 * 1024, commit_delay_ms=1), SystemClock()
    audit = gateway.audit.open.open_audit(Path(state_dir), settings, clock, lambda: 4)
    database = Database(StoreSettings(url=f"sqlite:{store}"), clock)
    writer = f"{audit.writer}.{tag}"
    aftermath = Aftermath(journal=audit.journal, sink=audit.sink, database=database, family=audit.writer,
        writer=writer, clock=clock, find_lines=lambda ids: lines_of(audit, ids))
    await aftermath.own(audit.cut_off, ["acme"])
    if tag == "end":
        await audit.close()
        return
    keys = StoreKeys(database, writer=writer, clock=clock, seal=FakeSeal()).of("acme")
    numbers = itertools.count()
    await asyncio.gather(*(work(audit, keys, numbers, tag) for _ in range(4)))

def lines_of(audit, ids):
    return [one for one in gateway.audit.reading.lines_after(audit.line_files, 0) if one["call_id"] in ids]

asyncio.run(main(*sys.argv[1:]))
"""


def _run_and_kill(state_dir: Path, store: Path, tag: str, after: int) -> list[list[str]]:
    """What a child said until it was killed, some time after it had said so many things."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(state_dir), str(store), tag], stdout=subprocess.PIPE, env=environment
    )
    assert child.stdout is not None
    with child, child.stdout:
        said = list(itertools.islice(child.stdout, after))
        child.kill()
        said += child.stdout.readlines()
    return [entry.decode().split() for entry in said]


async def test_g15_kill_9_at_any_time_leaves_one_line_per_call(tmp_path: Path) -> None:
    """A process killed four times over, each time at another moment: one line for each call that began, a
    whole chain, `ok` for each that was answered, and no key of a send is free.
    """
    state_dir, chance = tmp_path / "state", random.Random(15)
    settings = await sqlite_settings(tmp_path)
    said: list[list[str]] = []
    for round_ in range(4):
        after = chance.randint(1, 400)
        said += await asyncio.to_thread(_run_and_kill, state_dir, settings.path, f"r{round_}", after)
    await asyncio.to_thread(_run_and_kill, state_dir, settings.path, "end", 10**6)
    async with opened(settings) as database:
        keys = StoreKeys(database, writer="w9", clock=FakeClock(), seal=FakeSeal()).of("acme")
        for word, call_id in said:
            if word == "S":
                known = await keys.look(f"key-{call_id}")
                assert known is not None
                assert known.standing in {Standing.DONE, Standing.UNKNOWN}

    lines = list(lines_after(Directory(audit_directory(state_dir)), 0))
    counts = Counter(line["call_id"] for line in lines)
    outcomes = {line["call_id"]: line["outcome"] for line in lines}
    assert set(counts.values()) == {1}
    assert {call_id for word, call_id in said if word == "B"} <= set(counts)
    assert {outcomes[call_id] for word, call_id in said if word == "A"} == {"ok"}
    assert "unknown" in outcomes.values()
    assert verify(audit_directory(state_dir)).first_bad is None
