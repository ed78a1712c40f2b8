"""A Vault or OpenBao that keeps credentials."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from gateway.settings.part import Part, wrong_url

SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
_PATH = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$"
_AuthMount = Annotated[str, Field(pattern=_PATH, max_length=256)]


class VaultMount(Part):
    """A KV secrets engine. References begin with its path: `vault:PATH/SECRET#FIELD`."""

    path: str = Field(pattern=_PATH, max_length=256)
    """Where it is mounted, e.g. `secret` or `team/kv`; without `data/`."""
    version: Literal[1, 2]
    """The engine's version. The two are asked differently, and a wrong one is found at start."""


class TokenAuth(Part):
    """A token that somebody else puts into a file and renews, such as Vault Agent."""

    kind: Literal["token"]
    token_file: Path
    """Holds the token; read again when it changes."""


class AppRoleAuth(Part):
    """Log in by AppRole."""

    kind: Literal["approle"]
    mount: _AuthMount = "approle"
    """Where the auth method is mounted."""
    role_id_file: Path
    """Holds the role id."""
    secret_id_file: Path
    """Holds the secret id; read at every login."""


class KubernetesAuth(Part):
    """Log in by the pod's service account."""

    kind: Literal["kubernetes"]
    mount: _AuthMount = "kubernetes"
    """Where the auth method is mounted."""
    role: str = Field(min_length=1, max_length=256)
    """The role in Vault."""
    token_file: Path = SERVICE_ACCOUNT_TOKEN
    """The service account's token; read at every login."""


VaultAuth = Annotated[TokenAuth | AppRoleAuth | KubernetesAuth, Field(discriminator="kind")]


class VaultSettings(Part):
    """Where `vault:` references are resolved, and how the gateway logs in there."""

    addresses: tuple[str, ...] = Field(min_length=1)
    """`https://HOST:PORT` (`http://` on loopback) of each server; when one does not answer the next is asked."""
    auth: VaultAuth
    """TokenAuth, AppRoleAuth or KubernetesAuth, by `kind`."""
    mounts: tuple[VaultMount, ...] = Field(min_length=1)
    """The KV engines that references may name."""
    namespace: str = Field(default="", pattern=r"^([A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*)?$")
    """The namespace to log in to and to read from."""
    namespaces: Mapping[str, str] = Field(default_factory=dict)
    """By tenant, the namespace that its references are read from instead."""
    ca_file: Path | None = None
    """Certificates that may vouch for the servers; the machine's own when left out."""
    timeout_ms: float = Field(default=1000.0, gt=0, le=30_000)
    """How long a call waits for a credential."""
    cache_seconds: float = Field(default=300.0, ge=1, le=86_400)
    """How long a credential is used before it is read again; in the background, from three quarters of it on."""
    max_stale_seconds: float = Field(default=300.0, ge=0, le=86_400)
    """How much longer it is used while no server answers. A credential that was taken away is never used again."""

    @field_validator("addresses")
    @classmethod
    def _are_safe(cls, addresses: tuple[str, ...]) -> tuple[str, ...]:
        for address in addresses:
            if wrong := wrong_url(address, "http", "https"):
                raise ValueError(wrong)
        return addresses
