"""What the gateway's role may do, and nothing more."""

import pytest

from gateway.errors import StartError
from gateway.store.grants import check_name, grants, roles
from gateway.store.schema import APPEND_ONLY, TENANT_TABLES


def test_every_table_is_granted_and_none_may_be_truncated() -> None:
    """TRUNCATE knows no row-level security."""
    said = grants("app")
    assert said[0].startswith("REVOKE ALL ON ")
    granted = {one.split(" ON ")[1].split(" TO ")[0] for one in said[1:]}
    assert granted == {*TENANT_TABLES, "alembic_version"}
    assert not any("TRUNCATE" in one for one in said)


@pytest.mark.parametrize("table", sorted(APPEND_ONLY))
def test_what_only_grows_may_only_grow(table: str) -> None:
    """No UPDATE, no DELETE."""
    assert f"GRANT SELECT, INSERT ON {table} TO app" in grants("app")


def test_neither_role_passes_by_the_policies() -> None:
    """Nor has a password that somebody else knows."""
    made = [one for one in roles("owner", "app") if one.startswith("CREATE ROLE")]
    assert all("NOSUPERUSER NOBYPASSRLS" in one and "PASSWORD" not in one for one in made)


@pytest.mark.parametrize("name", ["", "App", "a b", 'a"; DROP', "1a", "a" * 64])
def test_a_name_that_sql_would_not_take_is_refused(name: str) -> None:
    """It stands in statements as it is."""
    with pytest.raises(StartError, match="cannot be a role here"):
        check_name(name)
