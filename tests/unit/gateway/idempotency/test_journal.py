"""Keys over the journal: what the memory holds, and what a restart makes of it."""

import asyncio

import pytest
from fakes.audit import keys_of, opened
from fakes.clock import FakeClock
from fakes.files import Disk
from fakes.journal import ListJournal
from fakes.lines import begin, line, result

from adapters.base import Binary, Text
from gateway.audit.records import replay
from gateway.call import Known, Result, Standing
from gateway.errors import Refusal
from gateway.idempotency.base import Claim
from gateway.idempotency.journal import JournalKeys

DAY = 24 * 60 * 60.0


def _claim(key: str = "k", call_id: str = "c1") -> Claim:
    return Claim(key=key, call_id=call_id, effect_id=f"e-{call_id}", arguments_digest="sha256:aa")


async def _standing(keys: JournalKeys, key: str = "k") -> Standing | None:
    known = await keys.look(key)
    return known.standing if known else None


async def test_the_intent_is_in_the_journal_before_the_key_is_ours() -> None:
    """With everything that a restart needs, and the pipeline's fields as they are."""
    journal = ListJournal()
    assert await JournalKeys(journal, clock=FakeClock()).claim(_claim(), b'{"side_effect":"send"}') is None
    assert journal.intents == [
        {
            "type": "intent",
            "key": "k",
            "call_id": "c1",
            "effect_id": "e-c1",
            "arguments_digest": "sha256:aa",
            "fields": {"side_effect": "send"},
        }
    ]


async def test_a_done_key_is_forgotten_after_a_day() -> None:
    """And its result with it; one that is open or unknown never is."""
    clock = FakeClock()
    keys = JournalKeys(ListJournal(), clock=clock)
    for key in ("done", "open", "lost"):
        await keys.claim(_claim(key), b"{}")
    await keys.settle(_claim("done"), result())
    await keys.leave_unknown(_claim("lost"))
    clock.advance(DAY - 1)
    assert await _standing(keys, "done") is Standing.DONE
    clock.advance(1)
    assert await _standing(keys, "done") is None
    clock.advance(1000 * DAY)
    assert await _standing(keys, "open") is Standing.IN_PROGRESS
    assert await _standing(keys, "lost") is Standing.UNKNOWN
    assert keys._room == 64 * 1024 * 1024


async def test_a_key_that_nobody_can_repeat_is_forgotten_once_its_effect_is_done() -> None:
    """A day of calls without a key takes no memory, neither here nor in the journal's next segment."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock, journal_bytes=1)
    keys = keys_of(audit, clock)
    for call in ("c1", "c2"):
        assert await keys.claim(_claim(f"call:{call}", call), b"{}") is None
        assert await _standing(keys, f"call:{call}") is Standing.IN_PROGRESS
    await keys.settle(_claim("call:c1", "c1"), result())
    await keys.leave_unknown(_claim("call:c2", "c2"))
    assert [await _standing(keys, f"call:{call}") for call in ("c1", "c2")] == [None, Standing.UNKNOWN]
    assert keys._room == 64 * 1024 * 1024
    await audit.sink.append(line("c1"))
    for number in range(9):
        audit.journal.begin(begin(f"d{number}"))
    await audit.close()
    assert set(replay(disk.directory("journal")).ledger.keys) == {"call:c2"}
    assert [record["key"] for record in opened(disk.after_kill(), clock).key_records] == ["call:c2"]


async def test_the_oldest_results_make_room() -> None:
    """A key whose result is gone is still done; a result that is larger than all the room is not held."""
    keys = JournalKeys(ListJournal(), clock=FakeClock(), result_bytes=10_000)
    big = Result(
        content=(Binary(mime_type="image/png", data=b"x" * 4000), Text(text="é")), structured_json=b"", receipt=""
    )
    for number in range(4):
        await keys.claim(_claim(str(number)), b"{}")
        await keys.settle(_claim(str(number)), big)
    held = [await keys.look(str(number)) for number in range(4)]
    assert [known.result is not None for known in held if known] == [False, False, True, True]
    await keys.claim(_claim("huge"), b"{}")
    await keys.settle(_claim("huge"), Result(content=(), structured_json=b"x" * 20_000, receipt=""))
    known = await keys.look("huge")
    assert known is not None
    assert (known.standing, known.result) == (Standing.DONE, None)
    assert [(await keys.look(str(number))).result is not None for number in (2, 3)] == [True, True]


async def test_a_cancelled_claim_leaves_the_key_free() -> None:
    """Nothing was sent, in memory and after a restart."""
    disk = Disk()
    audit = opened(disk, active=lambda: 2)
    keys = keys_of(audit)
    task = asyncio.ensure_future(keys.claim(_claim(), b"{}"))
    await asyncio.sleep(0)
    assert await _standing(keys) is Standing.IN_PROGRESS
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await _standing(keys) is None
    await audit.close()
    assert opened(disk.after_kill()).key_records == ()


async def test_a_refused_claim_leaves_the_key_free() -> None:
    """The disk failed before anything was sent: free at once, and after a restart on a disk that works again."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock)
    keys = keys_of(audit, clock)
    disk.sync_error = OSError(5, "broken")
    with pytest.raises(Refusal):
        await keys.claim(_claim(), b"{}")
    assert await _standing(keys) is None
    disk.sync_error = None
    clock.advance(1)
    audit.journal.begin(begin("c2"))
    await audit.close()
    assert opened(disk.after_kill()).key_records == ()


