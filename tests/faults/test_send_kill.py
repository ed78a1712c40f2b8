"""kill -9 and SIGTERM of a real gateway in the middle of a send."""

import asyncio
import contextlib
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from fakes.audit import until
from fakes.child import calling, gateway_process
from fakes.served import asked, lines_in, served

from gateway.audit.open import audit_directory
from gateway.audit.verify import verify
from gateway.v1 import codes_pb2

CHILD = """
import asyncio, functools, os, sys
from pathlib import Path
import gateway.app
from adapters.base import Output
from fakes.adapter import FakeAdapter
from fakes.engine import FakeEngine
from fakes.served import settings_in

class Vendor(FakeAdapter):
    async def _invoke(self, invocation):
        arguments, folder = invocation.arguments, Path(sys.argv[1])
        with (folder / "effects").open("a") as file:
            file.write(f"{arguments.get('path', arguments.get('text'))}\\n")
        while arguments.get("body") == "wait" and not (folder / "go").exists():
            await asyncio.sleep(0.005)
        return Output(receipt="Done.")

vendor = Vendor()
gateway.app.build_gateway = functools.partial(gateway.app.build_gateway, adapters={"fake": vendor}, engine=FakeEngine())
asyncio.run(gateway.app.run(settings_in(Path(sys.argv[1])), lambda _: os.write(1, b"ready\\n")))
"""
WAITING = '{"path":"a.txt","body":"wait"}'


def effects(folder: Path) -> list[str]:
    """What the vendor did, over all processes."""
    file = folder / "effects"
    return file.read_text().split() if file.exists() else []


async def test_g15_kill_9_during_a_send_is_one_unknown_line_and_no_second_send(tmp_path: Path) -> None:
    """After the restart the call has one line, `unknown` and recovered; the same key sends nothing."""
    async with gateway_process(CHILD, tmp_path) as process, calling(tmp_path) as stub:
        call = stub.CallTool(asked("note", WAITING, key="k"), timeout=30)
        sent = asyncio.ensure_future(until(lambda: effects(tmp_path) == ["a.txt"]))
        await asyncio.wait((sent, asyncio.ensure_future(_end_of(call))), return_when=asyncio.FIRST_COMPLETED)
        process.kill()
        with pytest.raises(grpc.aio.AioRpcError):
            await call
    assert lines_in(tmp_path) == []
    async with served(tmp_path) as one:
        assert one.gateway.describe().recovered_calls == 1
        (line,) = one.lines
        assert (line["outcome"], line["recovered"], line["tool"]) == ("unknown", True, "note")
        response = await one.call("note", WAITING, key="k")
        assert response.error.code == codes_pb2.CODE_OUTCOME_UNKNOWN
        assert response.effect_id == line["call_id"]
        assert one.effects == 0
        other = await one.call("note", '{"path":"b.txt"}', key="k")
        assert other.error.reason == codes_pb2.REASON_KEY_REUSED
    assert effects(tmp_path) == ["a.txt"]
    assert verify(audit_directory(tmp_path / "state")).first_bad is None


async def _end_of(call: Any) -> None:
    with contextlib.suppress(grpc.aio.AioRpcError):
        await call


async def _work(stub: Any, numbers: "asyncio.Queue[int]", done: list[tuple[int, str]]) -> None:
    """Call with one key after the other until the gateway is gone."""
    while not numbers.empty():
        number = await numbers.get()
        try:
            if number % 4 == 0:
                await stub.CallTool(asked("echo", json.dumps({"text": f"r{number}"})), timeout=30)
                continue
            response = await stub.CallTool(
                asked("note", json.dumps({"path": f"w{number}"}), key=f"k{number}"), timeout=30
            )
        except grpc.aio.AioRpcError:
            return
        done.append((number, response.WhichOneof("outcome")))


async def test_an_effect_happens_at_most_once_over_kills_and_restarts(tmp_path: Path) -> None:
    """The same hundred keys again and again, over gateways that are killed at any moment: each effect once
    at most, once for each that was ever answered well, and one line for each call.
    """
    chance = random.Random(7)
    for round_ in range(4):
        done: list[tuple[int, str]] = []
        numbers: asyncio.Queue[int] = asyncio.Queue()
        for number in range(100):
            numbers.put_nowait(number)
        async with gateway_process(CHILD, tmp_path) as process, calling(tmp_path) as stub:
            workers = [asyncio.create_task(_work(stub, numbers, done)) for _ in range(8)]
            enough = chance.randint(5, 60) if round_ < 3 else 10_000
            while len(done) < enough and not all(worker.done() for worker in workers):
                await asyncio.sleep(0.001)
            process.kill()
            await asyncio.gather(*workers)
        counts = Counter(effects(tmp_path))
        assert max(counts[f"w{number}"] for number in range(100)) == 1
        assert all(counts[f"w{number}"] == 1 for number, outcome in done if outcome == "result")
    async with served(tmp_path) as one:
        calls = Counter(line["call_id"] for line in one.lines)
        assert set(calls.values()) == {1}
        assert "unknown" in {line["outcome"] for line in one.lines}
    assert verify(audit_directory(tmp_path / "state")).first_bad is None


async def test_sigterm_lets_a_send_in_flight_finish(tmp_path: Path) -> None:
    """The call gets its answer and its line; new calls are turned away; exit code 0; the socket is gone."""
    async with gateway_process(CHILD, tmp_path) as process, calling(tmp_path) as stub:
        call = asyncio.ensure_future(stub.CallTool(asked("note", WAITING, key="k"), timeout=30))
        await until(lambda: effects(tmp_path) == ["a.txt"])
        process.terminate()
        async with calling(tmp_path) as late:
            # Draining has begun once a new call is turned away.
            while True:
                try:
                    await late.CallTool(asked(), timeout=5)
                except grpc.aio.AioRpcError as error:
                    # Or CANCELLED, when it reached the server in the very moment: grpc's own answer.
                    turned_away = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
                    assert error.code() in turned_away  # noqa: PT017 - it may take some tries
                    break
        assert not call.done()
        (tmp_path / "go").touch()
        response = await call
        assert response.result.receipt == "Done."
        assert await asyncio.wait_for(process.wait(), 20) == 0
    assert not (tmp_path / "g.sock").exists()
    assert not (tmp_path / "g.sock.lock").exists()
    (line,) = [line for line in lines_in(tmp_path) if line["tool"] == "note"]
    assert (line["outcome"], line["happened"], line["call_id"]) == ("ok", "yes", response.call_id)
    assert not (tmp_path / "log.jsonl").read_text().count('"level": "error"')
