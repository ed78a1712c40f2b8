"""The registry of the fail-closed matrix: in a file, or in the store."""

from typing import Any

import orjson
from fakes.production import production_rows
from real.stores import CLOCK, opened

from gateway.registry.written import LISTS, document_of
from gateway.settings.store import StoreSettings
from gateway.store import rows as store_rows
from gateway.store.columns import moment_of
from gateway.store.rows import NewRow, RowKind

CALL_MS = 1000
"""How long the vendor may take: less than a slow one takes."""


def matrix_rows() -> dict[str, Any]:
    """The usual ones, a send whose credential is in the vault, and a vendor that has to be quick."""
    rows = production_rows()
    mail = next(row for row in rows["tools"] if row["name"] == "mail")
    sealed = next(row for row in rows["tools"] if row["name"] == "note_sealed")
    binding = {**sealed["binding"], "operation": "send"}
    rows["tools"].append({**mail, "name": "mail_sealed", "binding": binding})
    rows["agents"][0]["tools"].append("mail_sealed")
    for row in rows["tools"]:
        row["timeout_ms"] = CALL_MS
    return rows


async def put_rows(settings: StoreSettings) -> None:
    """The registry is in this store."""
    found = matrix_rows()
    async with opened(settings) as database, database.tenant("acme") as session:
        now = moment_of(CLOCK.now())
        for kind in (RowKind.CONNECTION, RowKind.TOOL, RowKind.AGENT):  # a tool names its connection
            documents = [(row, document_of(orjson.dumps(row), kind, row["name"], "acme")) for row in found[LISTS[kind]]]
            rows = [
                NewRow(kind=kind, name=row["name"], document=raw, connection=_bound_to(row), by="ann", at=now)
                for row, raw in documents
            ]
            await store_rows.create(session, kind, rows)
        await store_rows.raise_version(session)


def _bound_to(row: dict[str, Any]) -> str:
    """The connection of a tool; nothing of any other row."""
    return str(row.get("binding", {}).get("connection", ""))
