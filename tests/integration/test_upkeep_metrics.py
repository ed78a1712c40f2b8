"""What a gateway keeps and owes moves its metrics: a whole gateway over SQLite, and what happens to it."""

import asyncio
import contextlib
import gc
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from fakes.adapter import FakeAdapter
from fakes.aftermaths import claim_of, intent_of
from fakes.clock import FakeClock
from fakes.collector import collector
from fakes.engine import FakeEngine
from fakes.lines import begin, line
from fakes.path_rows import registry_rows
from fakes.scrapes import scrape
from fakes.seal import FakeSeal
from fakes.served import Served, channel_to, served, settings_in, socket_listener
from real.stores import opened
from real.waiting import until

from adapters.base import Output
from gateway.audit.open import open_audit
from gateway.audit.signing import make_key
from gateway.call import CallerKind, Whose
from gateway.clock import SystemClock
from gateway.idempotency.store import StoreKeys
from gateway.metrics.exposition import Exposition
from gateway.observing import exposition_of
from gateway.settings.audit import CheckpointSettings, JsonlSink, OtlpSink
from gateway.settings.handles import ArtifactSettings
from gateway.settings.listeners import FixedIdentity, Listener, Service
from gateway.settings.parts import AuditSettings, RegistrySettings
from gateway.settings.resolution import ResolutionSettings
from gateway.v1 import approval_service_pb2 as approvals
from gateway.v1 import approval_service_pb2_grpc as approvals_rpc
from gateway.v1 import call_service_pb2 as calls
from gateway.v1 import call_service_pb2_grpc as calls_rpc
from gateway.v1 import tool_service_pb2 as tools

PARK = '{"effect":"require_approval","reasons":[],"obligations":[]}'
NOTE = '{"path":"/a"}'


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """A gateway sets the collector as its process needs it; other tests want theirs."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@dataclass
class Seen:
    """A gateway, and what a scrape of it shows."""

    one: Served
    exposition: Exposition

    def value(self, name: str, **labels: str) -> float | None:
        """Of one metric, now."""
        seen = scrape(self.exposition)
        assert seen.total("tollhouse_scrape_errors_total") == 0
        return seen.value(f"tollhouse_{name}", **labels)

    async def comes_to(self, wanted: float, name: str, **labels: str) -> None:
        """Return when it is this. Raises `TimeoutError`."""

        async def is_there() -> bool:
            return self.value(name, **labels) == wanted

        await until(is_there, 10.0)

    @contextlib.asynccontextmanager
    async def control(self, stub: Callable[[Any], Any]) -> AsyncIterator[Any]:
        """What a person is served."""
        async with channel_to(self.one.address(1)) as channel:
            yield stub(channel)


def person(folder: Path, *scopes: str) -> Listener:
    """Where Ann is served."""
    identity = FixedIdentity(
        kind="fixed",
        tenant="acme",
        principal="ann",
        principal_kind=CallerKind.HUMAN,
        roles=("approver",),
        scopes=scopes,
    )
    address = f"unix:{folder / 'c.sock'}"
    return Listener(name="control", address=address, services=(Service.APPROVAL, Service.CALL), identity=identity)


@contextlib.asynccontextmanager
async def seen(folder: Path, *scopes: str, **changes: Any) -> AsyncIterator[Seen]:
    """A gateway with a listener for Ann, who holds these scopes."""
    listeners = (socket_listener(folder), person(folder, *scopes))
    async with served(folder, listeners=listeners, **changes) as one:
        yield Seen(one, exposition_of(one.gateway._watched()))


@contextlib.asynccontextmanager
async def held(path: Path) -> AsyncIterator[None]:
    """Somebody else writes to the SQLite file all the while, once the gateway, which is in this process, does not."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:

        async def is_ours() -> bool:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
            return True

        await until(is_ours)
        yield
        other.execute("ROLLBACK")


async def test_an_outcome_that_nobody_knows_is_told_until_a_person_settles_it(tmp_path: Path) -> None:
    """With its age; each attempt to settle it is a deed, those that were refused as well."""
    adapter = FakeAdapter()
    adapter.failures = [RuntimeError("gone")]
    async with seen(tmp_path, "calls:resolve", adapter=adapter, resolution=ResolutionSettings(look_seconds=1)) as now:
        response = await now.one.call("note", NOTE, key="k")
        await now.comes_to(1, "outcomes_unknown")
        assert 0 < (now.value("outcomes_unknown_seconds") or 0) < 20
        async with now.control(calls_rpc.CallServiceStub) as desk:
            request = calls.ResolveCallRequest(resolution=calls.RESOLUTION_DONE, reason="I looked.")
            with pytest.raises(grpc.aio.AioRpcError):
                await desk.ResolveCall(request)
            request.call_id = response.call_id
            await desk.ResolveCall(request)
        await now.comes_to(0, "outcomes_unknown")
        assert now.value("outcomes_unknown_seconds") == 0
        assert now.value("deeds_total", kind="resolution", outcome="ok") == 1
    assert [one["kind"] for one in now.one.lines] == ["call", "resolution"]


