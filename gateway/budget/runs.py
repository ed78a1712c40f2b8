"""Runs that a trusted runtime opens: what the user asked for, and what caps "per run" count by."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field

from adapters.base import Clock
from gateway.budget.base import OpenRun
from gateway.errors import Reason, Refusal, Refused, RefusedKind
from gateway.store import runs as rows
from gateway.store.columns import moment_of
from gateway.store.database import Database
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.sealing import Seal, SealBroken

LONGEST_SECONDS = 24 * 60 * 60
"""A run is open for a day at most, and when it does not say."""
MOST_REMEMBERED = 10_000
ABSENT_SECONDS = 1.0
"""How long a run that is not there is taken not to be there."""

_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """An open run, as whoever opened it sees it."""

    run_id: str
    agent: str
    intent: str = field(repr=False)
    """The user's words."""
    opened_by: str
    opened_at: float
    """Seconds since the epoch."""
    expires_at: float


def intent_digest(intent: str) -> str:
    """What is written down of an intent in the open."""
    return f"sha256:{hashlib.sha256(intent.encode('utf-8', 'surrogatepass')).hexdigest()}"


class Runs:
    """The runs of every tenant. An open run stays open until its time is over, so it is remembered that long."""

    def __init__(self, database: Database, *, clock: Clock, seal: Seal, most_remembered: int = MOST_REMEMBERED) -> None:
        self._database = database
        self._clock = clock
        self._seal = seal
        self._most = most_remembered
        self._remembered: OrderedDict[_Key, tuple[OpenRun | None, float]] = OrderedDict()
        """Each with the moment until which it is good; who was asked for last stands last."""

    async def is_open(self, tenant: str, agent: str, run_id: str) -> bool:
        """Whether the run was opened and is not over. Raises `Refusal(store_unavailable)` when nobody knows."""
        return await self.find(tenant, agent, run_id) is not None

    async def find(self, tenant: str, agent: str, run_id: str) -> OpenRun | None:
        """The run, while it is open. Raises `Refusal(store_unavailable)` when nobody knows."""
        key, now = (tenant, agent, run_id), self._clock.now()
        found, until = self._remembered.get(key, (None, 0.0))
        if now < until:
            self._remembered.move_to_end(key)
            return found
        try:
            async with self._database.tenant(tenant, is_read=True) as session:
                row = await rows.find(session, agent, run_id, moment_of(now))
        except (StoreDown, StoreRefused) as failure:
            raise _unknown(failure) from failure
        return self._remember(key, None if row is None else _open(row), now)

    async def open(self, tenant: str, run: Run) -> Run:
        """The run is open, once this returns, for every replica; or it was already, with the same content.

        Raises `Refused`: `conflict` when it is open with another intent or for another time; `unavailable` when
        nobody knows whether it is.
        """
        try:
            sealed = await self._seal.seal(tenant, _place(run.agent, run.run_id), run.intent.encode())
            async with self._database.tenant(tenant) as session:
                kept = await rows.put(session, _row(run, sealed))
        except (SealBroken, StoreDown, StoreRefused) as failure:
            raise _unavailable() from failure
        self._remember((tenant, run.agent, run.run_id), _open(kept), self._clock.now())
        if kept.intent_digest != intent_digest(run.intent) or _lasts(_open(kept)) != _lasts(run):
            raise Refused(RefusedKind.CONFLICT, "This run is open with another intent or for another time.")
        return _told(kept, run.intent)

    async def get(self, tenant: str, agent: str, run_id: str) -> Run:
        """The run, while it is open. Raises `Refused`: `not_found`, or `unavailable`."""
        try:
            async with self._database.tenant(tenant, is_read=True) as session:
                row = await rows.find(session, agent, run_id, moment_of(self._clock.now()))
            if row is None:
                raise Refused(RefusedKind.NOT_FOUND, "There is no such run, or it is over.")
            intent = await self._seal.open(tenant, _place(agent, run_id), row.intent)
        except (SealBroken, StoreDown, StoreRefused) as failure:
            raise _unavailable() from failure
        return _told(row, intent.decode())

    def _remember(self, key: _Key, run: OpenRun | None, now: float) -> OpenRun | None:
        self._remembered[key] = (run, now + ABSENT_SECONDS if run is None else run.expires_at)
        self._remembered.move_to_end(key)
        if len(self._remembered) > self._most:
            self._remembered.popitem(last=False)
        return run


def _place(agent: str, run_id: str) -> str:
    return f"run:{agent}/{run_id}"


def _row(run: Run, sealed: bytes) -> rows.RunRow:
    return rows.RunRow(
        agent=run.agent,
        run_id=run.run_id,
        intent=sealed,
        intent_digest=intent_digest(run.intent),
        opened_by=run.opened_by,
        opened_at=moment_of(run.opened_at),
        expires_at=moment_of(run.expires_at),
    )


def _open(row: rows.RunRow) -> OpenRun:
    return OpenRun(run_id=row.run_id, opened_at=row.opened_at.timestamp(), expires_at=row.expires_at.timestamp())


def _lasts(run: OpenRun | Run) -> int:
    return round(run.expires_at - run.opened_at)


def _told(row: rows.RunRow, intent: str) -> Run:
    return Run(
        run_id=row.run_id,
        agent=row.agent,
        intent=intent,
        opened_by=row.opened_by,
        opened_at=row.opened_at.timestamp(),
        expires_at=row.expires_at.timestamp(),
    )


def _unknown(failure: StoreDown | StoreRefused) -> Refusal:
    return Refusal(
        Reason.STORE_UNAVAILABLE,
        "Whether this run is open cannot be looked up now, and nothing was done. Try again later.",
        fault=failure.fault if isinstance(failure, StoreDown) else None,
    )


def _unavailable() -> Refused:
    return Refused(RefusedKind.UNAVAILABLE, "The runs cannot be read or written now. Ask again later.")
