"""What the gateways of the fail-closed matrix stand beside, and how each of it is broken and mended."""

import asyncio
import atexit
import contextlib
import functools
import secrets
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import orjson
from fakes.effects import vendor
from fakes.production import SECOND, Backing, backing, production_rows, production_settings
from fakes.relay import AtMark, HttpNonsense, RedisNonsense, Relay, Way, postgres_error
from faults.suites import matrix_cells as cells
from faults.suites.accounts import EFFECTS
from faults.suites.matrix_faults import WAY
from real.postgres import Postgres, postgres
from real.stores import postgres_settings

from gateway.settings.approvals import ApprovalSettings
from gateway.settings.load import Settings
from gateway.settings.parts import RegistrySettings
from gateway.settings.sealing import SealingSettings
from gateway.settings.store import StoreSettings

MARK = "here it is broken"
STALE_SECONDS = 2.0
"""For how long the registry may not have been heard."""
CALL_MS = 700
"""How long the vendor may take: less than `fakes.relay.SLOW_SECONDS`, and than the store may take, as all do."""
STORE_MS = 800
PATIENCE_SECONDS = 0.6
"""Deadlines of policy, limiter and vault."""
AT_ONCE = 4
"""How many gateways run at the same time."""
TABLES = {cells.DATABASE: "idempotency", cells.APPROVALS: "approvals"}
"""By part, the table whose rows the store is broken at: a claim, a parked call."""
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
_POLICY = """default decision := {"effect": "deny", "reasons": [{"code": "bad"}], "obligations": []}

said := concat("", [object.get(input.arguments, name, "") | some name in ["path", "text", "body"]])

decision := {"effect": "allow", "reasons": [], "obligations": []} if startswith(said, "good")

decision := {"effect": "require_approval", "reasons": [], "obligations": []} if startswith(said, "ask")
"""
_PARKED_AT_MOST = 10_000
_FAILED = "500 Internal Server Error"


class Breakable(Protocol):
    """A part of one gateway."""

    async def turn(self, way: str) -> None:
        """From now on it is broken in this way; well again when there is none."""
        ...


@dataclass(frozen=True)
class Servers:
    """The real servers, which all gateways share."""

    backing: Backing
    postgres: Postgres
    stores: Mapping[str, StoreSettings]
    """A database for each part that is missed in one."""
    vendor: Path
    """The vendor's socket."""
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    """Every part has its deadline, and all gateways at once would miss theirs on a small machine."""


@contextlib.asynccontextmanager
async def servers(folder: Path) -> AsyncIterator[Servers]:
    """All of them, with databases and a vendor of their own for the gateways in the folder; OPA decides by the matrix's
    policy soon.
    """
    made, database = await asyncio.to_thread(_running)
    # One after the other: the first is what the others are copied from.
    stores = {part: await postgres_settings(database, timeout_ms=STORE_MS) for part in (cells.REGISTRY, *TABLES)}
    socket = folder / "v.sock"
    async with vendor(socket, folder / EFFECTS):
        yield Servers(made, database, stores, socket)


@functools.cache
def _running() -> tuple[Backing, Postgres]:
    """Started once, until the process ends: the mutant's gateways stand beside the same, and a start takes long."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    made = stack.enter_context(backing(Path(stack.enter_context(tempfile.TemporaryDirectory()))))
    made.opa.service.bundle = made.bundle_of(_POLICY, SECOND)
    return made, stack.enter_context(postgres())


class _Relayed:
    """A server behind a relay."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    async def turn(self, way: str) -> None:
        await self._relay.turn(RELAYED[way] if way else Way.PASS)


class _Disk:
    """The journal's, in the gateway's own process."""

    def __init__(self, folder: Path) -> None:
        self._switch = folder / WAY

    async def turn(self, way: str) -> None:
        self._switch.write_text(way)
        if not way:
            self._switch.unlink()


class _Table:
    """One table of the store. The server itself refuses or fails, and what the relay breaks it is told by a notice."""

    def __init__(self, server: Postgres, database: str, table: str, relay: AtMark) -> None:
        self._server = server
        self._database = database
        self._relay = relay
        self._put(
            "RETURN NEW", f"CREATE TRIGGER broken BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION broken()"
        )

    async def turn(self, way: str) -> None:
        does = SAYS.get(way, f"RAISE NOTICE '{MARK}'; RETURN NEW" if way else "RETURN NEW")
        await asyncio.to_thread(self._put, does)
        await self._relay.turn(Way.PASS if way in SAYS or not way else RELAYED[way])

    def _put(self, does: str, *more: str) -> None:
        function = f"CREATE OR REPLACE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {does}; END$$"
        self._server.sql(function, *more, database=self._database)


