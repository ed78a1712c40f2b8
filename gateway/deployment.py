"""What a gateway is made of: what lives as long as the process, and what is swapped while it runs."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adapters.base import Adapter, Clock
from gateway.call import Answer, Explanation, Principal, Request
from gateway.credentials.base import Source
from gateway.identity.base import Authenticator
from gateway.metrics.counts import Metrics
from gateway.metrics.gauges import VaultState
from gateway.pipeline import Announcement, Pipeline
from gateway.policy.base import Engine
from gateway.ratelimit.base import Limiter
from gateway.registry.catalogue import Catalogue
from gateway.settings.load import Settings
from gateway.telemetry import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What can be swapped while the gateway runs."""

    settings: Settings
    catalogue: Catalogue
    files: tuple[Path, ...] = ()
    """The files and folders that it was read from."""


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
    sources: Mapping[str, Source]
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
    read: Callable[[], Deployment]
    """Settings and registry as they are on disk now. Blocks; raises `StartError`."""
    policy_against: Callable[[Deployment], Awaitable[tuple[str, ...]]]
    """What the policy has against the registry of a deployment that was read, one sentence each."""
    vault_against: Callable[[Deployment], Awaitable[tuple[str, ...]]]
    """What whoever keeps credentials has against its references, one sentence each."""


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
