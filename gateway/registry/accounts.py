"""The accounts behind connections, as the registry has them at the moment."""

from collections.abc import Callable, Mapping

from gateway.registry.catalogue import Catalogue
from gateway.rows import Connection


class Accounts:
    """Finds connections by their account, `TENANT/NAME`."""

    def __init__(self, catalogue: Callable[[], Catalogue]) -> None:
        self._catalogue = catalogue
        self._of: Catalogue | None = None
        self._known: Mapping[str, Connection] = {}

    def find(self, account: str) -> tuple[str, str] | None:
        """Its tenant and the reference of its credential; None when no connection is of that account.

        An adapter that keeps several things of one account apart adds a blank and a word to its name.
        """
        catalogue = self._catalogue()
        if catalogue is not self._of:
            self._known = {one.target.account: one for one in catalogue.connections}
            self._of = catalogue
        found = self._known.get(account) or self._known.get(account.rpartition(" ")[0])
        return None if found is None else (found.tenant, found.credential)