async def test_who_may_not_settle_is_counted(tmp_path: Path) -> None:
    """As forbidden: it has a line."""
    async with seen(tmp_path) as now:
        async with now.control(calls_rpc.CallServiceStub) as desk:
            request = calls.ResolveCallRequest(call_id="x", resolution=calls.RESOLUTION_DONE, reason="Let me.")
            with pytest.raises(grpc.aio.AioRpcError):
                await desk.ResolveCall(request)
        assert now.value("deeds_total", kind="resolution", outcome="forbidden") == 1
        assert now.value("deeds_total", kind="resolution", outcome="ok") == 0


async def test_a_decision_and_what_it_lets_run_are_counted_once_each(tmp_path: Path) -> None:
    """The call that waits, the decision, the execution: each by its kind, and together as many as there are lines."""
    async with seen(tmp_path, engine=FakeEngine(PARK)) as now:
        pending = (await now.one.call("note", NOTE, key="k")).pending
        async with now.control(approvals_rpc.ApprovalServiceStub) as desk:
            told = await desk.GetApproval(approvals.GetApprovalRequest(approval_id=pending.approval_id))
            await desk.DecideApproval(
                approvals.DecideApprovalRequest(
                    approval_id=pending.approval_id,
                    approve=True,
                    reason="Fine.",
                    arguments_digest=told.approval.arguments_digest,
                )
            )
        await now.comes_to(1, "calls_total", kind="execution", outcome="ok", reason="", step="done")
        assert now.value("calls_total", kind="call", outcome="pending", reason="", step="approvals") == 1
        assert now.value("deeds_total", kind="decision", outcome="ok") == 1
        assert scrape(now.exposition).total("tollhouse_calls_total") == 2
        assert now.value("audit_lines_total") == 3
    assert sorted(one["kind"] for one in now.one.lines) == ["call", "decision", "execution"]


async def test_handles_and_who_follows_them_are_told_while_there_are_any(tmp_path: Path) -> None:
    """One that goes on without its caller, one who watches it; none when it has ended."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with seen(tmp_path, adapter=adapter) as now:
        assert now.value("handles_running") == 0
        response = await now.one.call("note", NOTE, key="k", yield_after_ms=1)
        assert now.value("handles_running") == 1
        watch = now.one.stub.WatchCall(tools.WatchCallRequest(call_id=response.call_id))
        await watch.read()
        assert now.value("watchers") == 1
        adapter.gate.set()
        await now.comes_to(0, "handles_running")
        assert await watch.read() is not grpc.aio.EOF
        await now.comes_to(0, "watchers")
        assert now.value("calls_total", kind="call", outcome="ok", reason="", step="done") == 1


async def test_what_the_store_has_not_heard_is_told_until_it_has(tmp_path: Path) -> None:
    """Somebody holds the database while a write and a handle end; both are told once it is free."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with seen(tmp_path, adapter=adapter) as now:
        await now.one.call("note", NOTE, key="k", yield_after_ms=1)
        await adapter.started.wait()
        async with held(now.one.gateway._current.settings.database.path):
            adapter.gate.set()
            await now.comes_to(1, "store_owed", part="keys")
            await now.comes_to(1, "store_owed", part="handles")
            assert now.value("store_owed", part="budgets") == 0
        await now.comes_to(0, "store_owed", part="keys")
        await now.comes_to(0, "store_owed", part="handles")


async def test_a_store_that_is_not_heard_makes_what_is_known_stale(tmp_path: Path) -> None:
    """Not at once, but once nobody could know of a stop any more."""
    registry = tmp_path / "rows.json"
    async with seen(tmp_path, registry=RegistrySettings(paths=(registry,), max_stale_seconds=1)) as now:
        assert (now.value("registry_reached"), now.value("registry_stale_tenants")) == (1, 0)
        await now.one.gateway._machinery.follower.stop()
        await now.comes_to(0, "registry_reached")
        assert now.value("registry_stale_tenants") == 1


