"""Rows of the registry in the store (`tests/contract/test_registry_rows.py` has what both databases do)."""

from pathlib import Path

import pytest
from real.stores import opened, sqlite_settings

from gateway.errors import Refused
from gateway.store import rows
from gateway.store.columns import moment_of
from gateway.store.rows import TO_PUT, NewRow, RowKind, StoredRow


def test_connections_are_put_before_the_tools_that_point_at_them() -> None:
    """Of every kind there is."""
    assert set(TO_PUT) == set(RowKind)
    assert TO_PUT.index(RowKind.CONNECTION) < TO_PUT.index(RowKind.TOOL)


def test_a_document_is_not_shown() -> None:
    """It may hold what a person should not have written."""
    stored = StoredRow(
        kind=RowKind.TOOL, name="x", version=1, document=b"hunter2", updated_by="ann", updated_at=moment_of(0)
    )
    new = NewRow(kind=RowKind.TOOL, name="x", document=b"hunter2", by="ann", at=moment_of(0))
    assert "hunter2" not in repr(stored) + repr(new)
    assert stored.label == "tool/x"


async def test_a_refusal_says_which_row_and_what_to_do(tmp_path: Path) -> None:
    """In one sentence without its content."""
    row = NewRow(kind=RowKind.AGENT, name="helper", document=b"hunter2", by="ann", at=moment_of(0))
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        await rows.create(session, row.kind, [row])
        with pytest.raises(Refused) as caught:
            await rows.create(session, row.kind, [row])
    assert caught.value.message == (
        "The agent helper is at version 1 and should not be there; look at it again before you change it."
    )
