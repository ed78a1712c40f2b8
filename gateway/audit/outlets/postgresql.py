"""The table `audit_lines`: every line as it was written, in its tenant's rows."""

from collections.abc import Sequence

import orjson

from gateway.audit.outlets.base import OutletDown
from gateway.audit.reading import Written
from gateway.store.audit_lines import HeldLine, hold
from gateway.store.database import Database
from gateway.store.failures import StoreDown, StoreRefused


class PostgresqlOutlet:
    """`Outlet` to a database, as a role that can insert and read. A line that is there already is not written twice."""

    name = "postgresql"
    takes_all = True

    def __init__(self, database: Database, *, is_own: bool = False) -> None:
        """A database that `is_own` is this outlet's to close."""
        self.rejected = 0
        self._database = database
        self._is_own = is_own

    async def deliver(self, lines: Sequence[Written]) -> None:
        """All are in the table, a transaction for each tenant. Raises `OutletDown`, also when the table holds other
        lines under their numbers: then another gateway writes under this one's name.
        """
        by_tenant: dict[str, list[HeldLine]] = {}
        for line in lines:
            row = _row(line.raw)
            by_tenant.setdefault(row.tenant, []).append(row)
        try:
            for tenant, rows in by_tenant.items():
                async with self._database.tenant(tenant) as session:
                    if wrong := await hold(session, rows):
                        raise OutletDown(f"the table holds another line {wrong} of this gateway's writer")
        except (StoreDown, StoreRefused) as error:
            raise OutletDown(str(error)) from error

    async def close(self) -> None:
        """Close the connections, when they are its own."""
        if self._is_own:
            await self._database.close()


def _row(raw: bytes) -> HeldLine:
    value = orjson.loads(raw)
    return HeldLine(
        tenant=value["tenant"],
        writer=value["writer"],
        seq=value["tenant_seq"],
        line_seq=value["seq"],
        hash=value["hash"],
        line=raw,
    )
