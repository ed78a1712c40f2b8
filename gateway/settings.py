"""The deployment's settings: read once, frozen, a sentence per field, unknown keys are errors.

Settings belong to whoever deploys the gateway. What a tenant's administrator must not be able to
widen stands here and never in a registry row: which credential references may be used and which
hosts may receive them, which private addresses may be reached, who may listen where.
"""

import ipaddress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from gateway.call import CallerKind
from gateway.documents import Document, Problem, Unreadable, parse, read_document
from gateway.errors import StartError


class Part(BaseModel):
    """A part of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Service(StrEnum):
    """What a listener can serve."""

    TOOL = "tool"


CONTROL_SERVICES: frozenset[Service] = frozenset()
"""Services that a listener without proof of identity never serves, on loopback too."""


class NamedIdentity(Part):
    """One principal, named here and not by who calls."""

    tenant: str = Field(min_length=1, max_length=64)
    """The tenant that every caller belongs to."""
    agent: str = Field(min_length=1, max_length=64)
    """The agent's row in the registry."""
    principal: str = ""
    """The principal's id; the agent's name when left out."""
    principal_kind: CallerKind = CallerKind.AGENT
    """`agent`, `workflow` or `human`."""
    scopes: tuple[str, ...] = ()
    """The scopes that callers hold; the agent's row must hold them too."""
    roles: tuple[str, ...] = ()
    """The roles that callers have; the agent's row must have them too."""


class FixedIdentity(NamedIdentity):
    """Everybody who can open the socket is this principal: one pod, one agent."""

    kind: Literal["fixed"]


class JwtIdentity(Part):
    """Callers bring a signed token in the `authorization` metadata."""

    kind: Literal["jwt"]
    issuer: str = Field(min_length=1)
    """What the token's `iss` must be."""
    audience: str = Field(min_length=1)
    """What the token's `aud` must be or hold."""
    algorithms: tuple[Literal["ES256", "ES384", "RS256", "PS256", "EdDSA"], ...] = ("ES256",)
    jwks_file: Path
    """A JSON Web Key Set with the issuer's public keys; read again when it changes."""
    tenant_claim: str = "tenant"
    """The claim that names the tenant."""
    agent_claim: str = "agent"
    """The claim that names the agent's row."""
    scopes_claim: str = "scope"
    """The claim that holds the scopes: words in one text, or a list."""
    roles_claim: str = "roles"
    """The claim that holds the roles: words in one text, or a list."""
    leeway_seconds: int = Field(default=30, ge=0, le=300)
    """How far the issuer's clock may be off."""


class NoIdentity(NamedIdentity):
    """Nobody proves anything: loopback only, for development."""

    kind: Literal["none"]


Identity = Annotated[FixedIdentity | JwtIdentity | NoIdentity, Field(discriminator="kind")]


class Listener(Part):
    """One address that the gateway listens on, what it serves there and how callers prove who they are."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")
    """What the screen and the log call it."""
    address: str
    """`unix:PATH` or `ADDRESS:PORT`. TCP has no TLS yet: beyond loopback put something before it that encrypts."""
    services: tuple[Service, ...] = Field(default=(Service.TOOL,), min_length=1)
    """What is served here."""
    identity: Identity
    """How callers prove who they are: FixedIdentity, JwtIdentity or NoIdentity, by `kind`."""
    mode: str = Field(default="0600", pattern=r"^0[0-7]{3}$")
    """A socket's file mode."""
    group: str = ""
    """A socket's group, by name; the process's own when left out."""

    @property
    def is_unix(self) -> bool:
        """Whether this is a Unix socket."""
        return self.address.startswith("unix:")

    @property
    def socket_path(self) -> Path:
        """The path of a Unix socket."""
        return Path(self.address.removeprefix("unix:"))

    @model_validator(mode="after")
    def _is_safe(self) -> "Listener":
        wrong = self._wrong_unix() if self.is_unix else self._wrong_tcp()
        if wrong:
            raise ValueError(wrong)
        return self

    def _wrong_unix(self) -> str:
        """Why this socket may not be opened; empty when it may."""
        if not self.socket_path.name:
            return "unix: needs a path"
        if int(self.mode, 8) & 0o007:
            return f"mode {self.mode} would let every user of the machine in; use group instead"
        if isinstance(self.identity, NoIdentity):
            return "a Unix socket takes the identity `fixed` or `jwt`"
        return ""

    def _wrong_tcp(self) -> str:
        """Why this port may not be opened; empty when it may."""
        host, _, port = self.address.rpartition(":")
        is_port = port.isascii() and port.isdecimal() and int(port) <= 65535
        # gRPC reads other words before a colon as schemes of its own, e.g. unix-abstract: or vsock:.
        if not is_port or not (host == "localhost" or _is_address(host)):
            return f"{self.address!r} is neither unix:PATH nor ADDRESS:PORT"
        if isinstance(self.identity, FixedIdentity):
            return "a fixed identity needs a Unix socket: anybody on the network could be it"
        if isinstance(self.identity, NoIdentity) and not _is_loopback(host):
            return "a TCP listener without identity is allowed on loopback only; use identity jwt"
        if isinstance(self.identity, NoIdentity) and set(self.services) & CONTROL_SERVICES:
            return "control services are never served without proof of identity"
        return ""


