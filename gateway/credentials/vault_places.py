"""Which secret a `vault:` reference means: the settings say where mounts end and paths begin."""

from typing import NamedTuple

from gateway.clients.vault_answers import SecretPlace
from gateway.references import parse_vault
from gateway.settings.vault import VaultMount, VaultSettings

_MAX_KNOWN = 10_000


class VaultPlace(NamedTuple):
    """One field of one secret."""

    secret: SecretPlace
    field: str


class Places:
    """The mounts and namespaces of the settings."""

    def __init__(self, settings: VaultSettings) -> None:
        self._namespace = settings.namespace
        self._namespaces = dict(settings.namespaces)
        self._mounts = {tuple(mount.path.split("/")): mount for mount in settings.mounts}
        self._known: dict[tuple[str, str], VaultPlace] = {}  # the settings do not change while we run

    def find(self, tenant: str, name: str) -> VaultPlace | None:
        """The place that `MOUNT/PATH#FIELD` means to a tenant; None when no mount of the settings is a prefix.

        The longest mount wins, by whole segments. Raises `BadReference`.
        """
        known = self._known.get((tenant, name))
        if known is None and (known := self._found(tenant, name)):
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[tenant, name] = known
        return known

    def _found(self, tenant: str, name: str) -> VaultPlace | None:
        segments, field = parse_vault(name)
        for length in range(len(segments) - 1, 0, -1):
            if mount := self._mounts.get(segments[:length]):
                return VaultPlace(self._secret(tenant, mount, segments[length:]), field)
        return None

    def _secret(self, tenant: str, mount: VaultMount, path: tuple[str, ...]) -> SecretPlace:
        return SecretPlace(
            namespace=self._namespaces.get(tenant, self._namespace),
            mount=mount.path,
            version=mount.version,
            path="/".join(path),
        )
