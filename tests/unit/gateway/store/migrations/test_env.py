"""Alembic's environment, by what comes out of it: tables on a connection, and SQL without one."""

from gateway.store.migrating import as_sql


def test_without_a_connection_it_writes_sql_for_postgresql() -> None:
    """With nothing left to fill in."""
    said = as_sql(owner="own", app_role="app")
    assert "BYTEA" in said
    assert "BEGIN;" in said
    assert "INSERT INTO alembic_version (version_num) VALUES ('0001')" in said
    assert "%(" not in said
