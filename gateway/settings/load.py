"""The deployment's settings: read once, frozen, a sentence per field, unknown keys are errors.

Settings belong to whoever deploys the gateway. What a tenant's administrator must not be able to
widen stands here and never in a registry row: which credential references may be used and which
hosts may receive them, which private addresses may be reached, who may listen where.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from gateway.documents import Document, Problem, Unreadable, parse, read_document
from gateway.errors import StartError
from gateway.settings.approvals import ApprovalSettings
from gateway.settings.assertions import AssertionSettings
from gateway.settings.budgets import TenantBudget
from gateway.settings.events import EventSettings
from gateway.settings.handles import ArtifactSettings, HandleSettings
from gateway.settings.limits import LimitSettings
from gateway.settings.listeners import (
    FixedIdentity,
    Listener,
    MetricsSettings,
    MtlsIdentity,
    NamedIdentity,
    Place,
    mistaken_agents,
)
from gateway.settings.mcp import McpSettings
from gateway.settings.part import Part
from gateway.settings.parts import (
    ArgumentSettings,
    AuditSettings,
    CredentialGrant,
    NetworkSettings,
    RegistrySettings,
    ServerSettings,
)
from gateway.settings.policy import PolicySettings
from gateway.settings.resolution import ResolutionSettings
from gateway.settings.sealing import SealingSettings
from gateway.settings.store import SQLITE, StoreSettings
from gateway.settings.vault import VaultSettings

DATABASE_FILE = "store.db"


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
    vault: VaultSettings | None = None
    """Where `vault:` references are resolved; without it there are none."""
    assertions: AssertionSettings | None = None
    """Who signs for internal services who calls; nobody when left out."""
    network: NetworkSettings = NetworkSettings()
    """Where adapters may connect."""
    mcp: McpSettings = McpSettings()
    """What may be started as an MCP server."""
    limits: LimitSettings = LimitSettings()
    """How often."""
    arguments: ArgumentSettings = ArgumentSettings()
    """How large arguments may be."""
    audit: AuditSettings = AuditSettings()
    """How lines are kept."""
    server: ServerSettings = ServerSettings()
    """How long calls and the drain may take."""
    store: StoreSettings | None = None
    """Where what must outlive a gateway is kept: keys, approvals, budgets; `store.db` in the state directory, which
    holds one tenant, when left out.
    """
    budgets: tuple[TenantBudget, ...] = ()
    """What all agents of a tenant share, whatever their rows say."""
    approvals: ApprovalSettings = ApprovalSettings()
    """Whom policy asks when it names nobody, and who may look."""
    handles: HandleSettings = HandleSettings()
    """Calls that outlive the connection that they came by."""
    artifacts: ArtifactSettings = ArtifactSettings()
    """Results that are too large to be sent whole."""
    resolution: ResolutionSettings = ResolutionSettings()
    """How outcomes that nobody knows are found out."""
    sealing: SealingSettings = SealingSettings()
    """What seals what is kept and may be private."""
    events: EventSettings | None = None
    """Where vendors deliver events, and how they are kept; none are taken, and none are watched, when left out."""
    metrics: MetricsSettings | None = None
    """Where Prometheus reads; nowhere when left out."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Events below this level are not logged."""

    @property
    def database(self) -> StoreSettings:
        """The store that is used."""
        return self.store or StoreSettings(url=f"{SQLITE}{self.state_dir / DATABASE_FILE}")

    @property
    def named_tenants(self) -> frozenset[str]:
        """The tenants that stand in these settings; a token may name further ones."""
        found = set()
        for listener in self.listeners:
            match listener.identity:
                case NamedIdentity(tenant=tenant):
                    found.add(tenant)
                case MtlsIdentity(peers=peers):
                    found |= {peer.tenant for peer in peers if "{" not in peer.tenant}
        return frozenset(found)


def default_settings(state_dir: Path = Path(".tollhouse")) -> Settings:
    """What plain `tollhouse serve` runs with: one socket, one principal without any grant."""
    listener = Listener(
        name="agent",
        address=f"unix:{state_dir / 'gateway.sock'}",
        identity=FixedIdentity(kind="fixed", tenant="default", agent="default"),
    )
    return Settings(state_dir=state_dir, listeners=(listener,))


def load_settings(path: Path) -> Settings:
    """The settings in a YAML file; relative paths in it count from the folder that `path` names it in. A link is
    not followed for that: Kubernetes swaps a mounted ConfigMap by one, and paths must not change with every version.

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
    return settings.anchored(path.absolute().parent)


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
    problems += _mistaken_agents(settings, document)
    if settings.registry.source == "store" and settings.store is None:
        message = "a registry in the store needs to know where the store is; add a store section"
        problems.append(document.problem(("registry", "source"), "store", message))
    if settings.resolution.not_done_after_seconds <= settings.server.max_call_seconds:
        message = "must be longer than server.max_call_seconds: until then a call may still be on its way"
        problems.append(document.problem(("resolution", "not_done_after_seconds"), "order", message))
    problems += _shared_addresses(settings, document)
    return problems


def _shared_addresses(settings: Settings, document: Document) -> list[Problem]:
    """What else listens has an address of its own: none of it is where agents are."""
    seen = {listener.address for listener in settings.listeners}
    problems = []
    for at, place in _other_places(settings):
        if place.address in seen and not place.address.endswith(":0"):
            message = "something else of these settings listens there; nothing shares an address"
            problems.append(document.problem((*at, "address"), "duplicate", message))
        seen.add(place.address)
    return problems


def _other_places(settings: Settings) -> Iterator[tuple[tuple[str, ...], Place]]:
    if settings.metrics is not None:
        yield ("metrics",), settings.metrics
    if settings.events is not None:
        yield ("events",), settings.events
    if settings.assertions is not None and settings.assertions.publish is not None:
        yield ("assertions", "publish"), settings.assertions.publish


def _mistaken_agents(settings: Settings, document: Document) -> list[Problem]:
    return [
        document.problem(("listeners", index, "identity"), "mistaken_agents", message)
        for index, message in mistaken_agents(settings.listeners)
    ]
