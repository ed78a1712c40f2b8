"""How the gateway shows a vault who it is: a token, an AppRole or the pod's service account, from files."""

from collections.abc import Callable
from typing import Protocol

from gateway.clients.vault import VaultClient
from gateway.clients.vault_answers import Trouble, VaultFailed, VaultToken
from gateway.settings.vault import AppRoleAuth, KubernetesAuth, TokenAuth, VaultAuth
from gateway.watched import WatchedFile

Material = tuple[str, ...]
"""What a login is made with: secret, and read from files anew each time."""


class Proof(Protocol):
    """How the gateway shows who it is."""

    is_ours: bool
    """Whether tokens are ours to renew and replace."""

    def material(self) -> Material:
        """What the files hold now. Raises `FileUnusable`."""
        ...

    async def log_in(self, client: VaultClient, material: Material) -> VaultToken:
        """A token. Raises `VaultFailed`."""
        ...


def proof_of(auth: VaultAuth, monotonic: Callable[[], float]) -> Proof:
    """The way to log in that the settings ask for."""
    if isinstance(auth, TokenAuth):
        return _TokenFile(auth, monotonic)
    if isinstance(auth, AppRoleAuth):
        return _AppRole(auth, monotonic)
    return _Kubernetes(auth, monotonic)


class _TokenFile:
    is_ours = False

    def __init__(self, auth: TokenAuth, monotonic: Callable[[], float]) -> None:
        self._file = WatchedFile(auth.token_file, monotonic)

    def material(self) -> Material:
        return (self._file.text(),)

    async def log_in(self, client: VaultClient, material: Material) -> VaultToken:
        """A token that may not look at itself is used nevertheless, and one that is dead is found out by its use."""
        try:
            return await client.look_up(material[0])
        except VaultFailed as failed:
            if failed.trouble is not Trouble.DENIED:
                raise
        return VaultToken(value=material[0], seconds=0.0, is_renewable=False)


class _AppRole:
    is_ours = True

    def __init__(self, auth: AppRoleAuth, monotonic: Callable[[], float]) -> None:
        self._mount = auth.mount
        self._files = [
            WatchedFile(path, monotonic, look_seconds=0) for path in (auth.role_id_file, auth.secret_id_file)
        ]

    def material(self) -> Material:
        return tuple(file.text() for file in self._files)

    async def log_in(self, client: VaultClient, material: Material) -> VaultToken:
        role_id, secret_id = material
        return await client.log_in_by_approle(self._mount, role_id, secret_id)


class _Kubernetes:
    is_ours = True

    def __init__(self, auth: KubernetesAuth, monotonic: Callable[[], float]) -> None:
        self._auth = auth
        self._file = WatchedFile(auth.token_file, monotonic, look_seconds=0)

    def material(self) -> Material:
        return (self._file.text(),)

    async def log_in(self, client: VaultClient, material: Material) -> VaultToken:
        return await client.log_in_by_kubernetes(self._auth.mount, self._auth.role, material[0])
