"""What a running gateway takes over, and when it looks."""

import asyncio
from pathlib import Path

import pytest
from fakes.clock import FakeClock

from gateway.reloading import LIVE, Watcher, need_restart, stamp
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

    async def reload() -> None:
        reloads.append(file.read_text())
        noticed.set()

    watcher = Watcher(lambda: [file], reload, clock=clock, seconds=2.0)
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

    async def reload() -> None:
        read.set()

    watcher = Watcher(list, reload, clock=FakeClock(), seconds=0)
    watcher.start()
    watcher.poke()
    await asyncio.wait_for(read.wait(), 5)
    await watcher.stop()


async def test_stopping_what_was_not_started_is_harmless() -> None:
    """A start that failed half-way stops everything."""
    await Watcher(list, lambda: asyncio.sleep(0), clock=FakeClock(), seconds=1).stop()
