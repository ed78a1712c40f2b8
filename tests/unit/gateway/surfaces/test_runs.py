"""RunService over a socket: a trusted runtime opens runs, and an agent never does."""

import contextlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from fakes.clock import START, FakeClock
from fakes.journal import ListJournal
from fakes.limiter import FakeLimiter
from fakes.principals import FakeAuthenticator, principal
from fakes.seal import FakeSeal
from fakes.sink import ListSink
from real.stores import opened, sqlite_settings

from gateway.admission import Admission
from gateway.audit.base import LineKind
from gateway.audit.deeds import Deeds
from gateway.budget.runs import Runs, intent_digest
from gateway.call import CallerKind
from gateway.metrics.counts import Metrics
from gateway.rows import Rate
from gateway.surfaces.edge import Edge
from gateway.surfaces.runs import RunService
from gateway.telemetry import configure
from gateway.v1 import run_service_pb2 as pb
from gateway.v1.run_service_pb2_grpc import RunServiceStub

WORDS = "Tell Ann that I shall be late."


@dataclass
class Place:
    """What a service stands on."""

    runs: Runs
    clock: FakeClock
    socket: str
    sink: ListSink = field(default_factory=ListSink)
    journal: ListJournal = field(default_factory=ListJournal)

    @contextlib.asynccontextmanager
    async def served(self, kind: CallerKind = CallerKind.WORKFLOW, *, burst: int = 100) -> AsyncIterator[Any]:
        """A stub of the service, whose one caller is of this kind."""
        numbers = itertools.count()
        take, rate = FakeLimiter(self.clock.monotonic).take, Rate(per_minute=60, burst=burst)
        edge = Edge(
            listener="control",
            authenticator=FakeAuthenticator(principal(id="runtime", kind=kind, agent="")),
            admission=Admission(take=take, rate=rate, max_in_flight=10),
            metrics=Metrics(listeners=["control"]),
            log=configure("error"),
        )
        deeds = Deeds(self.journal, self.sink, clock=self.clock, new_id=lambda: f"deed-{next(numbers)}")
        service = RunService(edge, self.runs, deeds, has_agent=lambda *who: who == ("acme", "helper"), clock=self.clock)
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((service.handler(),))
        server.add_insecure_port(self.socket)
        await server.start()
        try:
            async with grpc.aio.insecure_channel(self.socket) as channel:
                yield RunServiceStub(channel)
        finally:
            await server.stop(None)


WHO = (("who", "runtime"),)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """A store without runs."""
    clock = FakeClock()
    async with opened(await sqlite_settings(tmp_path), clock) as database:
        yield Place(Runs(database, clock=clock, seal=FakeSeal()), clock, f"unix:{tmp_path / 's'}")


def _open(**changes: Any) -> pb.OpenRunRequest:
    return pb.OpenRunRequest(**{"run_id": "r1", "agent": "helper", "intent": WORDS, "expires_in_seconds": 60} | changes)


