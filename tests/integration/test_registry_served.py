"""A whole gateway whose tools are rows of its store: they come, change and go while it runs."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.path_rows import registry_rows
from fakes.served import Served, channel_to, served, socket_listener
from real.stores import sqlite_settings

from gateway.settings.listeners import FixedIdentity, Listener
from gateway.settings.parts import RegistrySettings
from gateway.v1 import codes_pb2
from gateway.v1 import registry_service_pb2 as pb
from gateway.v1 import registry_service_pb2_grpc as rpc

KINDS = {"connections": pb.ROW_KIND_CONNECTION, "tools": pb.ROW_KIND_TOOL, "agents": pb.ROW_KIND_AGENT}
SECONDS = 1.0
"""How soon a change is there."""


def _control(folder: Path) -> Listener:
    identity = FixedIdentity(kind="fixed", tenant="acme", principal="ann", principal_kind="human", roles=("operator",))
    return Listener(name="control", address=f"unix:{folder / 'c.sock'}", services=("registry",), identity=identity)


@contextlib.asynccontextmanager
async def _running(folder: Path) -> AsyncIterator[tuple[Served, Any]]:
    store = await sqlite_settings(folder)
    async with (
        served(
            folder,
            listeners=(socket_listener(folder), _control(folder)),
            registry=RegistrySettings(source="store"),
            store=store,
        ) as one,
        channel_to(f"unix:{folder / 'c.sock'}") as channel,
    ):
        yield one, rpc.RegistryServiceStub(channel)


def _changes() -> list[pb.RowChange]:
    rows = registry_rows()
    changes = []
    for part, kind in KINDS.items():
        for row in rows[part]:
            if row.get("tenant", "acme") == "acme":
                document = {key: value for key, value in row.items() if key != "tenant"}
                changes.append(
                    pb.RowChange(kind=kind, name=row["name"], document_json=orjson.dumps(document), any_version=True)
                )
    return changes


async def _within(holds: Callable[[], Any]) -> float:
    """After how many seconds it holds."""
    began = time.monotonic()
    while not await holds():
        assert time.monotonic() - began < SECONDS
        await asyncio.sleep(0.02)
    return time.monotonic() - began


async def test_tools_come_and_go_without_a_restart(tmp_path: Path) -> None:
    """From nothing, and each change is there within a second, with an `admin` line."""
    async with _running(tmp_path) as (one, registry):
        assert (await one.call()).error.reason == codes_pb2.REASON_TOOL_NOT_FOUND
        applied = await registry.ApplyRows(pb.ApplyRowsRequest(changes=_changes()))
        assert list(applied.problems) == []

        async def is_there() -> bool:
            return bool((await one.call()).WhichOneof("outcome") == "result")

        await _within(is_there)
        told = await registry.DeleteRow(pb.DeleteRowRequest(kind=pb.ROW_KIND_TOOL, name="echo", any_version=True))
        assert [problem.row for problem in told.problems] == ["agent/helper"], "its agent still names it"
        told = await registry.DeleteRow(pb.DeleteRowRequest(kind=pb.ROW_KIND_AGENT, name="helper", any_version=True))
        assert list(told.problems) == []

        async def is_gone() -> bool:
            return bool((await one.call()).error.reason == codes_pb2.REASON_TOOL_NOT_FOUND)

        await _within(is_gone)
        kinds = [line["kind"] for line in one.lines]
        assert kinds.count("admin") >= 2


async def test_what_would_not_load_is_told_and_changes_nothing(tmp_path: Path) -> None:
    """All or nothing, with the place of each problem."""
    async with _running(tmp_path) as (one, registry):
        changes = _changes()
        changes[-1].document_json = b'{"name":"helper","tools":["nothing"]}'
        told = await registry.ApplyRows(pb.ApplyRowsRequest(changes=changes))
        assert [problem.row for problem in told.problems]
        assert (await one.call()).error.reason == codes_pb2.REASON_TOOL_NOT_FOUND


@pytest.mark.parametrize("name", ["echo"])
async def test_a_stop_is_there_within_a_second_and_so_is_its_end(tmp_path: Path, name: str) -> None:
    """Of one tool."""
    async with _running(tmp_path) as (one, registry):
        await registry.ApplyRows(pb.ApplyRowsRequest(changes=_changes()))

        async def runs() -> bool:
            return bool((await one.call(name)).WhichOneof("outcome") == "result")

        async def is_stopped() -> bool:
            return bool((await one.call(name)).error.reason == codes_pb2.REASON_STOPPED)

        await _within(runs)
        await registry.SetStop(pb.SetStopRequest(scope=pb.STOP_SCOPE_TOOL, name=name, reason="it misbehaves"))
        await _within(is_stopped)
        await registry.ClearStop(pb.ClearStopRequest(scope=pb.STOP_SCOPE_TOOL, name=name, reason="it behaves"))
        await _within(runs)
