"""Events in the store: sealed on their way in, opened on their way out, forgotten in time."""

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import orjson

from adapters.base import Clock, Fault
from gateway.errors import Reason, Refusal
from gateway.events.base import CUT, LABELS, Told
from gateway.settings.events import EventSettings
from gateway.store import events as rows
from gateway.store.columns import moment_of
from gateway.store.database import Database, Session
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.sealing import Seal, SealBroken, SealDown

AT_ONCE = 500
"""Rows that one transaction forgets."""
MOST_TURNS = 20
"""Transactions of one tenant before the next one's turn."""
DATA_BYTES = 256 * 1024
"""Of the data of one event; what is larger is left out. A client takes no message beyond 4 MiB."""


class NotKept(Exception):  # noqa: N818 - named for what it is
    """The event is not in the store, as far as anybody knows: keeping it again is right. One sentence for operators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Some events, and whether one of those that were asked for is not kept any more, or cannot be opened."""

    events: tuple[tuple[int, Told], ...]
    """With their numbers, in their order."""
    has_lost: bool


class KeptEvents:
    """The events of every tenant."""

    def __init__(self, database: Database, *, seal: Seal, clock: Clock, settings: EventSettings) -> None:
        self._database = database
        self._seal = seal
        self._clock = clock
        self._settings = settings

    async def keep(self, tenant: str, event: Told) -> int:
        """The event's number, once it is durable; 0 for one that was kept before. Raises `NotKept`."""
        try:
            content = await self._seal.seal(tenant, _place(event.connection, event.id), _packed(event))
            arrived = rows.Arrived(
                connection=event.connection,
                event_id=event.id,
                vendor=event.vendor,
                kind=event.kind,
                occurred_at=None if event.occurred_at is None else moment_of(event.occurred_at),
                received_at=moment_of(event.received_at),
                content=content,
            )
            return await self._database.run(tenant, lambda session: rows.keep(session, arrived))
        except (StoreDown, StoreRefused, SealBroken) as failure:
            raise NotKept(str(failure)) from failure

    async def head(self, tenant: str) -> rows.Head:
        """How far the tenant's events go. Raises `Refusal(store_unavailable)`."""
        with unavailable():
            return await self._database.run(tenant, rows.head, is_read=True)

    async def page(self, tenant: str, after: int, connections: Collection[str], limit: int) -> rows.Page:
        """The first events above `after` of these connections, without their content. Raises the same."""
        with unavailable():
            return await self._database.run(
                tenant, lambda session: rows.page(session, after, connections, limit), is_read=True
            )

    async def read(self, tenant: str, numbers: Sequence[int]) -> Read:
        """These events whole. Raises the same."""
        with unavailable():
            found = await self._database.run(tenant, lambda session: rows.read(session, numbers), is_read=True)
            opened = [(number, await self._opened(tenant, found[number])) for number in numbers if number in found]
        events = tuple((number, told) for number, told in opened if told is not None)
        return Read(events=events, has_lost=len(events) < len(numbers))

    async def forget(self, tenants: Iterable[str]) -> None:
        """Let go of what is too old, or too much. Raises `StoreDown` and `StoreRefused`; the rest goes next time."""
        for tenant in tenants:
            for _ in range(MOST_TURNS):
                if not await self._forget_some(tenant):
                    break

    async def _forget_some(self, tenant: str) -> bool:
        """Whether there may be more."""
        now, settings = self._clock.now(), self._settings
        before, unknown_before = moment_of(now - settings.retain_seconds), moment_of(now - settings.remember_seconds)

        async def forget(session: Session) -> int:
            gone = await rows.forget(session, before=before, most=settings.most_kept, limit=AT_ONCE)
            return max(gone, await rows.forget_ids(session, unknown_before, AT_ONCE))

        return await self._database.run(tenant, forget) >= AT_ONCE

    async def _opened(self, tenant: str, row: rows.Arrived) -> Told | None:
        """None for one that does not open any more. Raises `SealDown`."""
        try:
            content = await self._seal.open(tenant, _place(row.connection, row.event_id), row.content)
        except SealDown:
            raise
        except SealBroken:
            return None
        labels, subject, data_json = _unpacked(content)
        return Told(
            id=row.event_id,
            connection=row.connection,
            vendor=row.vendor,
            kind=row.kind,
            subject=subject,
            occurred_at=None if row.occurred_at is None else row.occurred_at.timestamp(),
            received_at=row.received_at.timestamp(),
            data_json=data_json,
            labels=labels,
        )


def _place(connection: str, event_id: str) -> str:
    """No connection has a slash in its name, so no two places are written the same."""
    return f"events/{connection}/{event_id}"


def _packed(event: Told) -> bytes:
    """A line of JSON, which holds no line break, and the data as it is."""
    is_cut = len(event.data_json) > DATA_BYTES
    ahead = {"subject": event.subject, "is_cut": is_cut}
    return orjson.dumps(ahead) + b"\n" + (b"{}" if is_cut else event.data_json)


def _unpacked(content: bytes) -> tuple[tuple[str, ...], str, bytes]:
    ahead, _, data_json = content.partition(b"\n")
    known = orjson.loads(ahead)
    return (*LABELS, CUT) if known["is_cut"] else LABELS, known["subject"], data_json


@contextlib.contextmanager
def unavailable() -> Iterator[None]:
    """Whatever fails in here is told to an agent in one way."""
    try:
        yield
    except (StoreDown, StoreRefused, SealBroken) as failure:
        fault = failure.fault if isinstance(failure, StoreDown) else Fault.ERROR
        message = "The events cannot be read now. Watch again in a moment, from the last cursor that you got."
        raise Refusal(Reason.STORE_UNAVAILABLE, message, fault=fault) from failure
