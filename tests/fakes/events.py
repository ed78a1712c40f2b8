"""Events for tests: rows of the store, and a vendor's webhooks that say what a test wants."""

import asyncio
import contextlib
import hashlib
import hmac
import io
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from real.stores import opened

from adapters.base import Secret, Target
from adapters.webhooks import REPLAY_SECONDS, Delivery, DeliveryRefused, Event, Fault, Greeting
from fakes.clock import START, FakeClock
from fakes.credentials import FakeSource
from fakes.grants import HOSTS
from fakes.limiter import FakeLimiter
from fakes.principals import principal
from fakes.rows import agent, connection
from fakes.seal import FakeSeal
from gateway.call import Principal
from gateway.clock import SystemClock
from gateway.credentials.resolver import Resolver
from gateway.errors import Refusal
from gateway.events.base import Told
from gateway.events.cursors import Cursors
from gateway.events.doors import Doors
from gateway.events.heads import Heads
from gateway.events.interest import Asked
from gateway.events.kept import KeptEvents
from gateway.events.receiving import ReceiveParts, Receiver
from gateway.events.watching import Seen, Watching, WatchParts
from gateway.metrics.counts import Metrics
from gateway.metrics.events import Received
from gateway.registry.catalogue import Catalogue, View
from gateway.rows import Agent, Connection, Rate, Subscription
from gateway.settings.events import EventSettings
from gateway.settings.parts import CredentialGrant
from gateway.settings.store import StoreSettings
from gateway.store.columns import moment_of
from gateway.store.database import Database
from gateway.store.events import Arrived
from gateway.telemetry import configure

SECRET = "whsec-3f9a71c2"


def arrived(event_id: str = "v1", **changes: Any) -> Arrived:
    """An event that is to be kept, changed as asked."""
    usual: dict[str, Any] = {
        "connection": "tracker",
        "vendor": "tracker",
        "kind": "issue.opened",
        "occurred_at": None,
        "received_at": moment_of(START),
        "content": b"sealed",
    }
    return Arrived(event_id=event_id, **{**usual, **changes})


class FakeWebhooks:
    """`Webhooks`: the body is signed under `x-signature` with the moment of `x-moment`, and is the event as JSON, or
    `{"challenge": "…"}`, or `{}`. `failure` is raised in the place of an answer, once the signature was found good.
    """

    kinds: Sequence[str] = ("issue.opened", "issue.closed", "comment.created")

    def __init__(self) -> None:
        self.received = 0
        self.revealed: list[str] = []
        """What the secrets revealed."""
        self.failure: Exception | None = None

    def receive(self, delivery: Delivery, secrets: Sequence[Secret]) -> Event | Greeting | None:
        """See `Webhooks`."""
        self.received += 1
        values = [secret.reveal() for secret in secrets]
        self.revealed += values
        moment, given = delivery.headers.get("x-moment", ""), delivery.headers.get("x-signature", "")
        if not moment or not given:
            raise DeliveryRefused(Fault.UNSIGNED)
        if not any(hmac.compare_digest(given, signed(delivery.body, moment, value)) for value in values):
            raise DeliveryRefused(Fault.FORGED)
        if abs(delivery.received_at - float(moment)) > REPLAY_SECONDS:
            raise DeliveryRefused(Fault.STALE)
        if self.failure is not None:
            raise self.failure
        return _told(delivery.body)


def _told(body: bytes) -> Event | Greeting | None:
    try:
        told = orjson.loads(body)
    except ValueError as error:
        raise DeliveryRefused(Fault.MALFORMED) from error
    if "challenge" in told:
        return Greeting(body=told["challenge"].encode())
    return Event(**told) if told else None


def event_body(event_id: str = "v1", **changes: Any) -> bytes:
    """The body of an event that `FakeWebhooks` understands."""
    usual: dict[str, Any] = {
        "kind": "issue.opened",
        "occurred_at": START - 1,
        "subject": "acme/shop#12",
        "data": {"title": "It is broken"},
    }
    return orjson.dumps({"id": event_id, **usual, **changes})


def signed(body: bytes, moment: str, secret: str = SECRET) -> str:
    """The vendor's signature."""
    return hmac.new(secret.encode(), moment.encode() + b"." + body, hashlib.sha256).hexdigest()


def headers_of(body: bytes, *, at: float = START, secret: str = SECRET) -> Mapping[str, str]:
    """The headers of a delivery that was signed then."""
    return {"x-moment": str(at), "x-signature": signed(body, str(at), secret)}


def catalogue_of(
    agents: Sequence[Agent] = (), connections: Sequence[Connection] = (), digest: str = "sha256:00"
) -> Catalogue:
    """A registry without tools."""
    return Catalogue(
        agents={(one.tenant, one.name): (one, View(())) for one in agents},
        tools=(),
        connections=tuple(connections),
        digest=digest,
    )


def tracker(**changes: Any) -> Connection:
    """A connection whose vendor delivers."""
    usual: dict[str, Any] = {
        "name": "tracker",
        "vendor": "tracker",
        "webhook_secret": "env:TRACKER",
        "target": Target(name="tracker", account="acme/tracker", hosts=HOSTS),
    }
    return connection(**{**usual, **changes})


