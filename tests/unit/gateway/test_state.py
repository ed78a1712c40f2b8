"""The state directory and the store are opened together, and every call that was cut off is accounted for."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.aftermaths import claim_of, intent_of
from fakes.clock import FakeClock
from fakes.lines import begin, line
from fakes.seal import FakeSeal
from real.stores import sqlite_settings

from gateway.audit.aftermath import LAPSED_SECONDS
from gateway.audit.open import audit_directory
from gateway.audit.reading import tail
from gateway.call import Standing
from gateway.errors import StartError
from gateway.idempotency.store import LEASE_SECONDS
from gateway.settings.listeners import FixedIdentity, Listener
from gateway.settings.load import Settings
from gateway.settings.store import StoreSettings
from gateway.state import State, open_state
from gateway.store.database import Database

GONE = LEASE_SECONDS + LAPSED_SECONDS + 1


def settings_of(state_dir: Path, *tenants: str, store: StoreSettings | None = None) -> Settings:
    """Settings with a listener for each tenant."""
    listeners = tuple(
        Listener(
            name=f"for-{tenant}",
            address=f"unix:{state_dir / tenant}.sock",
            identity=FixedIdentity(kind="fixed", tenant=tenant, agent="helper"),
        )
        for tenant in tenants
    )
    return Settings(state_dir=state_dir, store=store, listeners=listeners)


@contextlib.asynccontextmanager
async def opened(settings: Settings, clock: FakeClock) -> AsyncIterator[State]:
    """The state, until it is closed."""
    async with contextlib.AsyncExitStack() as stack:
        database = Database(settings.database, clock)
        yield await open_state(stack, settings, database=database, seal=FakeSeal(), clock=clock, active=lambda: 1)


async def cut_off(state: State, *, call_id: str = "c1") -> None:
    """A write that has claimed its key, and that nobody tells of any more."""
    state.audit.journal.begin(begin(call_id))
    assert await state.keys.of("acme").claim(claim_of(call_id), intent_of(call_id)) is None


def told(state_dir: Path) -> list[tuple[str, str]]:
    """The calls with a line, and what it says."""
    values = [item.value for item in tail(audit_directory(state_dir))]
    return [(value["call_id"], value["outcome"]) for value in values if value and value["kind"] == "call"]


async def test_a_first_start_makes_everything_that_is_needed(tmp_path: Path) -> None:
    """The directory, the database in it at the newest schema, and room for the tenants of the settings."""
    async with opened(settings_of(tmp_path / "state", "acme"), FakeClock()) as state:
        assert (state.recovered, await state.every_tenant()) == (0, ["acme"])
        assert state.writer.startswith(f"{state.audit.writer}.")
        assert await state.keys.of("acme").look("k") is None


async def test_each_process_has_a_name_of_its_own(tmp_path: Path) -> None:
    """The directory's writer stays the same; what the store calls the process does not."""
    settings, names = settings_of(tmp_path / "state", "acme"), set()
    for _start in range(2):
        async with opened(settings, FakeClock()) as state:
            names.add((state.audit.writer, state.writer))
    assert len({writer for writer, _ in names}) == 1
    assert len({process for _, process in names}) == 2


async def test_g15_a_call_that_was_cut_off_has_its_line_before_anything_is_served(tmp_path: Path) -> None:
    """Its effect is unknown, and its key stays taken."""
    settings, clock = settings_of(tmp_path / "state", "acme"), FakeClock()
    async with opened(settings, clock) as state:
        await cut_off(state)
    async with opened(settings, clock) as state:
        assert state.recovered == 1
        known = await state.keys.of("acme").look("key-c1")
        assert known is not None
        assert known.standing is Standing.UNKNOWN
    assert told(settings.state_dir) == [("c1", "unknown")]
    async with opened(settings, clock) as state:
        assert state.recovered == 0


async def test_what_a_gateway_left_that_is_gone_is_closed_by_another(tmp_path: Path) -> None:
    """Once its lease is over, and not before."""
    store, clock = await sqlite_settings(tmp_path), FakeClock()
    first, second = (settings_of(tmp_path / name, "acme", store=store) for name in ("s1", "s2"))
    async with opened(first, clock) as state:
        await cut_off(state)
    async with opened(second, clock) as state:
        await state.look_after_others()
        assert told(second.state_dir) == []
        clock.advance(GONE)
        await state.look_after_others()
        await state.look_after_others()
        await state.forget_old()
    assert told(second.state_dir) == [("c1", "unknown")]


async def test_a_second_gateway_does_not_start_and_lets_go_of_everything(tmp_path: Path) -> None:
    """The first one goes on; when it is gone the directory is free."""
    settings = settings_of(tmp_path / "state", "acme")
    async with opened(settings, FakeClock()):
        with pytest.raises(StartError, match="another gateway uses"):
            async with opened(settings, FakeClock()):
                pass
    async with opened(settings, FakeClock()) as state:
        assert state.recovered == 0


async def test_a_file_of_sqlite_is_one_gateways(tmp_path: Path) -> None:
    """Also when each has a state directory of its own: each would take itself for the only one."""
    store = await sqlite_settings(tmp_path)
    first, second = (settings_of(tmp_path / name, "acme", store=store) for name in ("s1", "s2"))
    async with opened(first, FakeClock()):
        with pytest.raises(StartError, match="another gateway uses"):
            async with opened(second, FakeClock()):
                pass
    async with opened(second, FakeClock()) as state:
        assert state.recovered == 0


async def test_the_last_words_are_what_the_store_has_not_heard(tmp_path: Path) -> None:
    """And the lines that waited for that: the next start finds nothing to tell."""
    settings, clock = settings_of(tmp_path / "state", "acme"), FakeClock()
    async with opened(settings, clock) as state:
        await cut_off(state)
        keys, claim = state.keys.of("acme"), claim_of("c1")
        keys._owe(claim, keys._finished(claim, None), is_final=True)
        state.late.wait(line("c1"), lambda: keys.whose(claim))
    assert told(settings.state_dir) == [("c1", "ok")]
    async with opened(settings, clock) as state:
        assert state.recovered == 0


@pytest.mark.parametrize("before", [("acme",), ()])
async def test_sqlite_holds_one_tenant(tmp_path: Path, before: tuple[str, ...]) -> None:
    """A second one is a sentence that says what to use instead, whether it is in the file or in the settings."""
    state_dir = tmp_path / "state"
    if before:
        async with opened(settings_of(state_dir, *before), FakeClock()):
            pass
    wanted = ("other",) if before else ("acme", "other")
    with pytest.raises(StartError, match="use PostgreSQL for several"):
        async with opened(settings_of(state_dir, *wanted), FakeClock()):
            pass


async def test_a_store_that_does_not_answer_starts_nothing(tmp_path: Path) -> None:
    """One sentence, and the state directory is free again."""
    nobody = StoreSettings(url="postgresql://127.0.0.1:9/none", user="x", timeout_ms=200)
    state_dir = tmp_path / "state"
    with pytest.raises(StartError, match="nothing is served without it"):
        async with opened(settings_of(state_dir, "acme", store=nobody), FakeClock()):
            pass
    async with opened(settings_of(state_dir, "acme"), FakeClock()) as state:
        assert state.recovered == 0
