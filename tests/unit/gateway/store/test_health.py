"""The health of accounts, in the store (`tests/contract/test_registry_rows.py` has what both databases do)."""

from pathlib import Path

from real.stores import opened, sqlite_settings

from gateway.store import health, rows
from gateway.store.columns import moment_of
from gateway.store.rows import NewRow, RowKind


async def test_it_is_no_change_of_the_registry(tmp_path: Path) -> None:
    """Neither of the row's version nor of what replicas watch."""
    row = NewRow(kind=RowKind.CONNECTION, name="mail", document=b"{}", by="ann", at=moment_of(0))
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        await rows.create(session, row.kind, [row])
        await health.succeeded(session, "mail", moment_of(1))
        await health.failed(session, "mail", moment_of(2), "vendor_refused", needs_authorisation=False)
        found = await rows.get(session, RowKind.CONNECTION, "mail")
        assert found is not None
        assert (found.version, await rows.version(session)) == (1, 0)