async def _restarted(disk: Disk) -> JournalKeys:
    return keys_of(opened(disk.after_kill()))


async def test_after_a_kill_an_open_key_is_unknown() -> None:
    """The same key never sends twice, whatever the crash cut off."""
    disk = Disk()
    audit = opened(disk)
    keys = keys_of(audit)
    audit.journal.begin(begin("c1"))
    await keys.claim(_claim(), b"{}")
    again = await _restarted(disk)
    assert await _standing(again) is Standing.UNKNOWN
    assert await again.claim(_claim(call_id="c9"), b"{}") == Known(
        standing=Standing.UNKNOWN, call_id="c1", effect_id="e-c1", arguments_digest="sha256:aa"
    )
    await audit.close()


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ({"outcome": "ok", "happened": "yes"}, Standing.DONE),
        ({"outcome": "unavailable", "happened": "no", "stopped_at": "adapter"}, None),
        ({"outcome": "unknown", "happened": "unknown", "stopped_at": "adapter"}, Standing.UNKNOWN),
    ],
)
async def test_after_a_kill_a_line_tells_of_its_key(ending: dict[str, str], expected: Standing | None) -> None:
    """Though the note that settles the key never reached the disk."""
    disk = Disk()
    audit = opened(disk)
    audit.journal.begin(begin("c1"))
    await keys_of(audit).claim(_claim(), b"{}")
    await audit.sink.append(line("c1", **ending))
    again = await _restarted(disk)
    assert await _standing(again) is expected
    known = await again.look("k")
    assert known is None or known.result is None
    await audit.close()


async def test_standings_survive_restarts_and_rotations() -> None:
    """Three restarts in tiny segments: done, unknown and free are still what they were."""
    disk = Disk()
    audit = opened(disk, journal_bytes=200)
    keys = keys_of(audit)
    for key in ("done", "lost", "free"):
        audit.journal.begin(begin(key))
        await keys.claim(_claim(key, call_id=key), b"{}")
    await keys.settle(_claim("done", call_id="done"), result())
    await keys.leave_unknown(_claim("lost", call_id="lost"))
    await keys.release(_claim("free", call_id="free"))
    for _restart in range(3):
        await audit.close()
        disk = disk.after_kill()
        audit = opened(disk, journal_bytes=200)
        keys = keys_of(audit)
        for number in range(5):
            audit.journal.begin(begin(f"x{_restart}{number}"))
            await audit.sink.append(line(f"x{_restart}{number}"))
        assert [await _standing(keys, key) for key in ("done", "lost", "free")] == [
            Standing.DONE,
            Standing.UNKNOWN,
            None,
        ]
    await audit.close()


async def test_a_key_done_before_a_restart_is_forgotten_a_day_after_it_was_done() -> None:
    """Not a day after the restart."""
    disk, clock = Disk(), FakeClock()
    audit = opened(disk, clock)
    keys = keys_of(audit, clock)
    await keys.claim(_claim(), b"{}")
    await keys.settle(_claim(), result())
    await audit.close()
    clock.advance(DAY - 1)
    again = keys_of(opened(disk.after_kill(), clock), clock)
    assert await _standing(again) is Standing.DONE
    clock.advance(1)
    assert await _standing(again) is None
