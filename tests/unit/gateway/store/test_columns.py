"""Times are in UTC whatever the database makes of them, and constraints are named alike."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy.dialects import postgresql, sqlite

from gateway.store.columns import Moment, metadata, moment_of

POSTGRESQL, SQLITE = postgresql.dialect(), sqlite.dialect()
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("dialect", [POSTGRESQL, SQLITE], ids=["postgresql", "sqlite"])
def test_a_time_comes_back_as_it_was(dialect: postgresql.base.PGDialect) -> None:
    """In UTC, from whatever zone it was given in."""
    given = NOON.astimezone(timezone(timedelta(hours=5)))
    stored = Moment().process_bind_param(given, dialect)
    back = Moment().process_result_value(stored, dialect)
    assert back == NOON
    assert back is not None
    assert back.tzinfo is UTC


def test_sqlite_is_given_no_zone() -> None:
    """It compares times as text: all must look alike."""
    assert Moment().process_bind_param(NOON, SQLITE) == datetime(2026, 1, 1, 12)  # noqa: DTZ001 - that is the point


def test_no_time_stays_none() -> None:
    """Both ways."""
    assert Moment().process_bind_param(None, SQLITE) is None
    assert Moment().process_result_value(None, SQLITE) is None


def test_a_time_without_a_zone_is_refused() -> None:
    """Nobody knows when that is."""
    with pytest.raises(ValueError, match="without a zone"):
        Moment().process_bind_param(datetime(2026, 1, 1), SQLITE)  # noqa: DTZ001 - that is the point


def test_seconds_become_a_time() -> None:
    """In UTC."""
    assert moment_of(NOON.timestamp()) == NOON


def test_no_two_constraints_of_a_table_share_a_name() -> None:
    """Though every one starts with the tenant."""
    for table in metadata.tables.values():
        names = [str(thing.name) for thing in (*table.constraints, *table.indexes)]
        assert len(set(names)) == len(names)
        assert all(0 < len(name) <= 63 for name in names)
