"""The clock tells the time in a zone, and refuses what is not one."""

import pytest
from fakes.clock import FakeClock

from adapters.base import AdapterError, ArgumentProblem, Happened, Invocation, Output, Target
from adapters.clock.adapter import ClockAdapter, prepare_now

SUMMER = 1_783_080_000.0  # 2026-07-03T12:00:00Z


async def _now(zone: str, at: float = SUMMER) -> Output:
    invocation = Invocation(
        arguments={"zone": zone}, target=Target(name="clock"), credential=None, deadline=10.0, effect_id="e"
    )
    return await ClockAdapter(FakeClock(at)).operations["now"].invoke(invocation)


async def test_tells_local_time_with_its_offset() -> None:
    """Time, weekday and offset are those of the zone, summer time included."""
    output = await _now("Europe/Warsaw")
    assert output.structured == {
        "time": "2026-07-03T14:00:00+02:00",
        "weekday": "Friday",
        "zone": "Europe/Warsaw",
        "utc_offset_minutes": 120,
    }
    assert output.receipt == "It is 14:00 on Friday, 2026-07-03, in Europe/Warsaw."


async def test_west_of_greenwich_the_offset_is_negative() -> None:
    """A zone that is half an hour off and behind UTC is told exactly."""
    output = await _now("America/St_Johns")
    assert output.structured["utc_offset_minutes"] == -150


async def test_utc_needs_no_list_of_zones() -> None:
    """UTC is always known."""
    output = await _now("UTC")
    assert output.structured["time"] == "2026-07-03T12:00:00+00:00"


async def test_a_zone_that_vanished_is_an_adapter_error() -> None:
    """Nothing but `AdapterError` leaves the adapter."""
    with pytest.raises(AdapterError) as caught:
        await _now("Nowhere/Atall")
    assert caught.value.happened is Happened.NO


def test_utc_is_meant_when_no_zone_is_named() -> None:
    """Policy and adapter see the zone that will be used."""
    assert prepare_now({}) == {"zone": "UTC"}
    assert prepare_now({"zone": "Asia/Kathmandu"}) == {"zone": "Asia/Kathmandu"}


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "/etc/passwd", "Europe", "a\0b", "", "UTC "])
def test_what_is_no_zone_is_an_issue_of_the_argument(zone: str) -> None:
    """Unknown names, paths and folders are refused, and nothing but the issue is raised."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare_now({"zone": zone})
    assert [(issue.path, issue.rule) for issue in caught.value.issues] == [("/zone", "time_zone")]


def test_a_connection_has_no_hosts_and_no_options() -> None:
    """A clock that claims to connect somewhere is a mistake."""
    adapter = ClockAdapter(FakeClock(SUMMER))
    assert adapter.check_target(Target(name="clock")) == []
    assert len(adapter.check_target(Target(name="clock", hosts=("a.example",), options={"x": 1}))) == 2


async def test_closing_twice_is_harmless() -> None:
    """`close` keeps its promise."""
    adapter = ClockAdapter(FakeClock(SUMMER))
    await adapter.close()
    await adapter.close()
