"""SIGTERM of a real gateway with calls in flight: each has its outcome and its line, and the process ends in time."""

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from fakes.audit import until
from fakes.child import calling, gateway_process
from fakes.served import asked, channel_to, lines_in
from grpc_health.v1 import health_pb2 as health
from grpc_health.v1 import health_pb2_grpc as health_rpc

from gateway.audit.open import audit_directory
from gateway.audit.verify import verify
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb

CHILD = """
import asyncio, functools, json, os, sys
from pathlib import Path
import uvloop
import gateway.app
from adapters.base import Output
from fakes.adapter import FakeAdapter
from fakes.engine import FakeEngine
from fakes.served import settings_in, socket_listener
from gateway.settings.listeners import Listener
from gateway.settings.parts import ServerSettings

folder, server = Path(sys.argv[1]), json.loads(sys.argv[2])
DENY = '{"effect":"deny","reasons":[],"obligations":[]}'

def note(what):
    with (folder / "in_flight").open("a") as file:
        file.write(f"{what}\\n")

async def take(path):
    note(path)
    await asyncio.sleep(float(path.rpartition(":")[2]))

class Vendor(FakeAdapter):
    async def _invoke(self, invocation):
        await take(invocation.arguments.get("path") or invocation.arguments["text"])
        return Output(receipt="Done.")

class Engine(FakeEngine):
    async def decide(self, input_json):
        path = json.loads(input_json)["arguments"].get("path", "")
        if path.startswith("deny"):
            await take(path)
            self.answer = DENY
            decision = await super().decide(input_json)
            self.answer = FakeEngine().answer
            return decision
        return await super().decide(input_json)

listeners = (
    socket_listener(folder),
    Listener(name="probes", address=f"unix:{folder / 'p.sock'}", services=["health"]),
)
settings = settings_in(folder, server=ServerSettings(**server), listeners=listeners)
gateway.app.build_gateway = functools.partial(gateway.app.build_gateway, adapters={"fake": Vendor()}, engine=Engine())
uvloop.run(gateway.app.run(settings, lambda _: os.write(1, b"ready\\n")))
"""
SERVING, NOT_SERVING = health.HealthCheckResponse.SERVING, health.HealthCheckResponse.NOT_SERVING


@contextlib.asynccontextmanager
async def watching(folder: Path, socket: str = "p.sock") -> AsyncIterator[Any]:
    """A stream of the gateway's health, once it serves."""
    async with channel_to(f"unix:{folder / socket}") as channel:
        watch = health_rpc.HealthStub(channel).Watch(health.HealthCheckRequest(), timeout=30)
        while (await watch.read()).status != SERVING:
            pass
        yield watch


def in_flight(folder: Path) -> int:
    """How many calls have begun what takes long."""
    file = folder / "in_flight"
    return len(file.read_text().splitlines()) if file.exists() else 0


def note(path: str, seconds: float) -> pb.CallToolRequest:
    """A write that takes this long; it is denied after that time when its path begins with `deny`."""
    return asked("note", json.dumps({"path": f"{path}:{seconds}"}), key=path)


async def ended(process: asyncio.subprocess.Process, within_seconds: float) -> float:
    """How long it took the process to end well."""
    began = time.monotonic()
    assert await asyncio.wait_for(process.wait(), within_seconds) == 0
    return time.monotonic() - began


def sockets_in(folder: Path) -> list[str]:
    """What is left of the listeners."""
    return sorted(path.name for path in folder.glob("*.sock*"))


