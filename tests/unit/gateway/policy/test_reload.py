"""A policy that changes while it decides."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.packs import ALLOW_ALL, DENY_ALL, ENDLESS, document_json, write_pack
from fakes.trials import try_here

from adapters.base import Fault
from gateway.call import DecisionEffect
from gateway.errors import Reason, Refusal
from gateway.policy.base import EngineStatus, PolicyProblem, PolicyUnusable
from gateway.policy.candidate import Documents, Trial, Trials, TryOut
from gateway.policy.pack import read_pack
from gateway.policy.reload import ALLOWS_ANYBODY, RETRIAL_SECONDS, ReloadingEngine
from gateway.policy.source import UNREACHABLE, Candidate, FolderSource


class Events:
    """Keeps what it hears, and can be waited for. That a policy lets anybody in is kept apart: most here do."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, str]]] = []
        self.warned: list[dict[str, str]] = []
        self._changed = asyncio.Event()

    def __call__(self, name: str, fields: Mapping[str, str]) -> None:
        """Keep one."""
        if name == "policy_allows_anybody":
            self.warned.append(dict(fields))
            return
        self.heard.append((name, dict(fields)))
        self._changed.set()

    async def wait_for(self, count: int) -> None:
        """Return once so many were heard."""
        while len(self.heard) < count:
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), 5)

    @property
    def names(self) -> list[str]:
        """What was heard, without the fields."""
        return [name for name, _ in self.heard]


@contextlib.asynccontextmanager
async def _running(
    folder: Path, clock: FakeClock, events: Events, try_out: TryOut = try_here
) -> AsyncIterator[ReloadingEngine]:
    engine = ReloadingEngine(FolderSource([folder]), clock=clock, reload_seconds=2, try_out=try_out, on_event=events)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


async def _pass(clock: FakeClock, seconds: float) -> None:
    """Let time pass once the watcher is asleep."""
    for _ in range(1000):
        if clock.sleepers:
            break
        await asyncio.sleep(0.001)
    clock.advance(seconds)


async def _effect(engine: ReloadingEngine) -> DecisionEffect:
    return (await engine.decide(document_json())).effect


async def test_nothing_is_decided_before_a_policy_is_loaded(tmp_path: Path) -> None:
    """G08: no policy is no permission, and says so."""
    source = FolderSource([write_pack(tmp_path, ALLOW_ALL)])
    engine = ReloadingEngine(source, clock=FakeClock(), try_out=try_here)
    with pytest.raises(Refusal) as caught:
        await engine.decide(document_json())
    assert (caught.value.reason, caught.value.fault) == (Reason.POLICY_NOT_LOADED, Fault.NOT_LOADED)
    assert engine.status() == EngineStatus(is_ready=False, problem="no policy is loaded yet")


async def test_a_broken_policy_at_start_is_no_start(tmp_path: Path) -> None:
    """What is here and does not load is told at once, with every problem."""
    events = Events()
    source = FolderSource([write_pack(tmp_path, "decision :=")])
    engine = ReloadingEngine(source, clock=FakeClock(), try_out=try_here, reload_seconds=2, on_event=events)
    with pytest.raises(PolicyUnusable, match="expecting expression"):
        await engine.start()
    assert not engine.status().is_ready
    with pytest.raises(Refusal, match="policy_not_loaded"):
        await engine.decide(document_json())
    await engine.stop()
    assert events.names == ["policy_rejected"]


