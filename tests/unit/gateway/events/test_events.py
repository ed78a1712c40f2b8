"""Everything together: delivered, kept, told, forgotten."""

from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.credentials import FakeSource
from fakes.events import SECRET, FakeWebhooks, catalogue_of, event_body, headers_of, subscriber, tracker
from fakes.grants import HOSTS
from fakes.principals import principal
from fakes.seal import FakeSeal
from real.stores import opened, sqlite_settings

from adapters.webhooks import Delivery
from gateway.credentials.resolver import Resolver
from gateway.errors import Refused
from gateway.events.events import EventMeans, Events
from gateway.events.interest import Asked
from gateway.metrics.events import Received
from gateway.settings.events import EventSettings
from gateway.settings.parts import CredentialGrant
from gateway.telemetry import configure


async def test_a_delivery_reaches_who_watches(tmp_path: Path) -> None:
    """And is forgotten in time; then nobody watches any more."""
    clock, catalogue = FakeClock(), catalogue_of([subscriber("*")], [tracker()])
    grant = CredentialGrant(tenant="acme", references=("env:*",), hosts=HOSTS)
    async with opened(await sqlite_settings(tmp_path)) as database:
        means = EventMeans(
            database=database,
            seal=FakeSeal(),
            catalogue=lambda: catalogue,
            webhooks={"tracker": FakeWebhooks()},
            lends=lambda: Resolver({"env": FakeSource({"TRACKER": SECRET})}, [grant]),
            check=lambda _: None,
            most_in_all=10,
            clock=clock,
            log=configure("error"),
        )
        events = Events(means, EventSettings(address="unix:e", retain_seconds=60))
        stream = events.watching.watch(principal(), Asked(), after="", from_oldest=False)
        first = await anext(stream)
        body = event_body()
        delivery = Delivery(headers=headers_of(body), body=body, received_at=clock.now())
        assert (await events.receiver.receive("acme", "tracker", delivery, "")).result is Received.KEPT
        seen = await anext(stream)
        assert seen.event is not None
        assert seen.event.id == "v1"
        clock.advance(61)
        await events.forget(["acme"])
        events.drain()
        with pytest.raises(Refused):
            await anext(stream)
        later = Events(means, events.settings).watching.watch(
            principal(), Asked(), after=first.cursor, from_oldest=False
        )
        assert (await anext(later)).missed
        await later.aclose()
