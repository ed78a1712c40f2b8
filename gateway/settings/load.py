"""The deployment's settings: read once, frozen, a sentence per field, unknown keys are errors.

Settings belong to whoever deploys the gateway. What a tenant's administrator must not be able to
widen stands here and never in a registry row: which credential references may be used and which
hosts may receive them, which private addresses may be reached, who may listen where.
"""

from pathlib import Path
from typing import Literal

from gateway.documents import Document, Problem, Unreadable, parse, read_document
from gateway.errors import StartError
from gateway.settings.limits import LimitSettings
from gateway.settings.listeners import FixedIdentity, Listener, MetricsSettings
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
from gateway.settings.vault import VaultSettings


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
    metrics: MetricsSettings | None = None
    """Where Prometheus reads; nowhere when left out."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Events below this level are not logged."""


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
    if settings.metrics is not None and any(settings.metrics.address == one.address for one in settings.listeners):
        message = "a listener has this address; metrics are never where agents are"
        problems.append(document.problem(("metrics", "address"), "duplicate", message))
    return problems
