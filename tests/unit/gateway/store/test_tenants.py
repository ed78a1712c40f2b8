"""Whose rows there are."""

from pathlib import Path

from real.stores import opened, sqlite_settings

from gateway.store import tenants


async def test_a_tenant_is_known_once_it_was_admitted(tmp_path: Path) -> None:
    """Nobody before."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        async with database.nobody() as session:
            assert await tenants.known(session) == []
        await database.admit("acme")
        async with database.nobody() as session:
            assert await tenants.known(session) == ["acme"]
