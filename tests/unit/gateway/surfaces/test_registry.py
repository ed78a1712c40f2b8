"""RegistryService over a socket: what a request says reaches the registry, and what is wrong with it is told."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import orjson
import pytest
from fakes.administration import AGENT, CONNECTION, TOOL, Replica, operator, replica, served
from fakes.clock import START, FakeClock
from real.stores import opened, sqlite_settings

from gateway.store import health
from gateway.store.columns import moment_of
from gateway.surfaces import registry as surface
from gateway.v1 import registry_service_pb2 as pb

WHO = (("who", "ann"),)
KINDS = {"tool": pb.ROW_KIND_TOOL, "connection": pb.ROW_KIND_CONNECTION, "agent": pb.ROW_KIND_AGENT}


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Replica]:
    """A gateway."""
    clock = FakeClock()
    async with opened(await sqlite_settings(tmp_path), clock) as database:
        yield replica(database, clock)


@pytest.fixture
async def stub(one: Replica, tmp_path: Path) -> AsyncIterator[Any]:
    """Its service."""
    async with served(one, f"unix:{tmp_path / 's'}") as made:
        yield made


def row(of: str, document: dict[str, Any] | bytes, **changes: Any) -> pb.RowChange:
    """A change that puts a row where there is none."""
    raw = document if isinstance(document, bytes) else orjson.dumps(document)
    name = "x" if isinstance(document, bytes) else document["name"]
    return pb.RowChange(**{"kind": KINDS[of], "name": name, "document_json": raw} | changes)


def all_rows() -> list[pb.RowChange]:
    """A registry that is sound."""
    return [row("agent", AGENT), row("tool", TOOL), row("connection", CONNECTION)]


async def status(asking: Any) -> tuple[grpc.StatusCode, str]:
    """How it is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asking
    return caught.value.code(), caught.value.details() or ""


async def test_rows_are_put_read_and_taken_away(stub: Any) -> None:
    """One by one and together; the document comes back with what the store knows of it."""
    applied = await stub.ApplyRows(pb.ApplyRowsRequest(changes=all_rows()), metadata=WHO)
    assert not applied.problems
    assert [(found.name, found.version) for found in applied.rows] == [("helper", 1), ("echo", 1), ("fake", 1)]
    change = row("tool", TOOL | {"title": "New"}, expected_version=1)
    put = (await stub.PutRow(pb.PutRowRequest(change=change), metadata=WHO)).row
    assert (put.version, put.updated_by, put.updated_at.seconds) == (2, "ann", int(START))
    got = (await stub.GetRow(pb.GetRowRequest(kind=pb.ROW_KIND_TOOL, name="echo"), metadata=WHO)).row
    assert (got, orjson.loads(got.document_json)) == (put, TOOL | {"title": "New"})
    gone = pb.DeleteRowRequest(kind=pb.ROW_KIND_AGENT, name="helper", any_version=True)
    assert not (await stub.DeleteRow(gone, metadata=WHO)).problems
    code, _ = await status(stub.GetRow(pb.GetRowRequest(kind=pb.ROW_KIND_AGENT, name="helper"), metadata=WHO))
    assert code is grpc.StatusCode.NOT_FOUND


async def test_problems_come_back_with_row_path_and_rule(stub: Any) -> None:
    """Of a document that is none, of a row that is none, and of a registry that would be none."""
    for change, want in (
        (row("tool", b"{"), ("tool/x", "", "json")),
        (row("tool", b'{"name":"x","name":"x"}'), ("tool/x", "", "duplicate_key")),
        (row("agent", b'{"name":"x","tenant":"rival"}'), ("agent/x", "", "tenant")),
        (row("tool", b'{"name":"x","a":"' + b"a" * 600_000 + b'"}'), ("tool/x", "", "size")),
        (row("connection", CONNECTION | {"colour": 1}), ("connection/fake", "/colour", "unknown_key")),
        (row("agent", AGENT), ("agent/helper", "/tools", "known_tools")),
    ):
        response = await stub.ApplyRows(pb.ApplyRowsRequest(changes=[change]), metadata=WHO)
        assert want in [(found.row, found.path, found.rule) for found in response.problems]
        assert not response.rows
    response = await stub.PutRow(pb.PutRowRequest(change=row("agent", AGENT)), metadata=WHO)
    assert (len(response.problems), response.HasField("row")) == (1, False)


