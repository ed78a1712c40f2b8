"""What each listener serves: the services that its settings name, and nothing else."""

from collections.abc import Callable, Iterator

import grpc

from gateway.deployment import Current, Machinery
from gateway.services import Services
from gateway.settings.listeners import Listener, Service
from gateway.surfaces.approvals import ApprovalService
from gateway.surfaces.calls import CallService
from gateway.surfaces.edge import Edge
from gateway.surfaces.grpc import ToolService
from gateway.surfaces.handles import HandleService
from gateway.surfaces.registry import RegistryService
from gateway.surfaces.runs import RunService
from gateway.surfaces.watching_events import WatchingEvents

Handler = grpc.ServiceRpcHandler


class Handlers:
    """Makes the handlers of listeners."""

    def __init__(self, services: Services, machinery: Machinery, current: Current) -> None:
        self._services = services
        self._machinery = machinery
        self._current = current
        self._makers: dict[Service, Callable[[Edge], Iterator[Handler]]] = {
            Service.TOOL: self._tool,
            Service.APPROVAL: self._approval,
            Service.REGISTRY: self._registry,
            Service.RUN: self._run,
            Service.CALL: self._call,
        }

    def of(self, listener: Listener, edge: Edge) -> list[Handler]:
        """What is served there beside health; one for probes has no edge, and is not asked for."""
        named = (self._makers[service] for service in listener.services if service in self._makers)
        return [handler for make in named for handler in make(edge)]

    def _tool(self, edge: Edge) -> Iterator[Handler]:
        services = self._services
        yield ToolService(edge, services.handles, lambda: self._current.catalogue).handler()
        yield HandleService(edge, services.handles, services.artifacts).handler()
        if services.events is not None:
            yield WatchingEvents(edge, services.events.watching, self._machinery.metrics.event_sent).handler()

    def _approval(self, edge: Edge) -> Iterator[Handler]:
        services = self._services
        yield ApprovalService(edge, services.desk, services.deciding, clock=self._machinery.clock).handler()

    def _registry(self, edge: Edge) -> Iterator[Handler]:
        yield RegistryService(edge, self._services.administration).handler()

    def _run(self, edge: Edge) -> Iterator[Handler]:
        services, current = self._services, self._current
        yield RunService(
            edge,
            services.runs,
            services.deeds,
            has_agent=lambda tenant, name: (tenant, name) in current.catalogue.agents,
            clock=self._machinery.clock,
        ).handler()

    def _call(self, edge: Edge) -> Iterator[Handler]:
        yield CallService(edge, self._services.unresolved).handler()
