"""Settings and registry that change under a running gateway: swapped whole, or not at all."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.adapter import FakeAdapter
from fakes.engine import FakeEngine
from fakes.packs import write_pack
from fakes.path import registry_rows
from fakes.served import Served, channel_to, served, settings_in

from gateway.app import build_gateway, run
from gateway.settings.limits import LimitSettings, RateSettings
from gateway.settings.load import Settings
from gateway.settings.parts import AuditSettings, RegistrySettings
from gateway.settings.policy import PolicySettings
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1 import tool_service_pb2_grpc as rpc


def _write(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Rows that differ by one change, swapped in as careful people do."""
    rows = registry_rows()
    change(rows)
    new = folder / "rows.new"
    new.write_bytes(orjson.dumps(rows))
    new.replace(folder / "rows.json")


def _show_hidden(rows: dict[str, Any]) -> None:
    rows["agents"][0]["tools"].append("echo_hidden")


def _break(rows: dict[str, Any]) -> None:
    _show_hidden(rows)
    rows["tools"][0]["side_effect"] = "harmless"


async def _tools(one: Served) -> set[str]:
    page = await one.stub.ListTools(pb.ListToolsRequest(), timeout=10)
    return {tool.name for tool in page.tools}


async def test_a_changed_row_holds_without_a_restart(tmp_path: Path) -> None:
    """It is noticed, and the agent sees and calls what it did not see before."""
    registry = RegistrySettings(paths=(tmp_path / "rows.json",), reload_seconds=0.05)
    async with served(tmp_path, registry=registry) as one:
        assert "echo_hidden" not in await _tools(one)
        _write(tmp_path, _show_hidden)
        async with asyncio.timeout(10):
            while "echo_hidden" not in await _tools(one):
                await asyncio.sleep(0.02)
        assert (await one.call("echo_hidden")).HasField("result")


async def test_what_does_not_load_changes_nothing(tmp_path: Path) -> None:
    """Not even the part of it that is right; every problem is told, and a later correction is taken over."""
    async with served(tmp_path) as one:
        _write(tmp_path, _break)
        (problem,) = await one.gateway.reload()
        assert "rows.json" in problem
        assert "side_effect" in problem
        assert "echo_hidden" not in await _tools(one)
        assert (await one.call()).HasField("result")
        _write(tmp_path, _show_hidden)
        assert await one.gateway.reload() == ()
        assert "echo_hidden" in await _tools(one)


