"""What a running gateway is, in words for a person."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.rows import Agent, Connection, Tool
from gateway.settings.listeners import (
    CONTROL_SERVICES,
    FixedIdentity,
    JwtIdentity,
    Listener,
    MtlsIdentity,
    NamedIdentity,
)
from gateway.settings.load import Settings
from gateway.settings.store import StoreSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """A listener, as a person is told of it."""

    name: str
    address: str
    services: tuple[str, ...]
    identity: str

    @property
    def is_for_control(self) -> bool:
        """Whether people and trusted runtimes are served here, and no agent."""
        return not CONTROL_SERVICES.isdisjoint(self.services)


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a running gateway is, for the screen."""

    listeners: tuple[Listening, ...]
    http_addresses: Mapping[str, str]
    """Where `metrics`, `events` and `keys` are served, with the real port; those alone that are."""
    policy_engine: str
    policy_revision: str
    policy_problem: str
    policy_from: tuple[str, ...]
    tools: tuple[Tool, ...]
    agents: tuple[Agent, ...]
    connections: tuple[Connection, ...]
    state_dir: Path
    recovered_calls: int
    store: str
    """Where what must outlive the gateway is kept, as `store_words` says it."""


def listening_of(listener: Listener, address: str) -> Listening:
    """The listener, at the address that it has."""
    return Listening(
        name=listener.name,
        address=address,
        services=tuple(service.value for service in listener.services),
        identity=identity_words(listener),
    )


def store_words(settings: StoreSettings) -> str:
    """Which database it is, for a person."""
    if settings.is_sqlite:
        return f"SQLite {settings.path}"
    host, port, database = settings.server
    return f"PostgreSQL {database} at {host}:{port} as {settings.user}"


def policy_words(settings: Settings) -> tuple[str, ...]:
    """Where the policy comes from, for a person."""
    policy = settings.policy
    if policy.opa is not None:
        return (f"bundle {policy.opa.bundle} of OPA at {policy.opa.url}",)
    if policy.bundle is not None:
        return (f"signed bundle {policy.bundle.file or policy.bundle.url}",)
    return tuple(map(str, policy.paths)) or ("the built-in pack",)


def identity_words(listener: Listener) -> str:
    """Who calls there, for a person."""
    identity = listener.identity
    if identity is None:
        return "probes"
    if isinstance(identity, JwtIdentity):
        return f"tokens of {identity.issuer}"
    if isinstance(identity, MtlsIdentity):
        return f"certificates of {len(identity.peers)} peers"
    proof = "whoever can open the socket" if isinstance(identity, FixedIdentity) else "anybody on this machine"
    return f"{_who(identity)} of {identity.tenant} ({proof})"


def _who(identity: NamedIdentity) -> str:
    """The agent; where there is none the principal, and what it is."""
    return f"agent {identity.agent}" if identity.agent else f"{identity.principal_kind.value} {identity.principal}"
