"""The kill switch: what an operator has stopped, as this replica knows it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gateway.errors import Reason, Refusal
from gateway.store.stops import Stop, StopScope

STOPPED = "An operator has stopped {what}. Nothing was done; go on with other work, and do not try again by yourself."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stopped:
    """What is stopped in one tenant."""

    is_all: bool
    agents: frozenset[str]
    tools: frozenset[str]
    vendors: frozenset[str]


class Stops:
    """What is stopped, by tenant. Swapped whole whenever it changes; asking costs a few look-ups, and none when
    nothing is stopped.
    """

    def __init__(self) -> None:
        self._of: Mapping[str, _Stopped] = MappingProxyType({})

    def hold(self, tenant: str, stops: Iterable[Stop]) -> None:
        """From now on this is stopped in the tenant, and nothing else."""
        every = tuple(stops)
        held = {name: stopped for name, stopped in self._of.items() if name != tenant}
        if every:
            held[tenant] = _stopped(every)
        self._of = MappingProxyType(held)

    def check(self, tenant: str, agent: str, tool: str, vendor: str) -> None:
        """Returns when nothing of this is stopped. Raises `Refusal(stopped)`."""
        stopped = self._of.get(tenant)
        if stopped is None:
            return
        if stopped.is_all:
            raise _refusal("all calls")
        if agent in stopped.agents:
            raise _refusal("all calls of this agent")
        if tool in stopped.tools:
            raise _refusal("this tool")
        if vendor in stopped.vendors:
            raise _refusal("the service behind this tool")


def _stopped(stops: Iterable[Stop]) -> _Stopped:
    named: dict[StopScope, set[str]] = {scope: set() for scope in StopScope}
    for stop in stops:
        named[stop.scope].add(stop.name)
    return _Stopped(
        is_all=bool(named[StopScope.TENANT]),
        agents=frozenset(named[StopScope.AGENT]),
        tools=frozenset(named[StopScope.TOOL]),
        vendors=frozenset(named[StopScope.VENDOR]),
    )


def _refusal(what: str) -> Refusal:
    return Refusal(Reason.STOPPED, STOPPED.format(what=what))
