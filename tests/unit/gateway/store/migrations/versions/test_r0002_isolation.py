"""The second revision secures every table that the first makes."""

from gateway.store.migrations.versions import r0002_isolation
from gateway.store.schema import TENANT_TABLES


def test_no_table_is_forgotten() -> None:
    """A table that a later revision adds is secured by that one, and this list stays as it is."""
    assert set(r0002_isolation.TABLES) == set(TENANT_TABLES)
