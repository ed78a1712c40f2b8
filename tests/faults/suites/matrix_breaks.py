"""How each part of a gateway of the fail-closed matrix is broken and mended."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from fakes.relay import AtMark, Relay, Way
from faults.suites import matrix_cells as cells
from faults.suites.matrix_faults import WAY
from real.postgres import Postgres

MARK = "here it is broken"
"""What the server says where the relay is to break what it says."""
RELAYED: Mapping[str, Way] = {
    cells.REFUSE: Way.REFUSE,
    cells.HANG: Way.HANG,
    cells.SLOW: Way.SLOW,
    cells.GARBAGE: Way.GARBAGE,
    cells.ERROR: Way.NONSENSE,
    cells.RESET: Way.RESET,
}
SAYS = {
    # What a server says that was made a replica, and one whose disk is full.
    cells.REFUSE: "RAISE EXCEPTION 'cannot execute INSERT in a read-only transaction' USING ERRCODE = '25006'",
    cells.ERROR: "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'",
}


class Breakable(Protocol):
    """A part of one gateway."""

    async def turn(self, way: str) -> None:
        """From now on it is broken in this way; well again when there is none."""
        ...


class Relayed:
    """A server behind a relay."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    async def turn(self, way: str) -> None:
        """See `Breakable`."""
        await self._relay.turn(RELAYED[way] if way else Way.PASS)


class Disk:
    """The journal's, in the gateway's own process."""

    def __init__(self, folder: Path) -> None:
        self._switch = folder / WAY

    async def turn(self, way: str) -> None:
        """See `Breakable`."""
        self._switch.write_text(way)
        if not way:
            self._switch.unlink()


class Table:
    """One table of the store. The server itself refuses or fails, and what the relay breaks it is told by a notice."""

    def __init__(self, server: Postgres, database: str, table: str, relay: AtMark) -> None:
        self._server = server
        self._database = database
        self._relay = relay
        self._put(
            "RETURN NEW", f"CREATE TRIGGER broken BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION broken()"
        )

    async def turn(self, way: str) -> None:
        """See `Breakable`."""
        does = SAYS.get(way, f"RAISE NOTICE '{MARK}'; RETURN NEW" if way else "RETURN NEW")
        await asyncio.to_thread(self._put, does)
        await self._relay.turn(Way.PASS if way in SAYS or not way else RELAYED[way])

    def _put(self, does: str, *more: str) -> None:
        function = f"CREATE OR REPLACE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {does}; END$$"
        self._server.sql(function, *more, database=self._database)