@dataclass(frozen=True)
class Placed:
    """A gateway's place: its settings, its vendor's address, and the part of it that is to be broken."""

    settings: Settings
    vendor: str
    part: Breakable


@contextlib.asynccontextmanager
async def placed(part: str, folder: Path, beside: Servers) -> AsyncIterator[Placed]:
    """For a gateway in the folder, with a relay before everything that it asks."""
    relays = {
        "opa": Relay(beside.backing.opa.url, HttpNonsense(b'{"code":"internal_error"}', status=_FAILED)),
        "vault": Relay(f"127.0.0.1:{beside.backing.bao.port}", HttpNonsense(b'{"errors":[]}', status=_FAILED)),
        "limiter": Relay(f"unix:{beside.backing.valkey_socket}", RedisNonsense(b"-ERR no such luck\r\n")),
        "vendor": Relay(f"unix:{beside.vendor}", HttpNonsense(b"{}", status=_FAILED)),
    }
    async with contextlib.AsyncExitStack() as stack:
        for name, relay in relays.items():
            await stack.enter_async_context(
                relay.listening(f"unix:{folder / 'o.sock'}" if name == "opa" else "127.0.0.1:0")
            )
        settings = _settings(part, folder, beside, relays)
        breakable: Breakable = _Disk(folder)
        if part in beside.stores:
            store, breakable = await _over_postgres(part, beside, stack)
            settings = settings.model_copy(update={"store": store, "sealing": _sealing(folder)})
        elif part != cells.JOURNAL:
            names = {cells.POLICY: "opa", cells.ADAPTER: "vendor"}
            breakable = _Relayed(relays[names.get(part, part)])
        yield Placed(settings, relays["vendor"].address, breakable)


async def _over_postgres(
    part: str, beside: Servers, stack: contextlib.AsyncExitStack
) -> tuple[StoreSettings, Breakable]:
    """The part's database, behind a relay, and what breaks it."""
    settings = beside.stores[part]
    host, port, name = settings.server
    at_mark = AtMark(f"{host}:{port}", MARK.encode())
    relay = at_mark if part in TABLES else Relay(f"{host}:{port}", postgres_error)
    await stack.enter_async_context(relay.listening("127.0.0.1:0"))
    behind = settings.model_copy(update={"url": f"postgresql://{relay.address}/{name}"})
    if part in TABLES:
        return behind, await asyncio.to_thread(_Table, beside.postgres, name, TABLES[part], at_mark)
    return behind, _Relayed(relay)


def _settings(part: str, folder: Path, beside: Servers, relays: dict[str, Relay]) -> Settings:
    usual = production_settings(folder, beside.backing, relays)
    assert usual.vault is not None
    (rows,) = usual.registry.paths
    rows.write_bytes(orjson.dumps(_rows()))
    opa, redis = usual.policy.opa, usual.limits.redis
    assert opa is not None
    assert redis is not None
    patient = {"timeout_ms": PATIENCE_SECONDS * 1000}
    changes: dict[str, Any] = {
        "policy": usual.policy.model_copy(update={"opa": opa.model_copy(update=patient)}),
        "limits": usual.limits.model_copy(update={"redis": redis.model_copy(update=patient)}),
        # A credential that was read lasts for its second, and not one moment longer.
        "vault": usual.vault.model_copy(update={"max_stale_seconds": 0.0, **patient}),
        "approvals": ApprovalSettings(most_open_per_agent=_PARKED_AT_MOST),
    }
    if part == cells.REGISTRY:
        changes["registry"] = RegistrySettings(paths=(rows,), max_stale_seconds=STALE_SECONDS)
    return usual.model_copy(update=changes)


def _rows() -> dict[str, Any]:
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


def _sealing(folder: Path) -> SealingSettings:
    key = folder / "seal.key"
    key.touch(0o600)
    key.write_text(secrets.token_hex(32) + "\n")
    return SealingSettings(key_file=key)
