"""Where the gateway listens, what it serves there, and how callers prove who they are."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gateway.call import CallerKind
from gateway.settings.part import UNIX, Part, is_loopback, wrong_address, wrong_mode, wrong_url


class Service(StrEnum):
    """What a listener can serve. Each serves `grpc.health.v1` as well."""

    TOOL = "tool"
    HEALTH = "health"
    APPROVAL = "approval"
    REGISTRY = "registry"
    RUN = "run"
    CALL = "call"


CONTROL_SERVICES: frozenset[Service] = frozenset({Service.APPROVAL, Service.REGISTRY, Service.RUN, Service.CALL})
"""Services that a listener without proof of identity never serves, on loopback too."""


class NamedIdentity(Part):
    """One principal, named here and not by who calls."""

    tenant: str = Field(min_length=1, max_length=64)
    """The tenant that every caller belongs to."""
    agent: str = Field(default="", max_length=64)
    """The agent's row in the registry. Only callers of control services may have none."""
    principal: str = ""
    """The principal's id; the agent's name when left out."""
    principal_kind: CallerKind = CallerKind.AGENT
    """`agent`, `workflow` or `human`."""
    scopes: tuple[str, ...] = ()
    """The scopes that callers hold; the agent's row must hold them too."""
    roles: tuple[str, ...] = ()
    """The roles that callers have; the agent's row must have them too."""

    @model_validator(mode="after")
    def _has_a_name(self) -> Self:
        if not self.agent and not self.principal:
            raise ValueError("name the principal, who has no agent to be called after")
        return self


class FixedIdentity(NamedIdentity):
    """Everybody who can open the socket is this principal: one pod, one agent."""

    kind: Literal["fixed"]


class JwtIdentity(Part):
    """Callers bring a signed token in the `authorization` metadata. Name `jwks_file` or `jwks_url`."""

    kind: Literal["jwt"]
    issuer: str = Field(min_length=1)
    """What the token's `iss` must be."""
    audience: str = Field(min_length=1)
    """What the token's `aud` must be or hold."""
    algorithms: tuple[Literal["ES256", "ES384", "RS256", "PS256", "EdDSA"], ...] = ("ES256",)
    jwks_file: Path | None = None
    """A JSON Web Key Set with the issuer's public keys; read again when it changes."""
    jwks_url: str = ""
    """Where the issuer publishes its key set: `https://`, or `http://` on loopback. Redirects are not followed."""
    jwks_ca_file: Path | None = None
    """Certificates that may vouch for `jwks_url`; the machine's own when left out."""
    jwks_refresh_seconds: float = Field(default=60.0, ge=0.1, le=60)
    """How often `jwks_url` is asked: a removed key is out within this time. An unknown key asks at once."""
    jwks_max_stale_seconds: float = Field(default=900.0, ge=0)
    """How long the last key set holds while `jwks_url` does not answer; then nobody is let in."""
    tenant_claim: str = "tenant"
    """The claim that names the tenant."""
    agent_claim: str = "agent"
    """The claim that names the agent's row."""
    needs_agent: bool = True
    """Whether every token has to name an agent. People who approve have none; then a token that names one is let in as
    a person only when `kind_claim` says so.
    """
    principal_kind: CallerKind = CallerKind.AGENT
    """`agent`, `workflow` or `human`: what every caller is when there is no `kind_claim`."""
    kind_claim: str = ""
    """The claim that says it of each caller, in the same words. A token without it is refused."""
    scopes_claim: str = "scope"
    """The claim that holds the scopes: words in one text, or a list."""
    roles_claim: str = "roles"
    """The claim that holds the roles: words in one text, or a list."""
    leeway_seconds: int = Field(default=30, ge=0, le=300)
    """How far the issuer's clock may be off."""

    @model_validator(mode="after")
    def _has_one_source(self) -> "JwtIdentity":
        if (self.jwks_file is None) == (not self.jwks_url):
            raise ValueError("name either jwks_file or jwks_url")
        if self.jwks_url and (wrong := wrong_url(self.jwks_url, "http", "https")):
            raise ValueError(wrong)
        if not self.agent_claim:
            raise ValueError("name the agent_claim, also without needs_agent: an agent's token must be known as one")
        return self

    def mistakes(self, agents: "JwtIdentity") -> bool:
        """Whether an agent's token, which is let in there, is let in here as something else than an agent."""
        is_same = (self.issuer, self.audience) == (agents.issuer, agents.audience)
        is_told = self.principal_kind is CallerKind.HUMAN and self.agent_claim == agents.agent_claim
        return is_same and not (is_told or self.kind_claim or self.principal_kind is CallerKind.AGENT)

    def wrong_people(self) -> str:
        """Why agents could pass for people here; empty when they cannot."""
        if self.principal_kind is CallerKind.HUMAN and self.needs_agent and not self.kind_claim:
            return "agents could pass for people: set needs_agent to false, or name the kind_claim of the tokens"
        return ""


