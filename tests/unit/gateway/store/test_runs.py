"""The rows of runs. `tests/unit/gateway/budget/test_runs.py` says what is built on them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from fakes.claims import LATER, NOW
from real.stores import opened, sqlite_settings
from sqlalchemy import select

from gateway.store import runs, schema
from gateway.store.database import Session

RUN = runs.RunRow(
    agent="helper",
    run_id="r1",
    intent=b"sealed-bytes",
    intent_digest="sha256:aa",
    opened_by="runtime",
    opened_at=NOW,
    expires_at=LATER,
)


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A transaction."""
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        yield session


async def test_a_run_is_there_until_its_time_is_over(session: Session) -> None:
    """To the moment, and under its agent's name alone."""
    assert await runs.find(session, "helper", "r1", NOW) is None
    assert await runs.put(session, RUN) == RUN
    assert await runs.find(session, "helper", "r1", LATER - timedelta(microseconds=1)) == RUN
    assert await runs.find(session, "helper", "r1", LATER) is None
    assert await runs.find(session, "other", "r1", NOW) is None


async def test_the_first_stays_until_it_is_over(session: Session) -> None:
    """Who puts another of its name is given the first."""
    await runs.put(session, RUN)
    late = replace(RUN, intent=b"other", opened_at=LATER - timedelta(seconds=1), expires_at=LATER + timedelta(days=1))
    assert await runs.put(session, late) == RUN
    in_time = replace(late, opened_at=LATER)
    assert await runs.put(session, in_time) == in_time


async def test_purging_takes_what_is_over_and_nothing_else(session: Session) -> None:
    """Rows that nobody can find any more."""
    await runs.put(session, RUN)
    await runs.put(session, replace(RUN, run_id="r2", expires_at=LATER + timedelta(seconds=1)))
    await runs.purge(session, LATER)
    assert list((await session.execute(select(schema.runs.c.run_id))).scalars()) == ["r2"]


def test_an_intent_is_not_shown() -> None:
    """Not even sealed."""
    assert "sealed-bytes" not in repr(RUN)
