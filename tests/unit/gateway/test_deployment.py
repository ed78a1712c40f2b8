"""The deployment of the moment."""

import asyncio
from pathlib import Path

from fakes.adapter import FakeAdapter
from fakes.engine import FakeEngine
from fakes.path import registry_rows
from fakes.principals import principal
from fakes.served import settings_in

from gateway.app import build_gateway
from gateway.call import Answer, Request, Result, Surface


class Silent:
    """Tells nobody the call's id."""

    def begin(self, call_id: str) -> None:
        """Not needed."""

    def follow(self, _trail: object) -> None:
        """Not needed."""

    def end(self) -> None:
        """Not needed."""


async def test_a_call_goes_to_the_pipeline_of_the_moment_and_keeps_it(tmp_path: Path) -> None:
    """What begins before a swap ends under what it began with; what begins after it is under the new."""
    settings, adapter = settings_in(tmp_path), FakeAdapter()
    adapter.gate = asyncio.Event()
    gateway = build_gateway(settings, adapters={"fake": adapter}, engine=FakeEngine())
    await gateway.start()
    try:
        current = gateway._current
        before = current.catalogue
        running = asyncio.create_task(_call(gateway._current.call))
        await adapter.started.wait()
        rows = registry_rows()
        rows["agents"][0]["tools"].remove("echo")
        settings_in(tmp_path, rows)
        assert await gateway.reload() == ()
        assert current.catalogue is not before
        assert not isinstance((await _call(current.call)).outcome, Result)
        adapter.gate.set()
        assert isinstance((await running).outcome, Result)
    finally:
        await gateway.stop()


async def _call(call: object) -> Answer:
    request = Request(
        tool="echo",
        arguments_json=b'{"text":"hi"}',
        idempotency_key="",
        run_id="",
        step_id="",
        mode="",
        surface=Surface.GRPC,
        timeout_seconds=None,
    )
    assert callable(call)
    answer = await call(principal(), request, Silent())
    assert isinstance(answer, Answer)
    return answer
