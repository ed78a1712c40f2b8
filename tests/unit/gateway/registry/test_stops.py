"""The kill switch: what is stopped is refused, and nothing else."""

import pytest

from gateway.errors import Reason, Refusal
from gateway.registry.stops import Stops
from gateway.store.columns import moment_of
from gateway.store.stops import Stop, StopScope


def stop(scope: StopScope, name: str = "") -> Stop:
    """That is stopped."""
    return Stop(scope=scope, name=name, reason="a leak", set_by="ann", set_at=moment_of(0))


def is_stopped(
    stops: Stops, tenant: str = "acme", agent: str = "helper", tool: str = "send", vendor: str = "email"
) -> bool:
    """Whether such a call is refused."""
    try:
        stops.check(tenant, agent, tool, vendor)
    except Refusal as refusal:
        return refusal.reason is Reason.STOPPED
    return False


@pytest.mark.parametrize(
    ("scope", "name", "other"),
    [
        (StopScope.TENANT, "", {"tenant": "rival"}),
        (StopScope.AGENT, "helper", {"agent": "other"}),
        (StopScope.TOOL, "send", {"tool": "other"}),
        (StopScope.VENDOR, "email", {"vendor": "web"}),
    ],
)
def test_each_scope_stops_its_own(scope: StopScope, name: str, other: dict[str, str]) -> None:
    """Until it is cleared."""
    stops = Stops()
    assert not is_stopped(stops)
    stops.hold("acme", [stop(scope, name)])
    assert is_stopped(stops)
    assert not is_stopped(stops, **other)
    stops.hold("acme", [])
    assert not is_stopped(stops)


def test_names_are_not_mistaken_for_one_another() -> None:
    """An agent may be called as a tool is."""
    stops = Stops()
    stops.hold("acme", [stop(StopScope.AGENT, "send")])
    assert not is_stopped(stops)
    assert is_stopped(stops, agent="send")


def test_tenants_are_stopped_each_for_itself() -> None:
    """What is new for one leaves the other's as it was."""
    stops = Stops()
    stops.hold("acme", [stop(StopScope.TOOL, "send")])
    stops.hold("rival", [stop(StopScope.TENANT)])
    stops.hold("acme", [stop(StopScope.TOOL, "send"), stop(StopScope.TOOL, "write")])
    assert is_stopped(stops)
    assert is_stopped(stops, tool="write")
    assert is_stopped(stops, tenant="rival", tool="anything")


def test_the_agent_is_told_what_it_can_do_and_not_why() -> None:
    """The reason is the operator's."""
    stops = Stops()
    stops.hold("acme", [stop(StopScope.TOOL, "send")])
    with pytest.raises(Refusal) as caught:
        stops.check("acme", "helper", "send", "email")
    assert caught.value.message.startswith("An operator has stopped this tool.")
    assert "leak" not in caught.value.message