async def test_a_change_is_seen_and_swapped(tmp_path: Path) -> None:
    """After the folder changed, the new policy decides, under a new revision."""
    clock, events = FakeClock(), Events()
    async with _running(write_pack(tmp_path, ALLOW_ALL), clock, events) as engine:
        assert await _effect(engine) is DecisionEffect.ALLOW
        before = engine.revision
        write_pack(tmp_path, DENY_ALL)
        await _pass(clock, 2)
        await events.wait_for(2)
        assert await _effect(engine) is DecisionEffect.DENY
        assert events.heard[1] == ("policy_activated", {"revision": engine.revision, "before": before})


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("decision := nosuch(1)", "{}"),
        ("decision := ", "{}"),
        (DENY_ALL, '{"effect": "deny", "effect": "allow"}'),
    ],
)
async def test_g06_what_does_not_load_replaces_nothing(tmp_path: Path, text: str, data: str) -> None:
    """G06: a broken change keeps the former policy, is told, and is mended by the next good one."""
    clock, events = FakeClock(), Events()
    async with _running(write_pack(tmp_path, ALLOW_ALL), clock, events) as engine:
        before = engine.revision
        write_pack(tmp_path, text, data)
        await _pass(clock, 2)
        await events.wait_for(2)
        assert (events.names[1], engine.revision) == ("policy_rejected", before)
        assert engine.problems
        status = engine.status()
        assert (status.is_ready, status.revision, status.age_seconds) == (True, before, 2.0)
        assert status.problem == str(engine.problems[0])
        assert await _effect(engine) is DecisionEffect.ALLOW
        write_pack(tmp_path, DENY_ALL)
        assert await engine.reload_now()
        assert engine.status().problem == ""
        assert engine.status().age_seconds == 0.0
        assert await _effect(engine) is DecisionEffect.DENY


async def test_a_policy_that_allows_a_call_of_nobody_is_told_when_it_begins_to_decide(tmp_path: Path) -> None:
    """Once for each; one that asks for something is no news."""
    events = Events()
    source = ScriptedSource(
        _candidate(tmp_path / "1", ALLOW_ALL, "r1"), None, _candidate(tmp_path / "2", DENY_ALL, "r2")
    )
    engine = _scripted(source, FakeClock(), events)
    assert [await engine.reload_now() for _ in range(3)] == [True, True, True]
    assert events.names == ["policy_activated", "policy_activated"]
    assert events.warned == [{"error": ALLOWS_ANYBODY, "revision": "r1"}]


async def test_a_listener_that_fails_ends_no_watching(tmp_path: Path) -> None:
    """A policy that is refused is told to somebody who breaks; the next one decides all the same."""
    clock, told = FakeClock(), Events()

    def on_event(name: str, fields: Mapping[str, str]) -> None:
        told(name, fields)
        if name == "policy_rejected":
            raise RuntimeError(name)

    write_pack(tmp_path, ALLOW_ALL)
    engine = ReloadingEngine(
        FolderSource([tmp_path]), clock=clock, reload_seconds=2, try_out=try_here, on_event=on_event
    )
    await engine.start()
    write_pack(tmp_path, "decision :=")
    await _pass(clock, 2)
    await told.wait_for(2)
    write_pack(tmp_path, DENY_ALL)
    await _pass(clock, 2)
    await told.wait_for(3)
    assert told.names == ["policy_activated", "policy_rejected", "policy_activated"]
    await engine.stop()


async def test_what_is_unchanged_is_not_read_again(tmp_path: Path) -> None:
    """A refused change is not tried again before the folder changes."""
    clock, events = FakeClock(), Events()
    tried = 0

    async def try_out(folders: Sequence[Path], _documents: Documents | None = None) -> Trial:
        nonlocal tried
        tried += 1
        return await try_here(folders)

    async with _running(write_pack(tmp_path, ALLOW_ALL), clock, events, try_out):
        write_pack(tmp_path, "decision :=")
        for _ in range(4):
            await _pass(clock, 2)
        await _pass(clock, 0)
    assert (tried, events.names) == (2, ["policy_activated", "policy_rejected"])


async def test_the_same_policy_again_is_no_event(tmp_path: Path) -> None:
    """A file that was only touched changes nothing."""
    events = Events()
    async with _running(write_pack(tmp_path, ALLOW_ALL), FakeClock(), events) as engine:
        os.utime(tmp_path / "policy.rego")
        assert await engine.reload_now()
    assert events.names == ["policy_activated"]


