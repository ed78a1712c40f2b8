"""Gateways without a path: a journal and lines on a disk in memory, and keys in a real store."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson

from fakes.audit import opened as opened_audit
from fakes.clock import FakeClock
from fakes.files import Disk
from fakes.lines import begin, line, result
from fakes.seal import FakeSeal
from gateway.audit.aftermath import Aftermath
from gateway.audit.late import LateLines
from gateway.audit.open import Audit
from gateway.audit.reading import lines_after
from gateway.call import Whose
from gateway.idempotency.base import Claim
from gateway.idempotency.store import StoreKeys, TenantKeys
from gateway.settings.store import StoreSettings
from gateway.store.database import Database

TENANT = "acme"


def claim_of(call_id: str, key: str = "") -> Claim:
    """The claim of a call, under a key of its own when none is given."""
    return Claim(key=key or f"key-{call_id}", call_id=call_id, effect_id=call_id, arguments_digest="sha256:aa")


def intent_of(call_id: str) -> bytes:
    """What the store keeps of it."""
    return orjson.dumps(begin(call_id)._asdict() | {"effect_id": call_id, "side_effect": "send"})


@dataclass
class Process:
    """One process of one gateway."""

    disk: Disk
    audit: Audit
    database: Database
    store: StoreKeys
    aftermath: Aftermath
    late: LateLines

    @property
    def keys(self) -> TenantKeys:
        """The tenant's."""
        return self.store.of(TENANT)

    async def recover(self) -> int:
        """What a start does before anything else: how many calls got their line."""
        return await self.aftermath.own(self.audit.cut_off, [TENANT])

    async def send(self, call_id: str, happened: str = "yes", key: str = "") -> None:
        """A whole send, as the path does it."""
        self.audit.journal.begin(begin(call_id))
        await self.audit.journal.sync()
        claim = claim_of(call_id, key)
        assert await self.keys.claim(claim, intent_of(call_id)) is None
        await self.end(claim, happened)

    async def end(self, claim: Claim, happened: str) -> None:
        """The end of one: the store hears of it, then its line is written."""
        keys = self.keys
        match happened:
            case "yes":
                whose = await keys.settle(claim, result())
            case "no":
                whose = await keys.release(claim)
            case _:
                whose = await keys.leave_unknown(claim)
        outcome = "ok" if happened == "yes" else "unknown"
        ended = line(claim.call_id, happened=happened, outcome=outcome)
        if whose is Whose.UNTOLD:
            self.late.wait(ended, lambda: keys.whose(claim))
        else:
            await self.late.put(ended, whose)


@contextlib.asynccontextmanager
async def process(
    disk: Disk, settings: StoreSettings, clock: FakeClock, *, writer: str = "w1", boot: str = "1", **changes: Any
) -> AsyncIterator[Process]:
    """A process over this disk and this store; nothing of its own is closed in order, as when it is killed."""
    audit = opened_audit(disk, clock, writer=writer, **changes)
    database = Database(settings, clock)
    try:
        yield Process(
            disk=disk,
            audit=audit,
            database=database,
            store=StoreKeys(database, writer=f"{writer}.{boot}", clock=clock, seal=FakeSeal()),
            aftermath=Aftermath(
                journal=audit.journal,
                sink=audit.sink,
                database=database,
                family=writer,
                writer=f"{writer}.{boot}",
                clock=clock,
                find_lines=lambda call_ids: [
                    one for one in lines_after(audit.line_files, 0) if one["call_id"] in call_ids
                ],
            ),
            late=LateLines(audit.journal, audit.sink),
        )
    finally:
        await database.close()
