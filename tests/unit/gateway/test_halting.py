"""Operators stop calls, and a write needs to know that they have not."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

import pytest
from fakes.path import Road, road

from gateway.call import Surface
from gateway.errors import Reason, Refusal
from gateway.halting import Halting
from gateway.registry.follower import RegistryFollower
from gateway.registry.stops import Stops
from gateway.store.stops import Stop, StopScope


@dataclass
class KnownStops:
    """What a follower knows; while it is not fresh, that is not to be relied on."""

    stops: Stops = field(default_factory=Stops)
    is_fresh: bool = True
    asked: list[str] = field(default_factory=list)

    def check(self, tenant: str) -> None:
        """Whether it can be."""
        self.asked.append(tenant)
        if not self.is_fresh:
            raise Refusal(Reason.REGISTRY_UNAVAILABLE, "Not known for sure.")


def reason_of(known: KnownStops, one: Road, tool: str) -> Reason | None:
    """Why the tool does not run; None when it does."""
    halting = Halting(cast(RegistryFollower, known))
    try:
        halting.check(one.caller, one.catalogue.find(one.caller, tool, Surface.GRPC))
    except Refusal as refusal:
        return refusal.reason
    return None


@pytest.mark.parametrize(
    ("scope", "name", "stopped"),
    [
        (StopScope.TENANT, "", {"note", "echo"}),
        (StopScope.AGENT, "helper", {"note", "echo"}),
        (StopScope.TOOL, "note", {"note"}),
        (StopScope.VENDOR, "fake", {"note", "echo"}),
        (StopScope.AGENT, "another", set()),
        (StopScope.VENDOR, "another", set()),
    ],
)
async def test_what_is_stopped_does_not_run(scope: StopScope, name: str, stopped: set[str]) -> None:
    """By tenant, agent, tool or vendor, reads as well; the rest goes on."""
    known = KnownStops()
    stop = Stop(scope=scope, name=name, reason="An incident.", set_by="ann", set_at=datetime(2026, 1, 1, tzinfo=UTC))
    known.stops.hold("acme", [stop])
    async with road() as one:
        for tool in ("note", "echo"):
            assert reason_of(known, one, tool) is (Reason.STOPPED if tool in stopped else None)


async def test_what_another_tenant_has_stopped_is_its_own() -> None:
    """Nothing of it shows here."""
    known = KnownStops()
    stop = Stop(scope=StopScope.TENANT, name="", reason="", set_by="eve", set_at=datetime(2026, 1, 1, tzinfo=UTC))
    known.stops.hold("other", [stop])
    async with road() as one:
        assert reason_of(known, one, "note") is None


async def test_a_write_needs_to_know_and_a_read_does_not() -> None:
    """While what is stopped is not known for sure: of the caller's tenant."""
    known = KnownStops(is_fresh=False)
    async with road() as one:
        assert reason_of(known, one, "note") is Reason.REGISTRY_UNAVAILABLE
        assert reason_of(known, one, "mail") is Reason.REGISTRY_UNAVAILABLE
        assert reason_of(known, one, "echo") is None
    assert known.asked == ["acme", "acme"]


async def test_what_is_known_to_be_stopped_is_told_as_that() -> None:
    """Though it is not known what else is."""
    known = KnownStops(is_fresh=False)
    stop = Stop(scope=StopScope.TOOL, name="note", reason="", set_by="ann", set_at=datetime(2026, 1, 1, tzinfo=UTC))
    known.stops.hold("acme", [stop])
    async with road() as one:
        assert reason_of(known, one, "note") is Reason.STOPPED