class CredentialGrant(Part):
    """Which references a tenant's connections may use, and which hosts may receive what they resolve to."""

    tenant: str
    """Whose connections this is for."""
    references: tuple[str, ...] = Field(min_length=1)
    """Patterns in which `*` stands for anything but `/`, e.g. `file:/run/secrets/acme/*`."""
    hosts: tuple[str, ...] = Field(min_length=1)
    """`HOST` or `HOST:PORT`, exact; `*.HOST` for its subdomains."""


class RateSettings(Part):
    """At most `burst` at once and `per_minute` in the long run."""

    per_minute: float = Field(gt=1e-6, le=1e9)
    """In the long run."""
    burst: int = Field(ge=1, le=1_000_000_000)
    """At once."""


class LimitSettings(Part):
    """Rates that hold for everybody; rows of the registry add their own."""

    caller: RateSettings = RateSettings(per_minute=1200, burst=200)
    """All requests of one principal, refused ones included."""
    tenant: RateSettings | None = None
    """All calls of one tenant."""
    agent: RateSettings | None = None
    """All calls of one agent, beside the rate of its own row."""
    max_in_flight: int = Field(default=1000, ge=1)
    """Calls in the gateway at once; more are turned away with RESOURCE_EXHAUSTED."""
    reads_pass_without_limiter: bool = False
    """When the limiter cannot tell: let reads pass (counted). Writes are always refused."""


class NetworkSettings(Part):
    """Where adapters may connect beyond the public internet."""

    private_targets: tuple[str, ...] = ()
    """Exact `ADDRESS:PORT` pairs, e.g. `10.0.3.7:8080` or `[fd00::7]:443`."""

    @field_validator("private_targets")
    @classmethod
    def _are_exact(cls, targets: tuple[str, ...]) -> tuple[str, ...]:
        for target in targets:
            host, _, port = target.rpartition(":")
            if not _is_address(host) or not port.isdecimal() or not 0 < int(port) <= 65535:
                raise ValueError(f"{target!r} is not an exact ADDRESS:PORT")
        return targets


class PolicySettings(Part):
    """Which Rego decides."""

    paths: tuple[Path, ...] = ()
    """Folders of `.rego` and of `data.json`/`data.yaml`; the built-in pack when empty."""
    reload_seconds: float = Field(default=2.0, ge=0)
    """How often the folders are looked at for a change; 0 turns reloading off."""
    max_decision_ms: float = Field(default=10.0, gt=0)
    """A policy that takes longer on the largest arguments of any tool does not load."""


class RegistrySettings(Part):
    """Where the manifests of tools, connections and agents are."""

    paths: tuple[Path, ...] = ()
    """Files and folders; nothing but what the adapters bring when empty, and then no agent sees a tool."""


class ArgumentSettings(Part):
    """How large arguments may be."""

    max_bytes: int = Field(default=1024 * 1024, ge=1024, le=4 * 1024 * 1024)
    """Bytes of JSON in one call."""


class AuditSettings(Part):
    """Where and how lines are kept."""

    segment_bytes: int = Field(default=64 * 1024 * 1024, ge=64 * 1024)
    """A file that has grown beyond this is closed and the next one begun."""
    commit_delay_ms: float = Field(default=4.0, ge=0, le=50)
    """How long a line waits for others to share its sync while calls are being worked on."""


