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
from gateway.policy.base import PolicyProblem
from gateway.policy.candidate import Trial, Trials, TryOut
from gateway.policy.reload import ReloadingEngine


class Events:
    """Keeps what it hears, and can be waited for."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, str]]] = []
        self._changed = asyncio.Event()

    def __call__(self, name: str, fields: Mapping[str, str]) -> None:
        """Keep one."""
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
    engine = ReloadingEngine([folder], clock=clock, reload_seconds=2, try_out=try_out, on_event=events)
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
    engine = ReloadingEngine([write_pack(tmp_path, ALLOW_ALL)], clock=FakeClock(), try_out=try_here)
    with pytest.raises(Refusal) as caught:
        await engine.decide(document_json())
    assert (caught.value.reason, caught.value.fault) == (Reason.POLICY_NOT_LOADED, Fault.NOT_LOADED)
    assert (engine.is_loaded, engine.revision) == (False, "")


async def test_a_broken_policy_at_start_is_no_policy(tmp_path: Path) -> None:
    """It starts, refuses everything, and says why."""
    events = Events()
    async with _running(write_pack(tmp_path, "decision :="), FakeClock(), events) as engine:
        assert not engine.is_loaded
        assert "expecting expression" in engine.last_error
        with pytest.raises(Refusal, match="policy_not_loaded"):
            await engine.decide(document_json())
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
        assert await _effect(engine) is DecisionEffect.ALLOW
        write_pack(tmp_path, DENY_ALL)
        assert await engine.reload_now()
        assert engine.last_error == ""
        assert await _effect(engine) is DecisionEffect.DENY


async def test_what_is_unchanged_is_not_read_again(tmp_path: Path) -> None:
    """A refused change is not tried again before the folder changes."""
    clock, events = FakeClock(), Events()
    async with _running(write_pack(tmp_path, "decision :="), clock, events):
        for _ in range(3):
            await _pass(clock, 2)
        await _pass(clock, 0)
    assert events.names == ["policy_rejected"]


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

    async def try_out(folders: Sequence[Path]) -> Trial:
        return await try_here(folders) if not engine_was_loaded else Trial(problems=(slow,))

    engine_was_loaded = False
    async with _running(write_pack(tmp_path, ALLOW_ALL), FakeClock(), Events(), try_out) as engine:
        engine_was_loaded = True
        write_pack(tmp_path, DENY_ALL)
        assert not await engine.reload_now()
        assert engine.last_error == "-: too_slow: slow"
        assert await _effect(engine) is DecisionEffect.ALLOW


class Panic(BaseException):
    """As the engine raises it: no `Exception`."""


async def test_a_trial_that_fails_itself_ends_no_watching(tmp_path: Path) -> None:
    """A panic at one change refuses that change, names no value, and the next good change is seen."""
    clock, events, panics = FakeClock(), Events(), [None, Panic("hunter2")]

    async def try_out(folders: Sequence[Path]) -> Trial:
        if panics and (panic := panics.pop(0)) is not None:
            raise panic
        return await try_here(folders)

    async with _running(write_pack(tmp_path, ALLOW_ALL), clock, events, try_out) as engine:
        write_pack(tmp_path, DENY_ALL)
        await _pass(clock, 2)
        await events.wait_for(2)
        assert engine.last_error == "-: broken: it cannot be examined (Panic); undo the last change"
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
