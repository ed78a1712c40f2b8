"""A Vault or OpenBao that keeps credentials."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from gateway.settings.part import Part, wrong_url

SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
_PATH = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$"
_Engine = Annotated[str, Field(pattern=_PATH, max_length=256)]
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


class DynamicSettings(Part):
    """Credentials that the server makes for the gateway and takes back: `vault-dynamic:ENGINE/ROLE`."""

    engines: tuple[_Engine, ...] = Field(min_length=1)
    """Where the secrets engines are mounted that references may name, e.g. `database`; asked at `ENGINE/creds/ROLE`."""
    pool: bool = False
    """Whether the calls of one tenant share a lease until two thirds of its time are over, instead of one each."""
    max_leases: int = Field(default=500, ge=1, le=10_000)
    """How many leases one gateway may hold, those that are still to be revoked included; calls beyond are refused."""


class VaultSettings(Part):
    """Where `vault:` references are resolved, and how the gateway logs in there."""

    addresses: tuple[str, ...] = Field(min_length=1)
    """`https://HOST:PORT` (`http://` on loopback) of each server; when one does not answer the next is asked."""
    auth: VaultAuth
    """TokenAuth, AppRoleAuth or KubernetesAuth, by `kind`."""
    mounts: tuple[VaultMount, ...] = ()
    """The KV engines that `vault:` references may name."""
    dynamic: DynamicSettings | None = None
    """Which engines make credentials; without it there are no `vault-dynamic:` references."""
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

    @model_validator(mode="after")
    def _keeps_something(self) -> Self:
        if not self.mounts and self.dynamic is None:
            raise ValueError("name a KV engine under mounts, or an engine that makes credentials under dynamic")
        return self