class ServerSettings(Part):
    """The server's own bounds."""

    max_call_seconds: float = Field(default=120.0, gt=0)
    """The longest that any call may take, whatever its caller or tool says."""
    drain_seconds: float = Field(default=10.0, ge=0)
    """On SIGTERM: how long calls in flight may take to finish."""


class Settings(Part):
    """All settings of one gateway."""

    state_dir: Path = Path(".tollhouse")
    """Journal, audit and sockets without a path of their own. Mode 0700."""
    known_scopes: tuple[str, ...] = ()
    """Scopes that tools may require; empty: any well-formed one."""
    listeners: tuple[Listener, ...] = ()
    """Where to listen; at least one."""
    registry: RegistrySettings = RegistrySettings()
    """Which tools, connections and agents there are."""
    policy: PolicySettings = PolicySettings()
    """What decides."""
    credentials: tuple[CredentialGrant, ...] = ()
    """Which credentials may be used and who may receive them; none unless granted."""
    network: NetworkSettings = NetworkSettings()
    """Where adapters may connect."""
    limits: LimitSettings = LimitSettings()
    """How often."""
    arguments: ArgumentSettings = ArgumentSettings()
    """How large arguments may be."""
    audit: AuditSettings = AuditSettings()
    """How lines are kept."""
    server: ServerSettings = ServerSettings()
    """How long calls and the drain may take."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Events below this level are not logged."""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def default_settings(state_dir: Path = Path(".tollhouse")) -> Settings:
    """What plain `tollhouse serve` runs with: one socket, one principal without any grant."""
    listener = Listener(
        name="agent",
        address=f"unix:{state_dir / 'gateway.sock'}",
        identity=FixedIdentity(kind="fixed", tenant="default", agent="default"),
    )
    return Settings(state_dir=state_dir, listeners=(listener,))


def load_settings(path: Path) -> Settings:
    """The settings in a YAML file; relative paths in it count from its folder.

    Raises `StartError` with every problem, each with file, line and rule.
    """
    try:
        document = read_document(path)
    except Unreadable as error:
        raise _not_settings(path, [error.problem]) from error
    settings, problems = parse(Settings, document)
    if settings is not None:
        problems = _cross_checks(settings, document)
    if settings is None or problems:
        raise _not_settings(path, problems)
    return _anchored(settings, path.resolve().parent)


def _not_settings(path: Path, problems: list[Problem]) -> StartError:
    return StartError(f"the settings in {path} cannot be used; correct what is listed", tuple(map(str, problems)))


def _cross_checks(settings: Settings, document: Document) -> list[Problem]:
    problems = []
    if not settings.listeners:
        problems.append(document.problem(("listeners",), "listeners", "name at least one listener"))
    for field in ("name", "address"):
        seen: set[str] = set()
        for index, listener in enumerate(settings.listeners):
            value = getattr(listener, field)
            if value in seen and not value.endswith(":0"):
                at = ("listeners", index, field)
                problems.append(document.problem(at, "duplicate", f"two listeners have the {field} {value!r}"))
            seen.add(value)
    return problems


def _anchored(settings: Settings, base: Path) -> Settings:
    """The same settings with every relative path made absolute from `base`."""
    return settings.model_copy(
        update={
            "state_dir": base / settings.state_dir,
            "listeners": tuple(_anchored_listener(listener, base) for listener in settings.listeners),
            "registry": settings.registry.model_copy(
                update={"paths": tuple(base / path for path in settings.registry.paths)}
            ),
            "policy": settings.policy.model_copy(
                update={"paths": tuple(base / path for path in settings.policy.paths)}
            ),
        }
    )


def _anchored_listener(listener: Listener, base: Path) -> Listener:
    update: dict[str, object] = {}
    if listener.is_unix:
        update["address"] = f"unix:{base / listener.socket_path}"
    if isinstance(listener.identity, JwtIdentity):
        jwks_file = base / listener.identity.jwks_file
        update["identity"] = listener.identity.model_copy(update={"jwks_file": jwks_file})
    return listener.model_copy(update=update)