async def test_what_fails_its_trial_replaces_nothing(tmp_path: Path) -> None:
    """A policy that is too slow never decides; the former one goes on."""
    slow = PolicyProblem(file="-", rule="too_slow", message="slow")

    async def try_out(folders: Sequence[Path], _documents: Documents | None = None) -> Trial:
        return await try_here(folders) if not engine_was_loaded else Trial(problems=(slow,))

    engine_was_loaded = False
    async with _running(write_pack(tmp_path, ALLOW_ALL), FakeClock(), Events(), try_out) as engine:
        engine_was_loaded = True
        write_pack(tmp_path, DENY_ALL)
        assert not await engine.reload_now()
        assert engine.status().problem == "-: too_slow: slow"
        assert await _effect(engine) is DecisionEffect.ALLOW


class Panic(BaseException):
    """As the engine raises it: no `Exception`."""


async def test_a_trial_that_fails_itself_ends_no_watching(tmp_path: Path) -> None:
    """A panic at one change refuses that change, names no value, and the next good change is seen."""
    clock, events, panics = FakeClock(), Events(), [None, Panic("hunter2")]

    async def try_out(folders: Sequence[Path], _documents: Documents | None = None) -> Trial:
        if panics and (panic := panics.pop(0)) is not None:
            raise panic
        return await try_here(folders)

    async with _running(write_pack(tmp_path, ALLOW_ALL), clock, events, try_out) as engine:
        write_pack(tmp_path, DENY_ALL)
        await _pass(clock, 2)
        await events.wait_for(2)
        assert engine.status().problem == "-: broken: it cannot be examined (Panic); undo the last change"
        write_pack(tmp_path, f"{DENY_ALL}\n# again")
        await _pass(clock, 2)
        await events.wait_for(3)
        assert events.names == ["policy_activated", "policy_rejected", "policy_activated"]


async def test_deciding_goes_on_while_a_policy_never_ends(tmp_path: Path) -> None:
    """The former policy decides during the whole trial of one that would run for days when it is loaded."""
    trials = Trials(max_ms=10, seconds=2)
    async with _running(write_pack(tmp_path, ALLOW_ALL), FakeClock(), Events(), trials) as engine:
        write_pack(tmp_path, ENDLESS)
        reloading = asyncio.create_task(engine.reload_now())
        decided = 0
        while not reloading.done():
            assert await _effect(engine) is DecisionEffect.ALLOW
            decided += 1
            await asyncio.sleep(0.01)
        assert (await reloading, decided > 20) == (False, True)
        assert engine.problems[0].rule == "too_slow"


async def test_a_failing_evaluation_is_told(tmp_path: Path) -> None:
    """The log learns where, without any value of the input."""
    events = Events()
    text = f"{ALLOW_ALL} if to_number(input.arguments.x) == 1"
    async with _running(write_pack(tmp_path, text), FakeClock(), events) as engine:
        with pytest.raises(Refusal, match="policy_unavailable"):
            await engine.decide(document_json(arguments={"x": "hunter2"}))
    name, fields = events.heard[-1]
    assert (name, fields["revision"]) == ("policy_failed", engine.revision)
    assert "hunter2" not in fields["error"]


async def test_stopping_twice_is_harmless(tmp_path: Path) -> None:
    """The policy stays active after the watching has ended."""
    clock = FakeClock()
    async with _running(write_pack(tmp_path, ALLOW_ALL), clock, Events()) as engine:
        await engine.stop()
    assert await _effect(engine) is DecisionEffect.ALLOW


class ScriptedSource:
    """Gives out what a test puts into it, one at a look; the last for ever."""

    def __init__(self, *given: Candidate | Exception | None, max_age_seconds: float = float("inf")) -> None:
        self.given = list(given)
        self.is_remote = True
        self.max_age_seconds = max_age_seconds
        self.accepted: list[Candidate] = []
        self.refusal: PolicyUnusable | None = None
        self.forgotten = 0

    async def look(self) -> Candidate | None:
        """The next."""
        found = self.given.pop(0) if len(self.given) > 1 else self.given[0]
        if isinstance(found, Exception):
            raise found
        return found

    async def accept(self, candidate: Candidate) -> None:
        """Note it, or refuse."""
        if self.refusal is not None:
            raise self.refusal
        self.accepted.append(candidate)

    def forget(self) -> None:
        """Note it."""
        self.forgotten += 1

    async def close(self) -> None:
        """Nothing is open."""