async def test_validating_says_the_same_and_changes_nothing(stub: Any) -> None:
    """For every request that changes rows."""
    applied = await stub.ApplyRows(pb.ApplyRowsRequest(changes=all_rows(), validate_only=True), metadata=WHO)
    assert not applied.problems
    await stub.PutRow(pb.PutRowRequest(change=row("connection", CONNECTION), validate_only=True), metadata=WHO)
    assert not (await stub.ListRows(pb.ListRowsRequest(), metadata=WHO)).rows


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("ApplyRows", pb.ApplyRowsRequest()),
        ("ApplyRows", pb.ApplyRowsRequest(changes=[row("agent", AGENT), row("agent", AGENT)])),
        ("ApplyRows", pb.ApplyRowsRequest(changes=[row("agent", AGENT, kind=0)])),
        ("ApplyRows", pb.ApplyRowsRequest(changes=[row("agent", AGENT, kind=9)])),
        ("ApplyRows", pb.ApplyRowsRequest(changes=[row("agent", AGENT, name="")])),
        ("ApplyRows", pb.ApplyRowsRequest(changes=[row("agent", AGENT, name="a/b")])),
        ("ApplyRows", pb.ApplyRowsRequest(changes=[row("agent", AGENT, name="a" * 65)])),
        ("PutRow", pb.PutRowRequest(change=row("agent", AGENT, document_json=b""))),
        ("PutRow", pb.PutRowRequest()),
        ("GetRow", pb.GetRowRequest(name="x")),
        ("GetRow", pb.GetRowRequest(kind=pb.ROW_KIND_TOOL)),
        ("ListRows", pb.ListRowsRequest(page_token="nonsense")),
        ("ListRows", pb.ListRowsRequest(page_token="x" * 300)),
        ("SetStop", pb.SetStopRequest(name="x", reason="y")),
        ("SetStop", pb.SetStopRequest(scope=pb.STOP_SCOPE_TOOL, name="x")),
        ("SetStop", pb.SetStopRequest(scope=pb.STOP_SCOPE_TOOL, reason="y")),
        ("SetStop", pb.SetStopRequest(scope=pb.STOP_SCOPE_TENANT, name="rival", reason="y")),
        ("SetStop", pb.SetStopRequest(scope=pb.STOP_SCOPE_TOOL, name="x", reason="y" * 301)),
        ("ClearStop", pb.ClearStopRequest(scope=pb.STOP_SCOPE_TOOL, name="x", reason=" ")),
    ],
)
async def test_a_request_that_makes_no_sense_is_told(stub: Any, method: str, request_: Any) -> None:
    """In one sentence, and nothing is done."""
    code, sentence = await status(getattr(stub, method)(request_, metadata=WHO))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert sentence


async def test_a_conflict_is_aborted(stub: Any) -> None:
    """As the contract says."""
    await stub.ApplyRows(pb.ApplyRowsRequest(changes=all_rows()), metadata=WHO)
    code, _ = await status(stub.PutRow(pb.PutRowRequest(change=row("tool", TOOL)), metadata=WHO))
    assert code is grpc.StatusCode.ABORTED


async def test_rows_are_listed_page_by_page(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one kind or of all; a page is bounded by rows and by bytes."""
    agents = [row("agent", AGENT | {"name": f"a{number}"}) for number in range(3)]
    await stub.ApplyRows(pb.ApplyRowsRequest(changes=[*all_rows(), *agents]), metadata=WHO)
    for size, page_bytes in ((2, surface.PAGE_BYTES), (0, 10)):
        monkeypatch.setattr(surface, "PAGE_BYTES", page_bytes)
        found, token = [], ""
        while True:
            page = await stub.ListRows(pb.ListRowsRequest(page_size=size, page_token=token), metadata=WHO)
            found += [listed.name for listed in page.rows]
            assert len(page.rows) <= 2
            token = page.next_page_token
            if not token:
                break
        assert found == ["a0", "a1", "a2", "helper", "fake", "echo"]
    page = await stub.ListRows(pb.ListRowsRequest(kind=pb.ROW_KIND_TOOL), metadata=WHO)
    assert [listed.name for listed in page.rows] == ["echo"]


async def test_a_connection_shows_its_health(one: Replica, stub: Any) -> None:
    """And nothing else does."""
    await stub.ApplyRows(pb.ApplyRowsRequest(changes=all_rows()), metadata=WHO)
    async with one.database.tenant("acme") as session:
        await health.failed(session, "fake", moment_of(START), "vendor_forbidden", needs_authorisation=True)
    shown = {listed.name: listed for listed in (await stub.ListRows(pb.ListRowsRequest(), metadata=WHO)).rows}
    found = shown["fake"].health
    assert (found.last_error, found.needs_authorisation, found.last_error_at.seconds) == (
        "vendor_forbidden",
        True,
        int(START),
    )
    assert not found.HasField("last_success_at")
    assert not shown["echo"].HasField("health")


async def test_what_is_stopped_is_set_listed_and_cleared(stub: Any) -> None:
    """Of the caller's own tenant."""
    request = pb.SetStopRequest(scope=pb.STOP_SCOPE_AGENT, name="helper", reason="a leak")
    stop = (await stub.SetStop(request, metadata=WHO)).stop
    assert (stop.scope, stop.name, stop.reason, stop.set_by) == (pb.STOP_SCOPE_AGENT, "helper", "a leak", "ann")
    assert list((await stub.ListStops(pb.ListStopsRequest(), metadata=WHO)).stops) == [stop]
    clear = pb.ClearStopRequest(scope=pb.STOP_SCOPE_AGENT, name="helper", reason="over")
    await stub.ClearStop(clear, metadata=WHO)
    assert (await status(stub.ClearStop(clear, metadata=WHO)))[0] is grpc.StatusCode.NOT_FOUND
    assert not (await stub.ListStops(pb.ListStopsRequest(), metadata=WHO)).stops


async def test_who_may_not_is_told_so(one: Replica, stub: Any) -> None:
    """By policy alone: the service has no opinion."""
    one.engine.admin_answer = None
    for asking in (
        stub.ApplyRows(pb.ApplyRowsRequest(changes=all_rows()), metadata=WHO),
        stub.ListRows(pb.ListRowsRequest(), metadata=WHO),
        stub.ListStops(pb.ListStopsRequest(), metadata=WHO),
    ):
        assert (await status(asking))[0] is grpc.StatusCode.PERMISSION_DENIED
    assert {line.principal for line in one.sink.lines} == {operator().id}
