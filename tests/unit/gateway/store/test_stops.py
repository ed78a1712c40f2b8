"""What is stopped, in the store (`tests/contract/test_registry_rows.py` has what both databases do)."""

from pathlib import Path

import pytest
from real.stores import opened, sqlite_settings

from gateway.store import stops
from gateway.store.columns import moment_of
from gateway.store.failures import StoreRefused
from gateway.store.schema import stops as table
from gateway.store.stops import Stop, StopScope


def test_every_scope_is_one_that_the_table_takes() -> None:
    """The constraint names the same."""
    (rule,) = [one for one in table.constraints if str(one.name).endswith("scope_known")]
    assert all(f"'{scope}'" in str(rule.sqltext) for scope in StopScope)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("scope", "name"), [(StopScope.TENANT, "acme"), (StopScope.TOOL, "")])
async def test_only_the_tenant_has_no_name(tmp_path: Path, scope: StopScope, name: str) -> None:
    """The database itself refuses the others."""
    stop = Stop(scope=scope, name=name, reason="a leak", set_by="ann", set_at=moment_of(0))
    async with opened(await sqlite_settings(tmp_path)) as database:
        with pytest.raises(StoreRefused):
            async with database.tenant("acme") as session:
                await stops.put(session, stop)