class Peer(NamedIdentity):
    """Whoever shows a certificate with this name is this principal."""

    san: str = Field(pattern=r"^(spiffe://|dns:|uri:)[^\s*]+$", max_length=2048)
    """`spiffe://TRUST-DOMAIN/PATH`, `dns:NAME` or `uri:URI`, exactly as the certificate holds it. In a SPIFFE id
    a whole segment may be `{tenant}` or `{agent}`, and then stands for the tenant or agent of that name; tenant
    or agent is then written `{tenant}` or `{agent}` here as well.
    """


class MtlsIdentity(Part):
    """Callers show a client certificate: a SPIFFE id or another subject alternative name is mapped to a principal."""

    kind: Literal["mtls"]
    peers: tuple[Peer, ...] = Field(min_length=1)
    """Who may call. The first that fits holds."""


class NoIdentity(NamedIdentity):
    """Nobody proves anything: loopback only, for development."""

    kind: Literal["none"]


Identity = Annotated[FixedIdentity | JwtIdentity | MtlsIdentity | NoIdentity, Field(discriminator="kind")]


class TlsSettings(Part):
    """Certificates of a listener. The files are read again when they change; a broken one leaves the former in use."""

    cert_file: Path
    """The listener's certificate chain, PEM."""
    key_file: Path
    """Its private key, PEM."""
    client_ca_file: Path | None = None
    """Who may vouch for clients, PEM. When set, a client without such a certificate is not let in."""


class Place(Part):
    """Somewhere to listen."""

    address: str
    """`unix:PATH` or `ADDRESS:PORT`."""
    mode: str = Field(default="0600", pattern=r"^0[0-7]{3}$")
    """A socket's file mode."""
    group: str = ""
    """A socket's group, by name; the process's own when left out."""

    @property
    def is_unix(self) -> bool:
        """Whether this is a Unix socket."""
        return self.address.startswith(UNIX)

    @property
    def socket_path(self) -> Path:
        """The path of a Unix socket."""
        return Path(self.address.removeprefix(UNIX))


