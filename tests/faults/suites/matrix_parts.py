"""What the gateways of the fail-closed matrix stand beside."""

import asyncio
import atexit
import contextlib
import functools
import secrets
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from fakes.effects import vendor
from fakes.production import SECOND, Backing, backing, production_settings
from fakes.relay import AtMark, HttpNonsense, Nonsense, RedisNonsense, Relay, postgres_error
from faults.suites import matrix_cells as cells
from faults.suites.accounts import EFFECTS
from faults.suites.matrix_breaks import MARK, Breakable, Disk, Relayed, Table
from faults.suites.matrix_rows import matrix_rows, put_rows
from real.postgres import Postgres, postgres
from real.stores import postgres_settings

from gateway.settings.approvals import ApprovalSettings
from gateway.settings.load import Settings
from gateway.settings.parts import RegistrySettings
from gateway.settings.sealing import SealingSettings
from gateway.settings.store import StoreSettings

SLOW_SECONDS = 2.5
"""How late a slow answer is."""
STALE_SECONDS = 2.0
"""For how long the registry may not have been heard."""
STORE_MS = 1500
"""How long the store may take: less than `SLOW_SECONDS`, as all deadlines here are, and enough for a busy machine."""
PATIENCE_SECONDS = 0.8
"""Deadlines of policy, limiter and vault."""
AT_ONCE = 4
"""How many gateways run at the same time."""
TABLES = {cells.DATABASE: "idempotency", cells.APPROVALS: "approvals"}
"""By part, the table whose rows the store is broken at: a claim, a parked call."""
_POLICY = """default decision := {"effect": "deny", "reasons": [{"code": "bad"}], "obligations": []}

said := concat("", [object.get(input.arguments, name, "") | some name in ["path", "text", "body"]])

decision := {"effect": "allow", "reasons": [], "obligations": []} if startswith(said, "good")

decision := {"effect": "require_approval", "reasons": [], "obligations": []} if startswith(said, "ask")
"""
_PARKED_AT_MOST = 10_000
_FAILED = "500 Internal Server Error"


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


@dataclass(frozen=True)
class Placed:
    """A gateway's place: its settings, its vendor's address, and the part of it that is to be broken."""

    settings: Settings
    vendor: str
    part: Breakable


@contextlib.asynccontextmanager
async def placed(part: str, folder: Path, beside: Servers) -> AsyncIterator[Placed]:
    """For a gateway in the folder, with a relay before everything that it asks."""
    places: Mapping[str, tuple[str, Nonsense]] = {
        "opa": (beside.backing.opa.url, HttpNonsense(b'{"code":"internal_error"}', status=_FAILED)),
        "vault": (f"127.0.0.1:{beside.backing.bao.port}", HttpNonsense(b'{"errors":[]}', status=_FAILED)),
        "limiter": (f"unix:{beside.backing.valkey_socket}", RedisNonsense(b"-ERR no such luck\r\n")),
        "vendor": (f"unix:{beside.vendor}", HttpNonsense(b"{}", status=_FAILED)),
    }
    relays = {name: Relay(target, fails, slow_seconds=SLOW_SECONDS) for name, (target, fails) in places.items()}
    async with contextlib.AsyncExitStack() as stack:
        for name, relay in relays.items():
            await stack.enter_async_context(
                relay.listening(f"unix:{folder / 'o.sock'}" if name == "opa" else "127.0.0.1:0")
            )
        settings = _settings(part, folder, beside, relays)
        breakable: Breakable = Disk(folder)
        if part in beside.stores:
            store, breakable = await _over_postgres(part, beside, stack)
            settings = settings.model_copy(update={"store": store, "sealing": _sealing(folder)})
        elif part != cells.JOURNAL:
            names = {cells.POLICY: "opa", cells.ADAPTER: "vendor"}
            breakable = Relayed(relays[names.get(part, part)])
        yield Placed(settings, relays["vendor"].address, breakable)


async def _over_postgres(
    part: str, beside: Servers, stack: contextlib.AsyncExitStack
) -> tuple[StoreSettings, Breakable]:
    """The part's database, behind a relay, and what breaks it."""
    settings = beside.stores[part]
    if part == cells.REGISTRY:
        await put_rows(settings)
    host, port, name = settings.server
    at_mark = AtMark(f"{host}:{port}", MARK.encode(), slow_seconds=SLOW_SECONDS)
    relay = at_mark if part in TABLES else Relay(f"{host}:{port}", postgres_error, slow_seconds=SLOW_SECONDS)
    await stack.enter_async_context(relay.listening("127.0.0.1:0"))
    behind = settings.model_copy(update={"url": f"postgresql://{relay.address}/{name}"})
    if part in TABLES:
        return behind, await asyncio.to_thread(Table, beside.postgres, name, TABLES[part], at_mark)
    return behind, Relayed(relay)


def _settings(part: str, folder: Path, beside: Servers, relays: dict[str, Relay]) -> Settings:
    usual = production_settings(folder, beside.backing, relays)
    assert usual.vault is not None
    (rows,) = usual.registry.paths
    rows.write_bytes(orjson.dumps(matrix_rows()))
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
        changes["registry"] = RegistrySettings(source="store", max_stale_seconds=STALE_SECONDS)
    return usual.model_copy(update=changes)


def _sealing(folder: Path) -> SealingSettings:
    key = folder / "seal.key"
    key.touch(0o600)
    key.write_text(secrets.token_hex(32) + "\n")
    return SealingSettings(key_file=key)
