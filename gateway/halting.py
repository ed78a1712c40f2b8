"""Whether operators let a call go on."""

from gateway.call import Principal
from gateway.registry.catalogue import Entry
from gateway.registry.follower import RegistryFollower


class Halting:
    """`Halts` over what this replica knows. A write needs that to be fresh: a stop must reach it within moments."""

    def __init__(self, follower: RegistryFollower) -> None:
        self._follower = follower

    def check(self, principal: Principal, entry: Entry) -> None:
        """Returns when the call may go on. Raises `Refusal`: `stopped`, `registry_unavailable`."""
        self._follower.stops.check(principal.tenant, entry.agent.name, entry.tool.name, entry.connection.vendor)
        if entry.tool.has_effect:
            self._follower.check(principal.tenant)