class Listener(Place):
    """One address that the gateway listens on, what it serves there and how callers prove who they are."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")
    """What the screen and the log call it."""
    services: tuple[Service, ...] = Field(default=(Service.TOOL,), min_length=1)
    """`tool` for agents; `approval`, `registry`, `run` and `call` for people and trusted runtimes, on listeners of
    their own; or `health` alone: then no identity is needed, and it may listen anywhere (for probes).
    """
    identity: Identity | None = None
    """How callers prove who they are: FixedIdentity, JwtIdentity, MtlsIdentity or NoIdentity, by `kind`."""
    tls: TlsSettings | None = None
    """Needed beyond loopback, and for the identity `mtls`."""
    reflection: bool = True
    """Whether `grpc.reflection.v1` tells which services there are. It never tells of tools."""

    @property
    def is_for_probes(self) -> bool:
        """Whether nothing but health is served here."""
        return set(self.services) == {Service.HEALTH}

    @model_validator(mode="after")
    def _is_safe(self) -> "Listener":
        wrong = wrong_address(self.address) or self._wrong_identity()
        wrong = wrong or self._wrong_services() or (self._wrong_unix() if self.is_unix else self._wrong_tcp())
        if wrong:
            raise ValueError(wrong)
        return self

    def _wrong_services(self) -> str:
        """Why these may not be served together: an agent must not approve itself, or write what it may see."""
        if Service.TOOL in self.services and set(self.services) & CONTROL_SERVICES:
            return "control services are never where agents are; give them a listener of their own"
        named = self.identity.peers if isinstance(self.identity, MtlsIdentity) else (self.identity,)
        if Service.TOOL in self.services and any(isinstance(one, NamedIdentity) and not one.agent for one in named):
            return "name the agent whose row says what callers may see"
        if Service.TOOL in self.services and isinstance(self.identity, JwtIdentity) and not self.identity.needs_agent:
            return "where tools are served every token has to name an agent; leave needs_agent true"
        if set(self.services) & CONTROL_SERVICES and isinstance(self.identity, JwtIdentity):
            return self.identity.wrong_people()
        return ""

    def _wrong_identity(self) -> str:
        if self.identity is None and not self.is_for_probes:
            return "name an identity: how do callers prove who they are?"
        has_client_ca = self.tls is not None and self.tls.client_ca_file is not None
        if isinstance(self.identity, MtlsIdentity) and not has_client_ca:
            return "the identity mtls needs tls with a client_ca_file"
        return ""

    def _wrong_unix(self) -> str:
        """Why this socket may not be opened; empty when it may."""
        if self.tls is not None:
            return "a Unix socket takes no tls: its file mode says who may open it"
        if isinstance(self.identity, NoIdentity):
            return "a Unix socket takes the identity `fixed` or `jwt`"
        return wrong_mode(self.mode)

    def _wrong_tcp(self) -> str:
        """Why this port may not be opened; empty when it may."""
        host = self.address.rpartition(":")[0]
        if isinstance(self.identity, FixedIdentity):
            return "a fixed identity needs a Unix socket: anybody on the network could be it"
        if isinstance(self.identity, NoIdentity) and not is_loopback(host):
            return "a TCP listener without identity is allowed on loopback only; use identity jwt or mtls"
        if isinstance(self.identity, NoIdentity) and set(self.services) & CONTROL_SERVICES:
            return "control services are never served without proof of identity"
        if self.tls is None and not self.is_for_probes and not is_loopback(host):
            return "beyond loopback a listener needs tls: tokens and answers would travel in the clear"
        return ""


def mistaken_agents(listeners: Sequence[Listener]) -> Iterator[tuple[int, str]]:
    """Which listeners, by their index, would take another one's agents for people or workflows, and why: both let in
    the same tokens, and nothing that this one looks at tells whose they are.
    """
    agents = [(one.name, one.identity) for one in listeners if Service.TOOL in one.services]
    for index, listener in enumerate(listeners):
        control = listener.identity
        if not isinstance(control, JwtIdentity) or not set(listener.services) & CONTROL_SERVICES:
            continue
        for name, theirs in agents:
            if isinstance(theirs, JwtIdentity) and control.mistakes(theirs):
                told = f"agents of the listener {name} could pass for a {control.principal_kind} here"
                yield index, f"{told}: ask for another audience, or name the kind_claim of the tokens"


class MetricsSettings(Place):
    """Where Prometheus reads. Never on a listener that serves agents."""

    address: str
    """`unix:PATH` in a folder that no agent's user can enter, or `ADDRESS:PORT`."""
    token_file: Path | None = None
    """Holds the bearer token that a reader must bring; read again when it changes."""
    tls: TlsSettings | None = None
    """Needed beyond loopback."""

    @model_validator(mode="after")
    def _is_safe(self) -> "MetricsSettings":
        wrong = wrong_address(self.address) or (wrong_mode(self.mode) if self.is_unix else self._wrong_tcp())
        if wrong:
            raise ValueError(wrong)
        return self

    def _wrong_tcp(self) -> str:
        has_client_ca = self.tls is not None and self.tls.client_ca_file is not None
        if self.token_file is None and not has_client_ca:
            return "a port needs a token_file, or tls with a client_ca_file: an agent of the pod could read it"
        if self.tls is None and not is_loopback(self.address.rpartition(":")[0]):
            return "beyond loopback metrics need tls"
        return ""
