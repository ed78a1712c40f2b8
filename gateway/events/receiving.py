"""A delivery of somebody who says to be a vendor becomes an event that is kept, or is refused.

Absence cannot be probed: where there is no door the same work is done at another one, and thrown away, and who has
proved nothing is told nothing: not what is down, nor how much the vendor delivers. What is proved is answered well
only when it is durable; otherwise its vendor is to ask again.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import orjson

from adapters.base import Secret
from adapters.webhooks import Delivery, DeliveryRefused, Event, Greeting
from gateway.admission import Take
from gateway.credentials.base import Lent
from gateway.errors import Reason, Refusal
from gateway.events.base import Lends, Told
from gateway.events.doors import Door, Doors
from gateway.events.heads import Heads
from gateway.events.kept import KeptEvents, NotKept
from gateway.metrics.events import Received
from gateway.rows import Connection, Rate
from gateway.telemetry import Log

SECRET_SECONDS = 30.0
"""For how long a secret is borrowed at most."""
LEND_SECONDS = 5.0
"""How long is waited for it."""
MIN_SECRET_CHARACTERS = 8
THREAD_BYTES = 64 * 1024
"""A larger body is hashed and read beside the loop."""
SUBJECT_CHARACTERS = 1024
_ID = re.compile(r"[\x20-\x7e]{1,128}")
_KIND = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")
_KIND_CHARACTERS = 128
_END_OF_TIME = 253402300800.0
"""The year 10000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What became of a delivery, and what its sender is told beside that."""

    result: Received
    is_proved: bool = False
    """Whether its sender knows the secret. Whoever does not must not learn what became of it."""
    wait_seconds: float = 0.0
    """Of one that is too many: after how long there is room again."""
    greeting: Greeting | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiveParts:
    """What a `Receiver` works with."""

    doors: Doors
    lends: Callable[[], Lends]
    """Who resolves references under the settings of the moment."""
    kept: KeptEvents
    heads: Heads
    take: Take
    rate: Rate
    """Of the deliveries of one connection that are proved. What is not proved takes nothing of it: anybody could keep a
    vendor out, and would learn how much it delivers.
    """
    log: Log


class Receiver:
    """Receives what is delivered."""

    def __init__(self, parts: ReceiveParts) -> None:
        self._parts = parts

    async def receive(self, tenant: str, name: str, delivery: Delivery, peer: str) -> Reply:
        """What became of it. When it is kept, or was before, that is durable."""
        door = self._parts.doors.find(tenant, name)
        if door is not None:
            return await self._received(door, delivery, peer)
        stand_in = self._parts.doors.in_place_of(tenant, name)
        if stand_in is not None:
            await self._understood(stand_in, delivery)  # the work of a door, and nothing comes of it
        self._parts.log.limited("delivery_refused", fault=Received.UNKNOWN.value, peer=peer)
        return Reply(result=Received.UNKNOWN)

    async def _received(self, door: Door, delivery: Delivery, peer: str) -> Reply:
        connection = door.connection
        told = await self._understood(door, delivery)
        if isinstance(told, Received) and told is not Received.IGNORED:
            reply = Reply(result=told)
        else:
            reply = await self._taken(connection, told)
        if reply.result not in _GOOD:
            self._parts.log.limited(
                "delivery_refused",
                tenant=connection.tenant,
                connection=connection.name,
                fault=reply.result.value,
                peer=peer,
            )
        return reply

    async def _taken(self, connection: Connection, told: Told | Greeting | Received) -> Reply:
        """What becomes of one that is proved."""
        key = ("delivery", connection.tenant, connection.name)
        short, seconds = await self._parts.take(((key, self._parts.rate),))
        if short >= 0:
            return Reply(result=Received.RATE, is_proved=True, wait_seconds=max(seconds, 1.0))
        if isinstance(told, Greeting):
            return Reply(result=Received.GREETED, is_proved=True, greeting=told)
        result = await self._keep(connection, told) if isinstance(told, Told) else told
        return Reply(result=result, is_proved=True)

    async def _understood(self, door: Door, delivery: Delivery) -> Told | Greeting | Received:
        """What it says, if it is signed; otherwise why it is not used."""
        connection = door.connection
        try:
            lent = await self._lent(connection)
        except Refusal as refusal:
            return self._no_secret(connection, refusal)
        secrets = _secrets(lent)
        try:
            return await self._read(door, delivery, secrets) if secrets else self._no_secret(connection, _TOO_SHORT)
        except DeliveryRefused as refused:
            return Received(refused.fault.value)
        except Exception as error:  # noqa: BLE001 - it broke its contract, and whoever sent this gets no hint of it
            self._parts.log.failure("delivery_failed", error, tenant=connection.tenant, connection=connection.name)
            return Received.FAILED
        finally:
            for secret in secrets:
                secret.drop()
            lent.end()

    async def _lent(self, connection: Connection) -> Lent:
        """The secrets. Raises `Refusal`."""
        try:
            async with asyncio.timeout(LEND_SECONDS):
                return await self._parts.lends().lend(
                    connection.tenant, connection.webhook_secret, connection.target.hosts, seconds=SECRET_SECONDS
                )
        except TimeoutError as late:
            raise _TOO_LATE from late

    async def _read(self, door: Door, delivery: Delivery, secrets: Sequence[Secret]) -> Told | Greeting | Received:
        """What it says. Raises `DeliveryRefused`."""
        receive = door.webhooks.receive
        if len(delivery.body) > THREAD_BYTES:
            said = await asyncio.to_thread(receive, delivery, secrets)
        else:
            said = receive(delivery, secrets)
        return (
            _told(door.connection, said, delivery.received_at) if isinstance(said, Event) else said or Received.IGNORED
        )

    def _no_secret(self, connection: Connection, refusal: Refusal) -> Received:
        """What is not there, or not allowed, is as no door at all; what cannot be asked is asked again."""
        is_settled = refusal.reason in (Reason.CREDENTIAL_MISSING, Reason.CREDENTIAL_NOT_ALLOWED)
        self._parts.log.limited(
            "webhook_secret_unusable",
            "error",
            tenant=connection.tenant,
            connection=connection.name,
            reason=refusal.reason.value,
        )
        return Received.UNVERIFIABLE if is_settled else Received.UNAVAILABLE

    async def _keep(self, connection: Connection, told: Told) -> Received:
        try:
            number = await self._parts.kept.keep(connection.tenant, told)
        except NotKept as failure:
            self._parts.log.limited("event_not_kept", "error", connection=connection.name, why=str(failure))
            return Received.UNAVAILABLE
        self._parts.heads.moved(connection.tenant, number)
        return Received.KEPT if number else Received.REPEATED


def _secrets(lent: Lent) -> tuple[Secret, ...]:
    """One of each line, so that the old one is good beside the new one while a secret is changed. What anybody could
    guess is none.
    """
    lines = [line.strip() for secret in lent.secrets for line in secret.reveal().splitlines()]
    return tuple(Secret(line) for line in lines if len(line) >= MIN_SECRET_CHARACTERS)


_GOOD = frozenset({Received.KEPT, Received.REPEATED, Received.IGNORED, Received.GREETED})
_TOO_LATE = Refusal(Reason.CREDENTIAL_UNAVAILABLE, "The secret did not come in time.")
_TOO_SHORT = Refusal(Reason.CREDENTIAL_MISSING, "The secret is too short to prove anything.")


def _told(connection: Connection, event: Event, received_at: float) -> Told | Received:
    """The event as it is kept; `MALFORMED` for one that does not keep to its contract."""
    try:
        data_json = orjson.dumps(event.data)
    except (orjson.JSONEncodeError, RecursionError):
        return Received.MALFORMED
    is_named = _ID.fullmatch(event.id) and _KIND.fullmatch(event.kind) and len(event.kind) <= _KIND_CHARACTERS
    if not is_named or not data_json.startswith(b"{"):
        return Received.MALFORMED
    at = event.occurred_at
    return Told(
        id=event.id,
        connection=connection.name,
        vendor=connection.vendor,
        kind=event.kind,
        subject=event.subject[:SUBJECT_CHARACTERS].encode("utf-8", "replace").decode(),
        occurred_at=at if at is not None and 0 <= at < _END_OF_TIME else None,
        received_at=received_at,
        data_json=data_json,
    )