async def test_artifacts_are_told_by_what_they_take_and_what_was_not_kept(tmp_path: Path) -> None:
    """The second is over what all of them may take."""
    adapter, rows = FakeAdapter(), registry_rows()
    adapter.output = Output(structured={"echo": {"text": "x" * 400_000}}, receipt="Done.")
    room = ArtifactSettings(max_bytes=600_000, tenant_bytes=600_000, total_bytes=600_000, min_free_bytes=0)
    async with seen(tmp_path, adapter=adapter, rows=rows, artifacts=room) as now:
        assert now.value("artifact_bytes") == 0
        assert (await now.one.call()).result.truncation.artifact_id
        assert (now.value("artifact_bytes") or 0) >= 400_000
        assert not (await now.one.call()).result.truncation.artifact_id
        assert now.value("artifacts_dropped_total") == 1


async def test_a_sink_that_is_away_is_down_and_behind(tmp_path: Path) -> None:
    """And has all of it once it is back; what it will not have is told too."""
    async with collector() as there:
        there.status = 503
        sinks = (JsonlSink(), OtlpSink(kind="otlp", url=there.url))
        async with seen(tmp_path, audit=AuditSettings(sinks=sinks)) as now:
            assert now.value("audit_sink_up", sink="otlp") == 1
            await now.one.call()
            await now.comes_to(0, "audit_sink_up", sink="otlp")
            assert (now.value("audit_sink_behind_lines", sink="otlp") or 0) >= 1
            there.status = 200
            await now.comes_to(1, "audit_sink_up", sink="otlp")
            await now.comes_to(0, "audit_sink_behind_lines", sink="otlp")
            there.status = 400
            await now.one.call()
            await now.comes_to(1, "audit_sink_rejected_lines_total", sink="otlp")
            assert now.value("audit_sink_missed_lines_total", sink="otlp") is not None


async def test_a_checkpoint_that_cannot_be_kept_is_counted(tmp_path: Path) -> None:
    """By where it should be; the store has its own all the same."""
    away = tmp_path / "away"
    away.mkdir()
    make_key(tmp_path / "audit.key", "gw/audit", b"k" * 32)
    signing = CheckpointSettings(key_file=tmp_path / "audit.key", seconds=1, copy_to=away / "notes")
    async with seen(tmp_path, audit=AuditSettings(checkpoints=signing)) as now:
        assert now.value("checkpoints_failed_total", where="files") == 0
        shutil.rmtree(away)
        await now.one.call()
        await now.comes_to(1, "checkpoints_failed_total", where="files")
        assert now.value("checkpoints_failed_total", where="store") == 0
        away.mkdir()


async def test_calls_that_others_left_are_counted_when_they_are_closed(tmp_path: Path) -> None:
    """A gateway that is gone had claimed a key; its lease is long over."""
    async with seen(tmp_path) as now:
        gone = FakeClock()
        async with opened(now.one.gateway._current.settings.database, gone) as database:
            keys = StoreKeys(database, writer="gone.1", clock=gone, seal=FakeSeal()).of("acme")
            assert await keys.claim(claim_of("c1"), intent_of("c1")) is None
        state = now.one.gateway._state
        assert state is not None
        await state.look_after_others()
        assert now.value("calls_closed_total", whose="others") == 1
        assert now.value("calls_closed_total", whose="own") == 0
        assert scrape(now.exposition).total("tollhouse_calls_total") == 0
    assert [(one["call_id"], one["outcome"]) for one in now.one.lines] == [("c1", "unknown")]


async def test_a_call_that_a_crash_cut_off_is_counted_by_the_next_start(tmp_path: Path) -> None:
    """As one of its own, and among no calls that ended."""
    settings = settings_in(tmp_path)
    audit = open_audit(settings.state_dir, settings.audit, SystemClock(), lambda: 1)
    audit.journal.begin(begin("c1"))
    await audit.close()
    async with seen(tmp_path) as now:
        assert now.value("calls_closed_total", whose="own") == 1
        assert now.value("calls_closed_total", whose="others") == 0
        assert scrape(now.exposition).total("tollhouse_calls_total") == 0


async def test_a_line_that_waits_for_the_store_is_told(tmp_path: Path) -> None:
    """Until it can be known whose it is."""
    whose = Whose.UNTOLD

    async def ask() -> Whose:
        return whose

    async with seen(tmp_path) as now:
        state = now.one.gateway._state
        assert state is not None
        state.late.wait(line("c1"), ask)
        assert now.value("audit_late_lines") == 1
        whose = Whose.OURS
        await now.comes_to(0, "audit_late_lines")
    assert [one["call_id"] for one in now.one.lines] == ["c1"]
