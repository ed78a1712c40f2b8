"""Whom to ask about an effect: the tool, its connection and its operation as the registry has them today."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from adapters.base import Adapter, Operation
from gateway.registry.catalogue import Catalogue
from gateway.registry.operations import Unbound, operation_of
from gateway.rows import Connection, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """A tool of one tenant, with whom it stands for."""

    tool: Tool
    connection: Connection
    operation: Operation


Find = Callable[[str, str], Vendor | None]
"""By tenant and the tool's name; None when there is no such tool, whoever may see it."""


def finder(catalogue: Callable[[], Catalogue], adapters: Mapping[str, Adapter]) -> Find:
    """Finds in the registry of the moment."""

    def find(tenant: str, name: str) -> Vendor | None:
        there = catalogue()
        tool = there.tool(tenant, name)
        if tool is None:
            return None
        named = (one for one in there.connections if (one.tenant, one.name) == (tenant, tool.binding.connection))
        connection = next(named, None)
        if connection is None:
            return None
        with contextlib.suppress(Unbound):
            return Vendor(tool=tool, connection=connection, operation=operation_of(tool, adapters))
        return None

    return find