SILENT = PolicyUnusable(PolicyProblem(file="bundle", rule=UNREACHABLE, message="the server cannot be reached"))
OLDER = PolicyUnusable(PolicyProblem(file="bundle", rule="older", message="it is older"))


def _scripted(source: ScriptedSource, clock: FakeClock, events: Events, seconds: float = 2) -> ReloadingEngine:
    return ReloadingEngine(source, clock=clock, try_out=try_here, reload_seconds=seconds, on_event=events)


def _candidate(folder: Path, text: str, revision: str) -> Candidate:
    return Candidate(folders=(write_pack(folder, text),), revision=revision, mark=revision)


async def test_a_silent_service_is_waited_for_and_asked_again_soon(tmp_path: Path) -> None:
    """It starts, refuses, says why, and decides within a second of the first answer."""
    clock, events = FakeClock(), Events()
    source = ScriptedSource(SILENT, SILENT, SILENT, SILENT, _candidate(tmp_path, ALLOW_ALL, "r1"), None)
    engine = _scripted(source, clock, events, seconds=60)
    await engine.start()
    status = engine.status()
    assert (status.is_ready, status.problem) == (False, "bundle: unreachable: the server cannot be reached")
    with pytest.raises(Refusal, match="policy_not_loaded"):
        await engine.decide(document_json())
    for pause in (0.1, 0.2, 0.4, 0.5):
        await _pass(clock, pause)
    await events.wait_for(2)
    assert events.names == ["policy_unreachable", "policy_activated"]
    assert (engine.status().is_ready, engine.revision) == (True, "r1")
    await engine.stop()


async def test_the_revision_is_what_the_source_says(tmp_path: Path) -> None:
    """Also on every decision; the source is told what decides."""
    source = ScriptedSource(_candidate(tmp_path, ALLOW_ALL, "r1"))
    engine = _scripted(source, FakeClock(), Events())
    await engine.reload_now()
    assert (await engine.decide(document_json())).revision == engine.revision == "r1"
    assert [candidate.revision for candidate in source.accepted] == ["r1"]


async def test_a_source_that_was_read_too_long_ago_decides_nothing(tmp_path: Path) -> None:
    """G08: too old is as good as none, until the source answers again; then at once."""
    clock, events = FakeClock(), Events()
    source = ScriptedSource(_candidate(tmp_path, ALLOW_ALL, "r1"), SILENT, max_age_seconds=10)
    engine = _scripted(source, clock, events)
    await engine.start()
    for _ in range(5):
        await _pass(clock, 2)
    assert await _effect(engine) is DecisionEffect.ALLOW
    await _pass(clock, 2)
    status = engine.status()
    assert (status.is_ready, status.revision, status.age_seconds) == (False, "r1", 12.0)
    with pytest.raises(Refusal, match="policy_not_loaded"):
        await engine.decide(document_json())
    source.given = [None]
    await _pass(clock, 2)
    await _pass(clock, 0)
    assert (engine.status().is_ready, engine.status().problem) == (True, "")
    await engine.stop()


async def test_what_is_refused_is_told_once_and_again_after_a_good_look(tmp_path: Path) -> None:
    """A service that keeps giving out an older bundle fills no log."""
    events = Events()
    source = ScriptedSource(_candidate(tmp_path, ALLOW_ALL, "r1"), OLDER, OLDER, OLDER, None, OLDER)
    engine = _scripted(source, FakeClock(), events)
    for _ in range(6):
        await engine.reload_now()
    assert events.names == ["policy_activated", "policy_rejected", "policy_rejected"]
    assert await _effect(engine) is DecisionEffect.ALLOW