async def test_a_call_ends_under_the_rows_that_it_began_with(tmp_path: Path) -> None:
    """A tool that is taken away while a call of it runs: that call is carried out, the next finds nothing."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with served(tmp_path, adapter=adapter) as one:
        running = asyncio.create_task(one.call("note", '{"path":"a"}', key="k-1"))
        await adapter.started.wait()

        def take_away(rows: dict[str, Any]) -> None:
            rows["agents"][0]["tools"].remove("note")

        _write(tmp_path, take_away)
        assert await one.gateway.reload() == ()
        adapter.gate.set()
        assert (await running).HasField("result")
        assert (await one.call("note", '{"path":"a"}', key="k-2")).HasField("error")


async def _reloading(folder: Path, changed: Settings) -> tuple[tuple[str, ...], list[str]]:
    """What a gateway says to other settings, and how two calls of its agent end under them."""
    settings = settings_in(folder)
    gateway = build_gateway(settings, adapters={"fake": FakeAdapter()}, engine=FakeEngine(), reread=lambda: changed)
    await gateway.start()
    try:
        problems = await gateway.reload()
        async with channel_to(gateway.describe().listeners[0].address) as channel:
            stub = rpc.ToolServiceStub(channel)
            request = pb.CallToolRequest(tool="echo", arguments_json=b'{"text":"hi"}')
            answers = [await stub.CallTool(request, timeout=10) for _ in range(2)]
        return problems, [answer.WhichOneof("outcome") for answer in answers]
    finally:
        await gateway.stop()


async def test_settings_are_taken_over(tmp_path: Path) -> None:
    """A rate that was not there before holds from then on."""
    tenant = LimitSettings(tenant=RateSettings(per_minute=1, burst=1))
    changed = settings_in(tmp_path).model_copy(update={"limits": tenant})
    assert await _reloading(tmp_path, changed) == ((), ["result", "error"])


async def test_a_panic_while_reading_ends_neither_the_gateway_nor_the_watching(tmp_path: Path) -> None:
    """What compiled libraries raise is no `Exception`: all goes on as before, and the next change is noticed."""

    class PanicError(BaseException):
        pass

    settings, answers = settings_in(tmp_path, registry=RegistrySettings(reload_seconds=0.02)), list[Settings]()
    noticed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def reread() -> Settings:
        if not answers:
            answers.append(settings)
            raise PanicError
        loop.call_soon_threadsafe(noticed.set)
        return settings

    gateway = build_gateway(settings, adapters={"fake": FakeAdapter()}, engine=FakeEngine(), reread=reread)
    await gateway.start()
    try:
        assert await gateway.reload() == ("it could not be examined; all goes on as before",)
        gateway.reload_soon()
        await asyncio.wait_for(noticed.wait(), 10)
    finally:
        await gateway.stop()


async def test_settings_that_need_a_restart_are_named_and_nothing_is_taken_over(tmp_path: Path) -> None:
    """Not even what could be: half of a change is a deployment that nobody wrote."""
    changed = settings_in(tmp_path).model_copy(
        update={
            "limits": LimitSettings(tenant=RateSettings(per_minute=1, burst=1)),
            "audit": AuditSettings(commit_delay_ms=1),
        }
    )
    problems, answers = await _reloading(tmp_path, changed)
    assert problems == ("audit changed, which needs a restart; nothing was taken over",)
    assert answers == ["result", "result"]


async def test_sighup_has_everything_read_again(tmp_path: Path) -> None:
    """At once, whatever the interval says, and the process goes on."""
    asked = asyncio.Event()
    settings = settings_in(tmp_path, registry=RegistrySettings())

    def reread() -> Settings:
        loop.call_soon_threadsafe(asked.set)
        return settings

    def on_ready(_gateway: object) -> None:
        os.kill(os.getpid(), signal.SIGHUP)

    loop = asyncio.get_running_loop()
    running = asyncio.create_task(run(settings, on_ready, reread=reread))
    try:
        await asyncio.wait_for(asked.wait(), 20)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(running, 20)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.remove_signal_handler(number)


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"tools: [", b"[]"])
async def test_garbage_in_a_manifest_changes_nothing(tmp_path: Path, content: bytes) -> None:
    """Empty, half-written or not text at all. An empty registry is one that nobody is in, so it is a change."""
    async with served(tmp_path) as one:
        (tmp_path / "rows.json").write_bytes(content)
        problems = await one.gateway.reload()
        assert bool(problems) == bool(content)
        assert (await one.call()).HasField("result") == bool(content)


SLOW_ON_MANY_TAGS = """tags := input.arguments.tags

pairs := count([1 | some one in tags; some other in tags; one != other])

decision := {"effect": "allow", "reasons": [], "obligations": []} if pairs >= 0
"""


async def test_a_tool_that_the_policy_would_be_slow_on_is_not_taken_over(tmp_path: Path) -> None:
    """It is timed before it is there, on the most that it admits."""

    def admit_tags(rows: dict[str, Any], most: int) -> dict[str, Any]:
        for tool in rows["tools"]:
            if "tags" in (properties := tool["input_schema"]["properties"]):
                properties["tags"]["maxItems"] = most
        return rows

    folder = write_pack(tmp_path / "policy", SLOW_ON_MANY_TAGS)
    settings = settings_in(
        tmp_path, admit_tags(registry_rows(), 2), policy=PolicySettings(paths=(folder,), max_decision_ms=30)
    )
    gateway = build_gateway(settings, adapters={"fake": FakeAdapter()})
    await gateway.start()
    try:
        _write(tmp_path, lambda rows: _show_hidden(admit_tags(rows, 2)))
        assert await gateway.reload() == ()
        _write(tmp_path, lambda rows: _show_hidden(admit_tags(rows, 300)))
        problems = await gateway.reload()
        assert any("too_slow" in problem and "tool echo" in problem for problem in problems)
    finally:
        await gateway.stop()