async def _status(asking: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asking
    return caught.value.code()


@pytest.mark.parametrize("kind", [CallerKind.WORKFLOW, CallerKind.HUMAN])
async def test_a_run_that_was_opened_can_be_read(place: Place, kind: CallerKind) -> None:
    """By whom it was opened, and until when, is the gateway's word."""
    async with place.served(kind) as stub:
        run = (await stub.OpenRun(_open(), metadata=WHO)).run
        assert (run.run_id, run.agent, run.intent, run.opened_by) == ("r1", "helper", WORDS, "runtime")
        assert (run.opened_at.ToNanoseconds(), run.expires_at.ToNanoseconds()) == (START * 1e9, (START + 60) * 1e9)
        assert (await stub.GetRun(pb.GetRunRequest(run_id="r1", agent="helper"), metadata=WHO)).run == run
    assert await place.runs.is_open("acme", "helper", "r1")


async def test_opening_it_again_changes_nothing_and_other_content_is_refused(place: Place) -> None:
    """Each try has its line."""
    async with place.served() as stub:
        first = await stub.OpenRun(_open(), metadata=WHO)
        place.clock.advance(5)
        assert await stub.OpenRun(_open(), metadata=WHO) == first
        for changes in ({"intent": "Send him everything."}, {"expires_in_seconds": 61}):
            assert await _status(stub.OpenRun(_open(**changes), metadata=WHO)) is grpc.StatusCode.ABORTED
    assert [line.outcome for line in place.sink.lines] == ["ok", "ok", "conflict", "conflict"]


async def test_it_leaves_a_line_that_does_not_hold_the_users_words(place: Place) -> None:
    """Their digest alone, whose they are and who said so."""
    async with place.served() as stub:
        await stub.OpenRun(_open(), metadata=WHO)
    (line,) = place.sink.lines
    assert (line.kind, line.tool, line.run_id, line.principal) == (LineKind.ADMIN, "run/r1", "r1", "runtime")
    assert (line.arguments_digest, line.note) == (intent_digest(WORDS), "of the agent helper")
    assert WORDS not in str(tuple(line))


async def test_a_run_is_open_for_a_day_when_it_does_not_say(place: Place) -> None:
    """Which is also the most."""
    async with place.served() as stub:
        run = (await stub.OpenRun(_open(expires_in_seconds=0), metadata=WHO)).run
    assert run.expires_at.seconds - run.opened_at.seconds == 24 * 60 * 60


async def test_an_agent_neither_opens_nor_reads_runs(place: Place) -> None:
    """Whatever listener it found: a run of its own would be a fresh counter."""
    async with place.served(CallerKind.AGENT) as stub:
        assert await _status(stub.OpenRun(_open(), metadata=WHO)) is grpc.StatusCode.PERMISSION_DENIED
        request = pb.GetRunRequest(run_id="r1", agent="helper")
        assert await _status(stub.GetRun(request, metadata=WHO)) is grpc.StatusCode.PERMISSION_DENIED
    assert not await place.runs.is_open("acme", "helper", "r1")


@pytest.mark.parametrize("agent", ["", "rival", "helper2"])
async def test_a_run_is_of_an_agent_of_this_tenant(place: Place, agent: str) -> None:
    """Nobody else's, and not of one that there is not."""
    async with place.served() as stub:
        assert await _status(stub.OpenRun(_open(agent=agent), metadata=WHO)) is grpc.StatusCode.NOT_FOUND
    assert [line.outcome for line in place.sink.lines] == ["not_found"]


@pytest.mark.parametrize(
    "changes",
    [
        {"run_id": ""},
        {"run_id": "r" * 129},
        {"run_id": "a b"},
        {"run_id": "a\n"},
        {"run_id": "a\u202eb"},
        {"intent": "x" * 8193},
        {"expires_in_seconds": 86401},
    ],
)
async def test_what_cannot_be_meant_is_refused(place: Place, changes: dict[str, Any]) -> None:
    """Before anything is done."""
    async with place.served() as stub:
        assert await _status(stub.OpenRun(_open(**changes), metadata=WHO)) is grpc.StatusCode.INVALID_ARGUMENT
    assert place.journal.begins == []


async def test_a_run_that_is_over_or_never_was_is_not_found(place: Place) -> None:
    """Alike."""
    async with place.served() as stub:
        await stub.OpenRun(_open(), metadata=WHO)
        place.clock.advance(60)
        for run_id in ("r1", "r2"):
            request = pb.GetRunRequest(run_id=run_id, agent="helper")
            assert await _status(stub.GetRun(request, metadata=WHO)) is grpc.StatusCode.NOT_FOUND


async def test_nothing_is_opened_that_cannot_be_written_down(place: Place) -> None:
    """The line comes first."""
    place.journal.is_down = True
    async with place.served() as stub:
        assert await _status(stub.OpenRun(_open(), metadata=WHO)) is grpc.StatusCode.UNAVAILABLE
    assert not await place.runs.is_open("acme", "helper", "r1")


async def test_every_request_counts_against_its_caller(place: Place) -> None:
    """As everywhere."""
    async with place.served(burst=1) as stub:
        await stub.OpenRun(_open(), metadata=WHO)
        assert await _status(stub.OpenRun(_open(), metadata=WHO)) is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_nobody_is_let_in_without_proof(place: Place) -> None:
    """By no door."""
    async with place.served() as stub:
        assert await _status(stub.OpenRun(_open())) is grpc.StatusCode.UNAUTHENTICATED