def subscriber(*kinds: str, of: str = "tracker", **changes: Any) -> Agent:
    """An agent that gets these kinds of events."""
    return agent(events=(Subscription(connection=of, kinds=kinds),) if kinds else (), **changes)


def told(event_id: str = "v1", **changes: Any) -> Told:
    """An event as it is kept."""
    usual: dict[str, Any] = {
        "connection": "tracker",
        "vendor": "tracker",
        "kind": "issue.opened",
        "subject": "acme/shop#12",
        "occurred_at": START - 1,
        "received_at": START,
        "data_json": b'{"title":"It is broken"}',
    }
    return Told(id=event_id, **{**usual, **changes})


@dataclass
class Post:
    """Everything between a delivery and those who watch, over a real store."""

    database: Database
    clock: FakeClock = field(default_factory=FakeClock)
    seal: FakeSeal = field(default_factory=FakeSeal)
    source: FakeSource = field(default_factory=lambda: FakeSource({"TRACKER": SECRET, "SHOP": "whsec-shop"}))
    webhooks: FakeWebhooks = field(default_factory=FakeWebhooks)
    limiter: FakeLimiter = field(default_factory=FakeLimiter)
    metrics: Metrics = field(default_factory=Metrics)
    catalogue: Catalogue = field(default_factory=lambda: catalogue_of([subscriber("*")], [tracker()]))
    halted: Refusal | None = None
    settings: EventSettings = field(default_factory=lambda: EventSettings(address="unix:e"))
    most_in_all: int = 1000
    sign_seconds: float = 60.0
    stream: io.StringIO = field(default_factory=io.StringIO)

    def __post_init__(self) -> None:
        grants = [CredentialGrant(tenant=tenant, references=("env:*",), hosts=HOSTS) for tenant in ("acme", "rival")]
        self.log = configure("info", self.stream)
        self.kept = KeptEvents(self.database, seal=self.seal, clock=self.clock, settings=self.settings)
        self.heads = Heads(self._number, clock=SystemClock(), poll_seconds=0.02)
        self.cursors = Cursors(self.seal)
        self.watching = Watching(
            WatchParts(
                kept=self.kept,
                heads=self.heads,
                cursors=self.cursors,
                catalogue=lambda: self.catalogue,
                check=self._check,
                clock=self.clock,
                most_watchers=self.settings.most_watchers,
                most_in_all=self.most_in_all,
            ),
            sign_seconds=self.sign_seconds,
        )
        self.receiver = Receiver(
            ReceiveParts(
                doors=Doors(lambda: self.catalogue, {"tracker": self.webhooks}),
                lends=lambda: Resolver({"env": self.source}, grants),
                kept=self.kept,
                heads=self.heads,
                take=self.limiter.take,
                rate=Rate(per_minute=self.settings.rate.per_minute, burst=self.settings.rate.burst),
                log=self.log,
            )
        )

    async def keep(self, event_id: str = "v1", *, tenant: str = "acme", **changes: Any) -> int:
        """Keep an event, as this replica does that got it."""
        number = await self.kept.keep(tenant, told(event_id, **changes))
        self.heads.moved(tenant, number)
        return number

    async def deliver(
        self, body: bytes, headers: Mapping[str, str] | None = None, *, to: str = "acme/tracker"
    ) -> Received:
        """Have it received; well signed when no headers are given."""
        delivery = Delivery(
            headers=headers_of(body) if headers is None else headers, body=body, received_at=self.clock.now()
        )
        tenant, _, name = to.partition("/")
        return (await self.receiver.receive(tenant, name, delivery, "")).result

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What was logged."""
        return [orjson.loads(line) for line in self.stream.getvalue().splitlines()]

    def watch(self, who: Principal | None = None, *, asked: Asked | None = None, **more: Any) -> "Stream":
        """Begin to watch."""
        usual = {"after": "", "from_oldest": False}
        return Stream(self.watching.watch(who or principal(), asked or Asked(), **{**usual, **more}))

    async def _number(self, tenant: str) -> int:
        return (await self.kept.head(tenant)).number

    def _check(self, _who: Principal) -> None:
        if self.halted is not None:
            raise self.halted


class Stream:
    """One who watches."""

    def __init__(self, watched: AsyncGenerator[Seen, None]) -> None:
        self._watched = watched

    async def next(self) -> Seen:
        """The next answer, which comes within five seconds."""
        async with asyncio.timeout(5):
            return await anext(self._watched)

    async def ids(self, count: int) -> list[str]:
        """The ids of so many events, whatever else is said in between."""
        found: list[str] = []
        while len(found) < count:
            if (event := (await self.next()).event) is not None:
                found.append(event.id)
        return found

    async def close(self) -> None:
        """Watch no longer."""
        await self._watched.aclose()


@contextlib.asynccontextmanager
async def post_over(store: StoreSettings, **changes: Any) -> AsyncIterator[Post]:
    """A post over this store."""
    async with opened(store) as database:
        yield Post(database, **changes)
