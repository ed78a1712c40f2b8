"""What a running gateway takes over, and when it looks."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.audit import until
from fakes.clock import FakeClock

from gateway.reloading import LIVE, RETRY_SECONDS, Watcher, need_restart, stamp
from gateway.settings.limits import LimitSettings, RateSettings, RedisSettings
from gateway.settings.load import Settings, default_settings
from gateway.settings.parts import AuditSettings, CredentialGrant, RegistrySettings, ServerSettings

RATE = RateSettings(per_minute=1, burst=1)
GRANT = CredentialGrant(tenant="a", references=("env:A",), hosts=("a",))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"known_scopes": ("a:b",)},
        {"credentials": (GRANT,)},
        {"registry": RegistrySettings(paths=(Path("/r"),))},
        {"limits": LimitSettings(tenant=RATE, caller=RATE, max_in_flight=3)},
        {"server": ServerSettings(max_call_seconds=5, drain_delay_seconds=1)},
    ],
)
def test_what_is_taken_over(changes: dict[str, object]) -> None:
    """Rows, grants, rates and times."""
    old = default_settings(Path("/state"))
    assert need_restart(old, old.model_copy(update=changes)) == ()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"state_dir": Path("/other")}, "state_dir"),
        ({"listeners": ()}, "listeners"),
        ({"audit": AuditSettings(commit_delay_ms=1)}, "audit"),
        ({"log_level": "debug"}, "log_level"),
        ({"limits": LimitSettings(tenant=RATE, redis=RedisSettings(url="unix:r.sock"))}, "limits.redis"),
        ({"server": ServerSettings(max_connection_age_seconds=5)}, "server.max_connection_age_seconds"),
    ],
)
def test_what_needs_a_restart_is_named(changes: dict[str, object], named: str) -> None:
    """Part and key, and nothing that could be taken over beside it."""
    old = default_settings(Path("/state"))
    assert need_restart(old, old.model_copy(update=changes)) == (named,)


def test_every_live_setting_exists() -> None:
    """A renamed setting must not quietly need a restart."""
    for part, keys in LIVE.items():
        field = Settings.model_fields[part]
        if keys is not None:
            assert keys <= type(field.default).model_fields.keys()


def test_a_stamp_differs_when_anything_did(tmp_path: Path) -> None:
    """Written, added, removed, swapped by a symbolic link; a file that is not there has none."""
    folder = tmp_path / "rows"
    (folder / "v1").mkdir(parents=True)
    (folder / "v1" / "a.yaml").write_text("1")
    seen = [stamp([folder, tmp_path / "absent"])]
    (folder / "v1" / "a.yaml").write_text("12")
    seen.append(stamp([folder]))
    (folder / "v1" / "b.yaml").write_text("1")
    seen.append(stamp([folder]))
    (folder / "v1" / "b.yaml").unlink()
    (folder / "now").symlink_to(folder / "v1" / "a.yaml")
    seen.append(stamp([folder]))
    (folder / "v1" / "c.yaml").write_text("other")
    (folder / "v1" / "c.yaml").replace(folder / "v1" / "a.yaml")
    seen.append(stamp([folder]))
    assert len(set(seen)) == len(seen)
    assert stamp([tmp_path / "absent"]) == frozenset()


async def test_a_change_is_noticed_once(tmp_path: Path) -> None:
    """At the next look, and then not again."""
    file = tmp_path / "settings.yaml"
    file.write_text("1")
    clock, reloads, noticed = FakeClock(), [], asyncio.Event()

    async def reload() -> tuple[str, ...]:
        reloads.append(file.read_text())
        noticed.set()
        return ()

    watcher = Watcher(lambda: [file], reload, clock=clock, seconds=lambda: 2.0)
    watcher.start()
    file.write_text("12")
    async with asyncio.timeout(5):
        while not noticed.is_set():
            clock.advance(2.0)
            await asyncio.sleep(0.001)
        for _ in range(5):
            clock.advance(2.0)
            await asyncio.sleep(0.001)
    await watcher.stop()
    assert reloads == ["12"]


async def test_with_0_only_asking_has_it_read() -> None:
    """And asking has it read though nothing changed."""
    read = asyncio.Event()

    async def reload() -> tuple[str, ...]:
        read.set()
        return ()

    watcher = Watcher(list, reload, clock=FakeClock(), seconds=lambda: 0)
    watcher.start()
    watcher.poke()
    await asyncio.wait_for(read.wait(), 5)
    await watcher.stop()


class Reloads:
    """Counts how often something is read again, and says what speaks against taking it over."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        self.count = 0

    async def __call__(self) -> tuple[str, ...]:
        """Once more."""
        self.count += 1
        return self.problems


