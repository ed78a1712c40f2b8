"""Where deliveries come in: the connections with a webhook, as the registry has them at the moment."""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from adapters.webhooks import Webhooks
from gateway.registry.catalogue import Catalogue
from gateway.rows import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One connection, and who understands what is delivered to it."""

    connection: Connection
    webhooks: Webhooks


class Doors:
    """Finds doors by tenant and name."""

    def __init__(self, catalogue: Callable[[], Catalogue], webhooks: Mapping[str, Webhooks]) -> None:
        """`webhooks` by vendor."""
        self._catalogue = catalogue
        self._webhooks = webhooks
        self._of: Catalogue | None = None
        self._known: dict[tuple[str, str], Door] = {}
        self._all: tuple[Door, ...] = ()

    def find(self, tenant: str, name: str) -> Door | None:
        """The door of that name; None where nothing is taken, whatever the reason."""
        self._look()
        return self._known.get((tenant, name))

    def in_place_of(self, tenant: str, name: str) -> Door | None:
        """Some door, always the same for one name, for the work that a door of that name would make; None when there
        is none at all.
        """
        self._look()
        if not self._all:
            return None
        return self._all[zlib.crc32(f"{tenant}/{name}".encode("utf-8", "replace")) % len(self._all)]

    def _look(self) -> None:
        catalogue = self._catalogue()
        if catalogue is self._of:
            return
        self._known = {
            (one.tenant, one.name): Door(connection=one, webhooks=self._webhooks[one.vendor])
            for one in catalogue.connections
            if one.webhook_secret and one.vendor in self._webhooks
        }
        self._all, self._of = tuple(self._known.values()), catalogue
