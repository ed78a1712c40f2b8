"""CallService over a socket: what becomes protobuf, what becomes a status."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from fakes.clock import START, FakeClock
from fakes.limiter import FakeLimiter
from fakes.principals import FakeAuthenticator
from fakes.unresolved import DIGEST, WORD, Scene, person
from real.stores import opened, sqlite_settings

from gateway.admission import Admission
from gateway.metrics.counts import Metrics
from gateway.rows import Rate
from gateway.surfaces.calls import CallService
from gateway.surfaces.edge import Edge
from gateway.v1 import call_service_pb2 as pb
from gateway.v1.call_service_pb2_grpc import CallServiceStub

WHO = (("who", "ann"),)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """Two effects are unknown; of the second nobody can be asked."""
    clock = FakeClock()
    async with opened(await sqlite_settings(tmp_path), clock) as database:
        scene = Scene(database=database, clock=clock)
        await scene.put("c1")
        await scene.put("c2", is_askable=False)
        yield scene


@contextlib.asynccontextmanager
async def _served(scene: Scene, folder: Path, *, burst: int = 100, **who: Any) -> AsyncIterator[Any]:
    """A stub of the service, whose one caller is this person."""
    take, rate = FakeLimiter(scene.clock.monotonic).take, Rate(per_minute=60, burst=burst)
    edge = Edge(
        listener="control",
        authenticator=FakeAuthenticator(person(**who)),
        admission=Admission(take=take, rate=rate, max_in_flight=10),
        metrics=Metrics(listeners=["control"]),
        log=scene.log,
    )
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((CallService(edge, scene.desk()).handler(),))
    server.add_insecure_port(f"unix:{folder / 's'}")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"unix:{folder / 's'}") as channel:
            yield CallServiceStub(channel)
    finally:
        await server.stop(None)


async def _status(asking: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asking
    return caught.value.code()


def _resolve(**changes: Any) -> pb.ResolveCallRequest:
    return pb.ResolveCallRequest(**{"call_id": "c1", "resolution": pb.RESOLUTION_DONE, "reason": WORD} | changes)


async def test_what_is_unknown_is_listed(scene: Scene, tmp_path: Path) -> None:
    """With what each was to do, since when it is unknown, and who can find out; page by page."""
    async with _served(scene, tmp_path) as stub:
        first = await stub.ListUnresolved(pb.ListUnresolvedRequest(page_size=1), metadata=WHO)
        token = first.next_page_token
        last = await stub.ListUnresolved(pb.ListUnresolvedRequest(page_token=token), metadata=WHO)
    assert last.next_page_token == ""
    one, two = *first.calls, *last.calls
    assert (one.call_id, one.effect_id, one.agent, one.tool, one.connection) == ("c1", "e-c1", "helper", "pay", "bank")
    assert (one.arguments_digest, one.arguments) == (DIGEST, '{"amount":5,"to":"…"}')
    assert one.claimed_at.ToNanoseconds() == START * 1e9
    assert (one.reconcilable, two.reconcilable) == (True, False)


@pytest.mark.parametrize(("resolution", "standing"), [(pb.RESOLUTION_DONE, "done"), (pb.RESOLUTION_NOT_DONE, "")])
async def test_a_person_settles_one(scene: Scene, tmp_path: Path, resolution: int, standing: str) -> None:
    """The answer says which; a second time there is none."""
    async with _served(scene, tmp_path) as stub:
        response = await stub.ResolveCall(_resolve(resolution=resolution), metadata=WHO)
        assert response.call.call_id == "c1"
        assert await _status(stub.ResolveCall(_resolve(), metadata=WHO)) is grpc.StatusCode.NOT_FOUND
    assert await scene.standing() == standing


@pytest.mark.parametrize(
    "changes",
    [
        {"reason": ""},
        {"reason": " "},
        {"reason": "x" * 301},
        {"resolution": pb.RESOLUTION_UNSPECIFIED},
        {"resolution": 7},
        {"call_id": "x" * 129},
    ],
)
async def test_what_cannot_be_meant_is_refused(scene: Scene, tmp_path: Path, changes: dict[str, Any]) -> None:
    """Before anything is done."""
    async with _served(scene, tmp_path) as stub:
        asking = stub.ResolveCall(_resolve(**changes), metadata=WHO)
        assert await _status(asking) is grpc.StatusCode.INVALID_ARGUMENT
    assert await scene.standing() == "unknown"
    assert scene.lines == []


async def test_whoever_is_not_known_or_may_not_is_told_by_a_status(scene: Scene, tmp_path: Path) -> None:
    """And settles nothing."""
    async with _served(scene, tmp_path, scopes=frozenset()) as stub:
        assert await _status(stub.ResolveCall(_resolve())) is grpc.StatusCode.UNAUTHENTICATED
        assert await _status(stub.ResolveCall(_resolve(), metadata=WHO)) is grpc.StatusCode.PERMISSION_DENIED
        asking = stub.ListUnresolved(pb.ListUnresolvedRequest(), metadata=WHO)
        assert await _status(asking) is grpc.StatusCode.PERMISSION_DENIED
    assert await scene.standing() == "unknown"


async def test_whoever_asks_too_often_is_turned_away(scene: Scene, tmp_path: Path) -> None:
    """Guesses too."""
    async with _served(scene, tmp_path, burst=1) as stub:
        assert await _status(stub.ResolveCall(_resolve(call_id="c9"), metadata=WHO)) is grpc.StatusCode.NOT_FOUND
        assert await _status(stub.ResolveCall(_resolve(), metadata=WHO)) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert await scene.standing() == "unknown"


async def test_while_the_journal_is_down_it_is_unavailable(scene: Scene, tmp_path: Path) -> None:
    """And nothing was done."""
    scene.journal.is_down = True
    async with _served(scene, tmp_path) as stub:
        assert await _status(stub.ResolveCall(_resolve(), metadata=WHO)) is grpc.StatusCode.UNAVAILABLE
    assert await scene.standing() == "unknown"
