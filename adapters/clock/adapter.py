"""What time it is. No network and no account, so that a new deployment's first call works anywhere."""

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any, NotRequired, TypedDict

from adapters.base import (
    AdapterError,
    ArgumentIssue,
    ArgumentProblem,
    Clock,
    ErrorKind,
    Fault,
    Happened,
    Invocation,
    Operation,
    Output,
    SideEffect,
    Target,
)
from adapters.zones import find_zone


class NowArguments(TypedDict):
    """What an agent sends."""

    zone: NotRequired[str]


class ClockAdapter:
    """The operation `now`."""

    name = "clock"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.operations: Mapping[str, Operation] = {
            "now": Operation(
                name="now",
                arguments=NowArguments,
                side_effect=SideEffect.READ,
                prepare=prepare_now,
                invoke=self._now,
            )
        }

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing that a clock has no use for."""
        problems = [f"option {name} is not known" for name in sorted(target.options)]
        return [*problems, *(["hosts must be empty: a clock connects to nothing"] if target.hosts else [])]

    @property
    def open_circuits(self) -> int:
        """None: nobody is asked."""
        return 0

    async def close(self) -> None:
        """There is nothing to let go of."""

    async def _now(self, invocation: Invocation) -> Output:
        zone = str(invocation.arguments["zone"])
        here = datetime.fromtimestamp(self._clock.now(), _zone(zone))
        offset = here.utcoffset()
        return Output(
            structured={
                "time": here.isoformat(timespec="seconds"),
                "weekday": f"{here:%A}",
                "zone": zone,
                "utc_offset_minutes": int(offset.total_seconds()) // 60 if offset else 0,
            },
            receipt=f"It is {here:%H:%M} on {here:%A}, {here:%Y-%m-%d}, in {zone}.",
        )


def prepare_now(arguments: dict[str, Any]) -> dict[str, Any]:
    """The zone that is meant, UTC when none is named. Raises `ArgumentProblem` for one that does not exist."""
    zone = arguments.get("zone", "UTC")
    if find_zone(zone) is None:
        message = "is not a time zone that is known here; name one of the IANA list, e.g. Europe/Warsaw or UTC"
        raise ArgumentProblem(ArgumentIssue(path="/zone", rule="time_zone", message=message))
    return {"zone": zone}


def _zone(name: str) -> tzinfo:
    found = find_zone(name)
    if found is None:  # the machine's list changed between prepare and now
        message = "The time zone is not known here any more. Ask for UTC."
        raise AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=Fault.NOT_LOADED)
    return found
