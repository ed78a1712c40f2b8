"""The requests that an adapter makes, taken down by a stub server that is well."""

import contextlib
from dataclasses import dataclass
from typing import Any

from fakes.cases.base import ApiCase
from fakes.cases.every import API_CASES
from fakes.clock import FakeClock
from fakes.table import HttpRow, rows_of, vendors_with_table
from fakes.trying import installed
from fakes.vendor import Asked, vendor_server

from adapters.base import AdapterError, Invocation, Secret


@dataclass(frozen=True)
class Captured:
    """A request, and the operation that made it."""

    vendor: str
    operation: str
    asked: Asked


async def captured(vendor: str) -> list[Captured]:
    """What every operation of the vendor asks with its case's arguments and with those of the vendor's table, what it
    asks for a preview, and when it has to find out what happened.
    """
    found: list[Captured] = []
    for case in (case for case in API_CASES if case.adapter == vendor):
        given = [None, *(row.arguments for row in _rows(vendor) if row.operation == case.operation and row.arguments)]
        for arguments in given:
            asked = await _asked(case, arguments)
            found += [Captured(vendor, case.operation, one) for one in asked]
    return found


def _rows(vendor: str) -> list[HttpRow]:
    return list(rows_of(vendor, HttpRow)) if vendor in vendors_with_table() else []


async def _asked(case: ApiCase, arguments: dict[str, Any] | None) -> list[Asked]:
    async with vendor_server(case.answer) as server:
        clock = FakeClock(sleeps_pass=True)
        adapters = installed(clock, server.port)
        operation = adapters[case.adapter].operations[case.operation]
        invocation = Invocation(
            arguments=operation.prepare(case.arguments(server.port) if arguments is None else arguments),
            target=case.target(server.port),
            credential=Secret(case.credential),
            deadline=clock.monotonic() + 5.0,
            effect_id="effect-1",
            since=clock.now() - 60.0,
        )
        for step in (operation.preview, operation.invoke, operation.reconcile):
            with contextlib.suppress(AdapterError):  # what was asked is looked at, not what came of it
                if step is not None:
                    await step(invocation)
        for adapter in adapters.values():
            await adapter.close()
        return server.asked