async def _pass(clock: FakeClock, seconds: float, until: Callable[[], bool]) -> None:
    """Let time pass in steps of this length until something holds."""
    async with asyncio.timeout(5):
        while not until():
            clock.advance(seconds)
            await asyncio.sleep(0.001)


async def test_asking_before_it_is_started_is_not_forgotten() -> None:
    """What changed while a gateway was starting is read once it runs."""
    reloads = Reloads()
    watcher = Watcher(list, reloads, clock=FakeClock(), seconds=lambda: 0)
    watcher.poke()
    watcher.start()
    await asyncio.wait_for(until(lambda: reloads.count == 1), 5)
    await watcher.stop()


async def test_what_was_refused_is_tried_again() -> None:
    """Though nothing changed here: what spoke against it can be gone. Once it is taken over, not any more."""
    clock, reloads = FakeClock(), Reloads("a policy does not fit")
    watcher = Watcher(list, reloads, clock=clock, seconds=lambda: 2.0)
    watcher.poke()
    watcher.start()
    await asyncio.wait_for(until(lambda: reloads.count == 1), 5)
    refused_at = clock.monotonic()
    reloads.problems = ()
    await _pass(clock, 2.0, lambda: reloads.count == 2)
    assert clock.monotonic() - refused_at >= RETRY_SECONDS
    taken_at = clock.monotonic()
    await _pass(clock, 2.0, lambda: clock.monotonic() - taken_at > 3 * RETRY_SECONDS)
    assert reloads.count == 2
    await watcher.stop()


async def test_how_often_can_change() -> None:
    """It is a setting that a running gateway takes over."""
    clock, reloads, seconds = FakeClock(), Reloads(), [0.0]
    files: list[Path] = []
    watcher = Watcher(lambda: files, reloads, clock=clock, seconds=lambda: seconds[0])
    watcher.start()
    watcher.poke()
    seconds[0] = 1.0
    await asyncio.wait_for(until(lambda: reloads.count == 1), 5)
    files.append(Path(__file__))
    await _pass(clock, 1.0, lambda: reloads.count == 2)
    await watcher.stop()


async def test_files_that_cannot_be_looked_at_do_not_end_the_looking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that nobody may enter, or that is removed at this very moment, counts as absent."""
    folder = tmp_path / "rows"
    (folder / "below").mkdir(parents=True)
    (folder / "a.yaml").write_text("1")
    seen = stamp([folder])

    def refuse(_path: object) -> os.stat_result:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", refuse)
        patched.setattr(Path, "stat", refuse)
        assert stamp([folder, folder / "a.yaml"]) == frozenset()

    listed = os.scandir

    def vanish(path: str) -> object:
        if str(path).endswith("below"):
            raise FileNotFoundError
        return listed(path)

    monkeypatch.setattr(os, "scandir", vanish)
    assert stamp([folder]) == seen


async def test_stopping_what_was_not_started_is_harmless() -> None:
    """A start that failed half-way stops everything."""
    await Watcher(list, Reloads(), clock=FakeClock(), seconds=lambda: 1).stop()
