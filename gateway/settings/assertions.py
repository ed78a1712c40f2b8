"""Who signs for whom that a call is whose: the assertions that internal services get, and who may get them.

Which audience may be told on which hosts stands here and never in a registry row: a tenant's administrator who could
say it would have an assertion for another service sent to a host of his own.
"""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from gateway.references import host_is_allowed
from gateway.settings.listeners import Place, TlsSettings
from gateway.settings.part import Part, is_loopback, wrong_address, wrong_mode

Wrong = tuple[str, str]
"""A rule and a sentence."""

_PATH = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$"
_WORD = r"^[!-~]{1,256}$"


class AssertionTransitSettings(Part):
    """An Ed25519 key that a Vault or OpenBao holds and does not give away; `vault` says where it is. Each assertion
    costs one request there.
    """

    mount: str = Field(default="transit", pattern=_PATH, max_length=256)
    """Where the transit engine is mounted."""
    key: str = Field(default="tollhouse-assertions", pattern=r"^[A-Za-z0-9_-]{1,128}$")
    """The key's name there."""


class AudienceGrant(Part):
    """One service that is told who calls, and where it may be told."""

    name: str = Field(pattern=_WORD)
    """What `aud` is, and what a connection's `assertion` names: one word, such as the service's name or URL."""
    hosts: tuple[str, ...] = Field(min_length=1)
    """Where it may be sent: `HOST` or `HOST:PORT`, exact; `*.HOST` for its subdomains."""
    tenants: tuple[str, ...] = ()
    """Whose connections may name it; every tenant's when left out."""


class PublicJwk(Part):
    """A public Ed25519 key as a JSON Web Key (RFC 8037)."""

    kty: Literal["OKP"]
    """Its family."""
    crv: Literal["Ed25519"]
    """Its curve."""
    x: str = Field(pattern=r"^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$")
    """The key, in base64url."""
    kid: str = ""
    """Its thumbprint (RFC 7638), when given."""
    alg: Literal["EdDSA", "Ed25519"] = "EdDSA"
    """What it verifies."""
    use: Literal["sig"] = "sig"
    """What it is for."""

    @model_validator(mode="before")
    @classmethod
    def _is_public(cls, given: Any) -> Any:
        if isinstance(given, dict) and ({"d", "k"} & given.keys()):
            raise ValueError("holds a private key; name the public one, and replace the one that stood here")
        return given


class PublishSettings(Place):
    """Where services read the keys that verify assertions: `GET /.well-known/jwks.json`, and nothing else."""

    address: str
    """`unix:PATH` or `ADDRESS:PORT`."""
    tls: TlsSettings | None = None
    """Needed beyond loopback: who could change the keys on the way could sign as anybody."""

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        wrong = wrong_address(self.address) or (self._wrong_unix() if self.is_unix else self._wrong_tcp())
        if wrong:
            raise ValueError(wrong)
        return self

    def _wrong_unix(self) -> str:
        return "a Unix socket takes no tls: its file mode says who may open it" if self.tls else wrong_mode(self.mode)

    def _wrong_tcp(self) -> str:
        if self.tls is None and not is_loopback(self.address.rpartition(":")[0]):
            return "beyond loopback verification keys need tls"
        return ""


class AssertionSettings(Part):
    """Signs, for internal services, who makes a call."""

    issuer: str = Field(pattern=_WORD)
    """What `iss` is: what services know this deployment by, such as `https://tollhouse.corp.example`."""
    key_file: Path | None = None
    """A private Ed25519 key in PEM, as `tollhouse assertions make-key` makes one. Mode 0600; read again when it
    changes.
    """
    transit: AssertionTransitSettings | None = None
    """Sign by a transit engine instead."""
    seconds: int = Field(default=60, ge=5, le=300)
    """How long an assertion holds."""
    audiences: tuple[AudienceGrant, ...] = Field(min_length=1)
    """Who may be told, where."""
    former: tuple[PublicJwk, ...] = ()
    """Public keys that are published besides: those of before, those of other replicas, and one that is to come."""
    publish: PublishSettings | None = None
    """Where the verification keys are served; nowhere when left out (`tollhouse assertions key` prints them)."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.key_file is None) == (self.transit is None):
            raise ValueError("name either key_file or transit")
        return self


def check_assertion(
    audience: str, hosts: tuple[str, ...], tenant: str, settings: AssertionSettings | None
) -> list[Wrong]:
    """What is wrong with a connection that names an audience; nothing when the settings allow it.

    One entry must cover the tenant and every host: two halves do not make a whole.
    """
    if settings is None:
        return [("assertion_settings", "the settings have no section assertions, so nobody is told who calls")]
    if not hosts:
        return [("assertion_hosts", "a connection with an assertion must name the hosts that may receive it")]
    fitting = [one for one in settings.audiences if one.name == audience and (not one.tenants or tenant in one.tenants)]
    if not fitting:
        return [("assertion_audience", f"the settings let the tenant {tenant!r} name no audience {audience!r}")]
    if not any(all(host_is_allowed(host, one.hosts) for host in hosts) for one in fitting):
        return [("assertion_hosts", f"the settings do not let {audience!r} be told who calls at {', '.join(hosts)}")]
    return []