async def test_g04_fifty_calls_in_flight_at_sigterm_have_fifty_outcomes_and_fifty_lines(tmp_path: Path) -> None:
    """Ten of them end in a denial. Health says NOT_SERVING first, who comes now is told UNAVAILABLE, streams that
    nobody ends are ended; exit code 0 within the grace and two seconds; the sockets are gone.
    """
    async with (
        gateway_process(CHILD, tmp_path, '{"drain_seconds": 5}') as process,
        calling(tmp_path) as stub,
        watching(tmp_path) as watch,
        watching(tmp_path, "g.sock") as other,
    ):
        paths = [f"deny{number}" if number % 5 == 0 else f"do{number}" for number in range(50)]
        calls = [asyncio.ensure_future(stub.CallTool(note(path, 1.0), timeout=30)) for path in paths]
        await asyncio.wait_for(until(lambda: in_flight(tmp_path) == 50), 10)
        process.terminate()
        began = time.monotonic()
        assert [(await one.read()).status for one in (watch, other)] == [NOT_SERVING] * 2
        assert not any(call.done() for call in calls)
        async with calling(tmp_path) as late:
            while (status := await status_of(late.ListTools(pb.ListToolsRequest(), timeout=10))) is grpc.StatusCode.OK:
                pass
            assert status is grpc.StatusCode.UNAVAILABLE
        responses = await asyncio.gather(*calls)
        await ended(process, 7 - (time.monotonic() - began))
        assert [await one.read() for one in (watch, other)] == [grpc.aio.EOF] * 2
    outcomes = Counter(response.WhichOneof("outcome") for response in responses)
    assert outcomes == {"result": 40, "error": 10}
    assert {response.error.reason for response in responses[::5]} == {codes_pb2.REASON_POLICY_DENIED}
    lines = lines_in(tmp_path)
    assert Counter(line["outcome"] for line in lines) == {"ok": 40, "permission_denied": 10}
    assert {line["call_id"] for line in lines} == {response.call_id for response in responses}
    assert sockets_in(tmp_path) == []
    assert verify(audit_directory(tmp_path / "state")).first_bad is None


async def status_of(call: Any) -> grpc.StatusCode:
    """What an RPC ends with."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


async def test_g04_what_outlasts_the_grace_is_cancelled_and_in_the_audit(tmp_path: Path) -> None:
    """A read and a write that take a minute: the process ends in time, and each has one line by the next start."""
    async with gateway_process(CHILD, tmp_path, '{"drain_seconds": 0.5}') as process, calling(tmp_path) as stub:
        read = asyncio.ensure_future(status_of(stub.CallTool(asked("echo", '{"text":"r:60"}'), timeout=30)))
        write = asyncio.ensure_future(status_of(stub.CallTool(note("w", 60), timeout=30)))
        await asyncio.wait_for(until(lambda: in_flight(tmp_path) == 2), 10)
        process.terminate()
        await ended(process, 2.5)
        assert not {await read, await write} & {grpc.StatusCode.OK, grpc.StatusCode.DEADLINE_EXCEEDED}
    assert sockets_in(tmp_path) == []
    async with gateway_process(CHILD, tmp_path, "{}") as process:
        process.terminate()
        await ended(process, 5)
    assert {line["tool"]: line["outcome"] for line in lines_in(tmp_path)} == {"echo": "cancelled", "note": "unknown"}
    assert len(lines_in(tmp_path)) == 2


async def test_g20_an_agent_that_is_told_to_end_together_with_its_sidecar_can_still_call(tmp_path: Path) -> None:
    """From the signal on health says NOT_SERVING; calls are served for the delay; then the sidecar ends by itself."""
    async with (
        gateway_process(CHILD, tmp_path, '{"drain_delay_seconds": 1.5}') as process,
        calling(tmp_path) as stub,
        watching(tmp_path) as watch,
    ):
        process.terminate()
        signalled = time.monotonic()
        assert (await watch.read()).status == NOT_SERVING
        assert time.monotonic() - signalled < 0.5
        served = 0
        while time.monotonic() - signalled < 1.2:
            response = await stub.CallTool(note(f"n{served}", 0.01), timeout=10)
            assert response.HasField("result")
            served += 1
        await ended(process, 0.3 + 2)
        assert time.monotonic() - signalled >= 1.5
    assert served > 10
    assert Counter(line["outcome"] for line in lines_in(tmp_path)) == {"ok": served}
    assert sockets_in(tmp_path) == []


async def test_a_second_signal_ends_the_delay(tmp_path: Path) -> None:
    """Who is in a hurry need not wait for an agent that is gone already."""
    async with gateway_process(CHILD, tmp_path, '{"drain_delay_seconds": 60}') as process, watching(tmp_path) as watch:
        process.terminate()
        assert (await watch.read()).status == NOT_SERVING
        process.terminate()
        await ended(process, 5)
