"""What a gateway is made of: what lives as long as the process, and what is swapped while it runs."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adapters.base import Adapter, Clock
from adapters.webhooks import Webhooks
from gateway.approvals.base import Approved
from gateway.assertions.issuing import Assertions
from gateway.audit.signing import Signer
from gateway.call import Answer, Explanation, Principal, Request
from gateway.credentials.base import Lender, Source
from gateway.identity.base import Authenticator
from gateway.metrics.counts import Metrics
from gateway.metrics.gauges import VaultState
from gateway.parts import Announcement
from gateway.pipeline import Pipeline
from gateway.policy.base import Engine
from gateway.ratelimit.base import Limiter
from gateway.registry.catalogue import Catalogue
from gateway.registry.follower import RegistryFollower
from gateway.registry.stored import StoredRegistry
from gateway.settings.load import Settings
from gateway.store.database import Database
from gateway.store.sealing import Seal
from gateway.telemetry import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What can be swapped while the gateway runs."""

    settings: Settings
    catalogue: Catalogue
    files: tuple[Path, ...] = ()
    """The files and folders that it was read from."""
    problems: tuple[str, ...] = ()
    """What is wrong with rows of the store: the tenants that they are of are as they were."""


class Startable(Protocol):
    """A part with a life of its own: it asks somebody, or follows something that changes."""

    async def start(self) -> None:
        """Raises `StartError`, or `PolicyUnusable`."""
        ...

    async def stop(self) -> None:
        """Harmless when it was not started."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Machinery:
    """What lives as long as the process. `app.py` chooses each."""

    adapters: Mapping[str, Adapter]
    engine: Engine
    limiter: Limiter
    """Counts calls, over all replicas if it can."""
    caller_limiter: Limiter
    """Counts what callers ask, in this process."""
    database: Database
    """The store: what must outlive the process."""
    follower: RegistryFollower
    """What the store says of the registry, and of what is stopped."""
    registry: StoredRegistry
    """Makes a registry of it."""
    webhooks: Mapping[str, Webhooks]
    """Of those vendors that tell what happens, by name."""
    seal: Seal
    """Seals what is kept in it and may be private."""
    signer: Signer | None
    """Signs checkpoints of the audit, where the settings name a key."""
    assertions: Assertions | None
    """Signs for internal services who calls, where the settings name a key."""
    sources: Mapping[str, Source]
    lenders: Mapping[str, Lender]
    vault: Callable[[], VaultState] | None
    """How the vault stands, where there is one."""
    authenticators: Mapping[str, Authenticator]
    """By listener."""
    startable: tuple[Startable, ...]
    """What of all this has to be started, in order."""
    metrics: Metrics
    clock: Clock
    log: Log
    new_id: Callable[[], str]
    """Ids that sort by time."""
    new_secret_id: Callable[[], str]
    """Ids that nobody can guess."""
    read: Callable[[], Deployment]
    """Settings and registry as they are on disk now. Blocks; raises `StartError`."""
    policy_against: Callable[[Catalogue, Catalogue], Awaitable[tuple[str, ...]]]
    """What the policy has against a registry that comes after another, one sentence each."""
    vault_against: Callable[[Catalogue], Awaitable[tuple[str, ...]]]
    """What whoever keeps credentials has against a registry's references, one sentence each."""


class Current:
    """The deployment that holds now. A call keeps the pipeline that it began with."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.pipeline: Pipeline | None = None

    @property
    def settings(self) -> Settings:
        """The settings that hold now."""
        return self.deployment.settings

    @property
    def catalogue(self) -> Catalogue:
        """The registry that holds now."""
        return self.deployment.catalogue

    def call(self, principal: Principal, request: Request, announcement: Announcement) -> Awaitable[Answer]:
        """`Pipeline.call`."""
        assert self.pipeline is not None
        return self.pipeline.call(principal, request, announcement)

    def explain(self, principal: Principal, request: Request, announcement: Announcement) -> Awaitable[Explanation]:
        """`Pipeline.explain`."""
        assert self.pipeline is not None
        return self.pipeline.explain(principal, request, announcement)

    def execute(self, approved: Approved, announcement: Announcement) -> Awaitable[Answer]:
        """`Pipeline.execute`."""
        assert self.pipeline is not None
        return self.pipeline.execute(approved, announcement)