async def test_what_decides_is_not_tried_again_when_it_comes_back(tmp_path: Path) -> None:
    """After something refused stood in its place; the problem is gone then."""
    good = _candidate(tmp_path / "1", ALLOW_ALL, "r1")
    source = ScriptedSource(good, _candidate(tmp_path / "2", "decision :=", "r2"), good)
    events = Events()
    engine = _scripted(source, FakeClock(), events)
    assert [await engine.reload_now() for _ in range(3)] == [True, False, True]
    assert (engine.revision, len(source.accepted)) == ("r1", 1)
    assert events.names == ["policy_activated", "policy_rejected"]


async def test_what_the_source_does_not_accept_does_not_decide(tmp_path: Path) -> None:
    """The former policy goes on, under its revision."""
    source = ScriptedSource(_candidate(tmp_path / "1", ALLOW_ALL, "r1"), _candidate(tmp_path / "2", DENY_ALL, "r2"))
    engine = _scripted(source, FakeClock(), Events())
    await engine.reload_now()
    source.refusal = OLDER
    assert not await engine.reload_now()
    assert (engine.revision, engine.problems) == ("r1", OLDER.problems)
    assert await _effect(engine) is DecisionEffect.ALLOW


async def test_what_nobody_can_do_without_is_tried_again(tmp_path: Path) -> None:
    """A good policy that failed on a busy machine is not given up while there is no other."""
    clock, busy = FakeClock(), PolicyProblem(file="-", rule="too_slow", message="slow")

    async def try_out(folders: Sequence[Path], _documents: Documents | None = None) -> Trial:
        return Trial(problems=(busy,)) if source.forgotten == 0 else await try_here(folders)

    source = ScriptedSource(_candidate(tmp_path, ALLOW_ALL, "r1"), None)
    engine = ReloadingEngine(source, clock=clock, try_out=try_out, reload_seconds=2)
    await engine.start()
    assert not engine.status().is_ready
    source.given = [_candidate(tmp_path, ALLOW_ALL, "r1")]
    await _pass(clock, RETRIAL_SECONDS)
    await _pass(clock, 0.5)
    await engine.stop()
    assert engine.status().is_ready


async def test_a_source_that_breaks_ends_no_watching(tmp_path: Path) -> None:
    """Whatever it raises is a problem without its text."""
    source = ScriptedSource(_candidate(tmp_path, ALLOW_ALL, "r1"), RuntimeError("hunter2"))
    engine = _scripted(source, FakeClock(), Events())
    await engine.reload_now()
    assert not await engine.reload_now()
    assert engine.status().problem == "-: broken: it cannot be examined (RuntimeError); undo the last change"
    assert engine.status().is_ready


async def test_the_active_policy_is_tried_on_other_documents(tmp_path: Path) -> None:
    """Before tools change: what is too slow for them is told, and nothing is changed."""
    slow = PolicyProblem(file="-", rule="too_slow", message="tool big: slow")

    async def try_out(folders: Sequence[Path], documents: Documents | None = None) -> Trial:
        return Trial(problems=(slow,)) if documents is not None and list(documents()) else await try_here(folders)

    async with _running(write_pack(tmp_path, ALLOW_ALL), FakeClock(), Events(), try_out) as engine:
        assert await engine.fits(list) == ()
        assert await engine.fits(lambda: [("big", b"{}")]) == (slow,)
        assert (engine.problems, engine.revision) == ((), read_pack([tmp_path]).revision)
        write_pack(tmp_path, DENY_ALL)
        assert [problem.rule for problem in await engine.fits(list)] == ["changed"]


async def test_no_policy_fits_everything(tmp_path: Path) -> None:
    """Whatever comes will be tried on the documents of its day."""
    engine = ReloadingEngine(FolderSource([tmp_path]), clock=FakeClock(), try_out=try_here)
    assert await engine.fits(list) == ()
