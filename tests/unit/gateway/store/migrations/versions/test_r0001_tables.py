"""The first revision makes what `schema.py` says, in the parts that Alembic does not compare as well."""

from pathlib import Path

from real.stores import opened, sqlite_settings
from sqlalchemy import Connection, create_engine, inspect

from gateway.store.columns import metadata
from gateway.store.schema import TENANT_TABLES


def _rules(connection: Connection) -> dict[str, object]:
    """Of every table: its checks, and which rows its indexes are over."""
    found = inspect(connection)
    return {
        name: (
            sorted((check["name"], check["sqltext"]) for check in found.get_check_constraints(name)),
            sorted(
                (index["name"], str(index.get("dialect_options", {}).get("sqlite_where")))
                for index in found.get_indexes(name)
            ),
        )
        for name in TENANT_TABLES
    }


async def test_checks_and_partial_indexes_are_those_of_the_schema(tmp_path: Path) -> None:
    """Word for word."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection)
        wanted = _rules(connection)
    engine.dispose()
    async with opened(await sqlite_settings(tmp_path)) as database, database.nobody() as plain:
        assert await plain.run(_rules) == wanted
