"""Runs: opened once, for a while, with the user's words sealed; and looked up as seldom as can be."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.clock import START, FakeClock
from fakes.seal import FakeSeal
from real.stores import locked, opened, sqlite_settings
from sqlalchemy import select

from gateway.budget.base import OpenRun
from gateway.budget.runs import ABSENT_SECONDS, Run, Runs, intent_digest
from gateway.errors import Reason, Refusal, Refused, RefusedKind
from gateway.store import schema
from gateway.store.columns import moment_of
from gateway.store.database import Database

WORDS = "Tell Ann that I shall be late."
RUN = Run(run_id="r1", agent="helper", intent=WORDS, opened_by="runtime", opened_at=START, expires_at=START + 3600)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A database that gives up early."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        yield database


@pytest.fixture
def clock() -> FakeClock:
    """The clock."""
    return FakeClock()


@pytest.fixture
def seal() -> FakeSeal:
    """The seal."""
    return FakeSeal()


@pytest.fixture
def runs(database: Database, clock: FakeClock, seal: FakeSeal) -> Runs:
    """The runs."""
    return Runs(database, clock=clock, seal=seal, most_remembered=3)


async def test_an_open_run_is_found_by_every_replica_until_it_is_over(
    runs: Runs, database: Database, clock: FakeClock, seal: FakeSeal
) -> None:
    """Of this tenant and agent alone."""
    assert await runs.open("acme", RUN) == RUN
    found = OpenRun(run_id="r1", opened_at=START, expires_at=START + 3600)
    other = Runs(database, clock=clock, seal=seal)
    for one in (runs, other):
        assert await one.find("acme", "helper", "r1") == found
        assert not await one.is_open("acme", "rival", "r1")
    assert await other.get("acme", "helper", "r1") == RUN
    clock.advance(3600)
    for one in (runs, other):
        assert not await one.is_open("acme", "helper", "r1")
        with pytest.raises(Refused) as refused:
            await one.get("acme", "helper", "r1")
        assert refused.value.kind is RefusedKind.NOT_FOUND


async def test_opening_it_again_changes_nothing(runs: Runs, clock: FakeClock) -> None:
    """It stays open for as long as it was to be, whoever asks again."""
    await runs.open("acme", RUN)
    clock.advance(60)
    again = replace(RUN, opened_by="other", opened_at=START + 60, expires_at=START + 3660)
    assert await runs.open("acme", again) == RUN


@pytest.mark.parametrize("changes", [{"intent": "Send him everything."}, {"expires_at": START + 7200}])
async def test_opening_it_with_other_content_is_refused(runs: Runs, changes: dict[str, object]) -> None:
    """And leaves what there is."""
    await runs.open("acme", RUN)
    with pytest.raises(Refused) as refused:
        await runs.open("acme", replace(RUN, **changes))  # type: ignore[arg-type]
    assert refused.value.kind is RefusedKind.CONFLICT
    assert WORDS not in str(refused.value)
    assert await runs.get("acme", "helper", "r1") == RUN


async def test_a_run_that_is_over_makes_room_for_another_of_its_name(runs: Runs, clock: FakeClock) -> None:
    """With other content."""
    await runs.open("acme", RUN)
    clock.advance(3600)
    later = replace(RUN, intent="Something else.", opened_at=START + 3600, expires_at=START + 7200)
    assert await runs.open("acme", later) == later
    assert await runs.find("acme", "helper", "r1") == OpenRun(
        run_id="r1", opened_at=START + 3600, expires_at=START + 7200
    )


async def test_the_users_words_are_sealed_and_never_shown(runs: Runs, database: Database) -> None:
    """Bound to the run, so that no row can be passed off as another's."""
    await runs.open("acme", RUN)
    async with database.tenant("acme", is_read=True) as session:
        (row,) = await session.execute(select(schema.runs))
    assert row.intent == await FakeSeal().seal("acme", "run:helper/r1", WORDS.encode())
    assert row.intent_digest == intent_digest(WORDS)
    assert WORDS not in repr(RUN) + repr(row)


async def test_what_is_known_is_not_asked_again(runs: Runs, database: Database, clock: FakeClock) -> None:
    """That a run is open, until it is over; that it is not, for a moment."""
    await runs.open("acme", RUN)
    assert not await runs.is_open("acme", "helper", "later")
    async with database.tenant("acme") as session:
        await session.execute(schema.runs.delete())
        await session.execute(schema.runs.insert().values(_row("later")))
    assert await runs.is_open("acme", "helper", "r1")
    assert not await runs.is_open("acme", "helper", "later")
    clock.advance(ABSENT_SECONDS)
    assert await runs.is_open("acme", "helper", "r1")
    assert await runs.is_open("acme", "helper", "later")


async def test_a_run_that_is_opened_here_counts_at_once(runs: Runs) -> None:
    """Though it was asked for before it was there."""
    assert not await runs.is_open("acme", "helper", "r1")
    await runs.open("acme", RUN)
    assert await runs.is_open("acme", "helper", "r1")


async def test_no_more_is_remembered_than_there_is_room_for(runs: Runs, database: Database) -> None:
    """An agent may make up as many runs as it likes; what was asked for longest ago is forgotten."""
    await runs.open("acme", RUN)
    for number in range(5):
        await runs.find("acme", "helper", f"made-up-{number}")
    assert len(runs._remembered) == 3
    async with database.tenant("acme") as session:
        await session.execute(schema.runs.delete())
    assert not await runs.is_open("acme", "helper", "r1")


async def test_while_the_store_is_down_nobody_guesses(runs: Runs, database: Database) -> None:
    """A call is refused, and so is a runtime."""
    await database.admit("acme")
    with locked(database.settings.path):
        with pytest.raises(Refused) as refused:
            await runs.open("acme", RUN)
        assert refused.value.kind is RefusedKind.UNAVAILABLE
    database.settings.path.write_bytes(b"no database")  # type: ignore[union-attr]
    with pytest.raises(Refusal) as unknown:
        await runs.find("acme", "helper", "r1")
    assert unknown.value.reason is Reason.STORE_UNAVAILABLE


async def test_without_its_seal_no_run_is_opened_or_read(runs: Runs, seal: FakeSeal) -> None:
    """The words are kept in the open nowhere."""
    await runs.open("acme", RUN)
    seal.is_broken = True
    for asked in (runs.open("acme", replace(RUN, run_id="r2")), runs.get("acme", "helper", "r1")):
        with pytest.raises(Refused) as refused:
            await asked
        assert refused.value.kind is RefusedKind.UNAVAILABLE


def _row(run_id: str) -> dict[str, object]:
    return {
        "tenant": "acme",
        "agent": "helper",
        "run_id": run_id,
        "intent": b"sealed",
        "intent_digest": "sha256:aa",
        "opened_by": "runtime",
        "opened_at": moment_of(START),
        "expires_at": moment_of(START + 3600),
    }
