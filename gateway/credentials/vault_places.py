"""Which secret a `vault:` reference means: the settings say where mounts end and paths begin."""

from typing import NamedTuple

from gateway.clients.vault_answers import SecretPlace
from gateway.references import parse_vault
from gateway.settings.vault import VaultMount, VaultSettings


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

    def find(self, tenant: str, name: str) -> VaultPlace | None:
        """The place that `MOUNT/PATH#FIELD` means to a tenant; None when no mount of the settings is a prefix.

        The longest mount wins, by whole segments. Raises `BadReference`.
        """
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
