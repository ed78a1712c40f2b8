"""The second revision secures every table that the first makes."""

from gateway.store.migrations.versions import r0002_isolation, r0003_access_tokens, r0004_events
from gateway.store.schema import TENANT_TABLES


def test_no_table_is_forgotten() -> None:
    """A table that a later revision adds is secured by that one, and this list stays as it is."""
    assert {*r0002_isolation.TABLES, r0003_access_tokens.TABLE, *r0004_events.TABLES} == set(TENANT_TABLES)
