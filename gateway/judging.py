"""Which policy engine decides, what it is tried on before it may, and what is told of it."""

from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path

from adapters.base import Adapter, Clock
from gateway.deployment import Current
from gateway.metrics.counts import Metrics
from gateway.metrics.families import Reloaded
from gateway.policy.base import Engine, Floor
from gateway.policy.bundle.floor import FileFloor, NoFloor
from gateway.policy.bundle.source import BundleSource
from gateway.policy.candidate import Trials
from gateway.policy.opa import OpaEngine
from gateway.policy.reload import ReloadingEngine
from gateway.policy.source import FolderSource
from gateway.policy.source import Source as PolicySource
from gateway.policy.timing import Prepare, timing_documents
from gateway.registry.catalogue import Catalogue, new_tools
from gateway.registry.operations import operation_of
from gateway.rows import Tool
from gateway.settings.load import Settings
from gateway.telemetry import Log
from gateway.telling import OnEvent, telling

FLOOR = "policy/floor"
"""Below the state directory: the newest bundle that ever decided."""
POLICY_CHANGES = {"policy_activated": True, "policy_rejected": False, "policy_failed": False}
"""The events of a policy engine that are a change, and whether it was taken over."""


def engine_of(current: Current, adapters: Mapping[str, Adapter], clock: Clock, on_event: OnEvent) -> Engine:
    """The engine that the settings name, not started yet."""
    policy, state_dir = current.settings.policy, current.settings.state_dir
    if policy.opa is not None:
        floor = _floor(state_dir, is_ordered=policy.opa.is_ordered)
        return OpaEngine(policy.opa, clock=clock, floor=floor, on_event=on_event)
    source: PolicySource = FolderSource(policy_paths(current.settings))
    if policy.bundle is not None:
        floor = _floor(state_dir, is_ordered=policy.bundle.is_ordered)
        source = BundleSource(policy.bundle, state_dir / "policy", clock=clock, floor=floor)
    trials = Trials(
        max_ms=policy.max_decision_ms,
        documents=lambda: _documents(current.catalogue.tools, current.catalogue, adapters),
    )
    return ReloadingEngine(source, clock=clock, try_out=trials, reload_seconds=policy.reload_seconds, on_event=on_event)


async def policy_against(
    before: Catalogue, after: Catalogue, engine: Engine, adapters: Mapping[str, Adapter]
) -> tuple[str, ...]:
    """An embedded policy is timed on every tool that is new or changed; OPA has a deadline instead."""
    changed = new_tools(before, after)
    if not isinstance(engine, ReloadingEngine) or not changed:
        return ()
    problems = await engine.fits(lambda: _documents(changed, after, adapters))
    return tuple(map(str, problems))


def policy_events(log: Log, metrics: Metrics) -> OnEvent:
    """What became of a policy: told, and counted when it was taken over or refused."""
    tell = telling(log)

    def on_event(name: str, fields: Mapping[str, str]) -> None:
        tell(name, fields)
        if name in POLICY_CHANGES:
            metrics.reloaded(Reloaded.POLICY, is_ok=POLICY_CHANGES[name])

    return on_event


def policy_paths(settings: Settings) -> tuple[Path, ...]:
    """The folders that decide: those of the settings, or the built-in pack."""
    return settings.policy.paths or (default_pack(),)


def default_pack() -> Path:
    """The built-in pack: inside the package when installed from a wheel, `policies/base/` in a source tree."""
    package = Path(str(resources.files("gateway.policy")))
    in_wheel, in_tree = package / "default", package.parent.parent / "policies" / "base"
    return in_wheel if in_wheel.is_dir() else in_tree


def _floor(state_dir: Path, *, is_ordered: bool) -> Floor:
    return FileFloor(state_dir / FLOOR) if is_ordered else NoFloor()


def _documents(
    tools: Iterable[Tool], catalogue: Catalogue, adapters: Mapping[str, Adapter]
) -> Iterator[tuple[str, bytes]]:
    """What a policy is timed on for these tools of a registry."""
    agents = tuple(agent for agent, _ in catalogue.agents.values())

    def preparing(tool: Tool) -> Prepare:
        return operation_of(tool, adapters).prepare

    return timing_documents(tools, agents, preparing)
