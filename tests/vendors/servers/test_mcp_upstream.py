"""MCP servers that nobody here wrote, called through the adapter: what comes is what the official client gets."""

import asyncio
import base64
import json
import os
import re
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fakes.mcp_real import build, opened
from fakes.served import asked, channel_to
from real import mcp
from real.httpbin import HttpBin

from adapters.base import AdapterError, Binary, ErrorKind, Happened, Invocation, Output, SideEffect, Target, Text
from adapters.mcp_upstream.adapter import McpUpstreamAdapter
from adapters.mcp_upstream.looks import FRESH_SECONDS
from adapters.recipes import Offer, Recipe
from gateway.app import build_gateway
from gateway.clock import SystemClock
from gateway.settings.load import load_settings
from gateway.v1 import tool_service_pb2_grpc as rpc

Server = mcp.Program | mcp.Address
Call = tuple[str, dict[str, Any]]
Shown = tuple[str, str]
"""A text as it is, bytes in base64, or which resource it is."""

NOTES: Sequence[Call] = (
    ("add", {"a": 1, "b": 2}),
    ("write_note", {"text": "one"}),
    ("count_notes", {}),
    ("fail", {"why": "no reason"}),
    ("wait", {"name": "first", "steps": 2}),
    ("add", {"a": "one"}),
)
EVERYTHING: Sequence[Call] = (
    ("echo", {"message": "hé\u200bllo"}),
    ("get-sum", {"a": 1, "b": 2.5}),
    ("get-sum", {"a": "one"}),
    ("get-tiny-image", {}),
    ("get-annotated-message", {"messageType": "error", "includeImage": True}),
    ("get-resource-links", {"count": 3}),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 2}),
    ("get-resource-reference", {"resourceType": "Blob", "resourceId": 1}),
    ("get-structured-content", {"location": "Chicago"}),
)
PAGE = Path(__file__).parents[3] / "docs" / "mcp_upstream.md"
_TIME = re.compile(r"\d{1,2}:\d{2}:\d{2}( [AP]M)?")


class Ahead(SystemClock):
    """A clock that a test can put forward."""

    ahead = 0.0

    def monotonic(self) -> float:
        """Seconds."""
        return SystemClock.monotonic() + self.ahead


@dataclass
class Upstream:
    """The adapter before one server, and what it offered."""

    adapter: McpUpstreamAdapter
    target: Target
    clock: Ahead
    offers: Mapping[str, Offer] = field(default_factory=dict)
    progress: list[tuple[float, float | None]] = field(default_factory=list)

    async def look(self) -> Mapping[str, Offer]:
        """What it offers now, which is accepted by that."""
        offers = await self.adapter.offers(self._invocation({}))
        assert len({offer.name for offer in offers}) == len(offers)
        self.offers = {offer.name: offer for offer in offers}
        return self.offers

    async def call(
        self, name: str, arguments: dict[str, Any], side_effect: SideEffect = SideEffect.READ, seconds: float = 30.0
    ) -> Output:
        """Make, prepare and carry out."""
        offer = self.offers[name]
        recipe = Recipe(
            tool="tool_of_a_row",
            operation=offer.operation,
            side_effect=side_effect,
            options=offer.options,
            input_schema=offer.input_schema,
            output_schema=None,
        )
        operation = self.adapter.make(recipe)
        return await operation.invoke(self._invocation(operation.prepare(arguments), seconds))

    def _invocation(self, arguments: dict[str, Any], seconds: float = 30.0) -> Invocation:
        return Invocation(
            arguments=arguments,
            target=self.target,
            credential=None,
            deadline=self.clock.monotonic() + seconds,
            effect_id="eff-1",
            progress=lambda done, total: self.progress.append((done, total)),
        )


@asynccontextmanager
async def upstream(server: Server) -> AsyncIterator[Upstream]:
    """One that has looked."""
    clock = Ahead()
    async with opened(server, clock) as (adapter, target):
        one = Upstream(adapter, target, clock)
        await one.look()
        yield one


def shown(output: Output) -> tuple[bool, Any, list[Shown]]:
    """Whether it failed, what is structured, and the blocks."""
    is_error = output.structured == {"is_error": True}
    return is_error, None if is_error else output.structured, [_of_block(block) for block in output.content]


def _of_block(block: Text | Binary) -> Shown:
    if isinstance(block, Binary):
        return block.mime_type, _timeless(block.data)
    if block.text.startswith('{"resource":'):
        return "resource", json.loads(block.text)["resource"]["uri"]
    return "text", _timeless(block.text.encode())


def expected(result: Mapping[str, Any]) -> tuple[bool, Any, list[Shown]]:
    """The same of what the official client got."""
    structured = result.get("structuredContent")
    content = [block for block in result["content"] if not _is_json(block.get("text", ""), structured)]
    return result.get("isError", False), structured, [shown for block in content for shown in _of_raw(block)]


def _of_raw(block: Mapping[str, Any]) -> Iterator[Shown]:
    match block:
        case {"type": "text", "text": text}:
            yield "text", _timeless(text.encode())
        case {"type": "image" | "audio", "data": data, "mimeType": kind}:
            yield kind, _timeless(base64.b64decode(data))
        case {"type": "resource_link", "uri": uri}:
            yield "resource", uri
        case {"type": "resource", "resource": {"uri": uri, **held}}:
            yield "resource", uri
            if "text" in held:
                yield "text", _timeless(held["text"].encode())
            else:
                yield held["mimeType"], _timeless(base64.b64decode(held["blob"]))


def _timeless(data: bytes) -> str:
    """Two calls are at two moments."""
    try:
        return _TIME.sub("TIME", data.decode())
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()


def _is_json(text: str, value: Any) -> bool:
    try:
        return value is not None and json.loads(text) == value
    except ValueError:
        return False


async def check_same(server: Server, calls: Sequence[Call], fresh: Server | None = None) -> None:
    """The tools, their digests, and what each call brings. The official client asks another one, where calls change
    what is there.
    """
    official = await mcp.official(fresh or server, *calls)
    async with upstream(server) as one:
        assert {offer.name: offer.digest for offer in one.offers.values()} == {
            tool["name"]: digest for tool, digest in zip(official["tools"], official["digests"], strict=True)
        }
        for tool in official["tools"]:
            offer = one.offers[tool["name"]]
            assert (offer.description, offer.input_schema) == (tool["description"], tool["inputSchema"])
            assert (offer.output_schema, offer.problems) == (tool.get("outputSchema"), ())
        for (name, arguments), result in zip(calls, official["results"], strict=True):
            assert shown(await one.call(name, arguments)) == expected(result), name


@pytest.fixture
def folder() -> Iterator[Path]:
    """One where servers may go that have a user of their own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        yield Path(name)


def give(folder: Path) -> None:
    """The folder and what is in it are the servers' now."""
    if os.geteuid() == 0:
        for one in (folder, *folder.rglob("*")):
            os.chown(one, mcp.NOBODY, mcp.NOBODY)


@pytest.fixture(scope="session", name="mcp_servers")
def _mcp_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mcp.Address]:
    """`everything`, over HTTP."""
    with mcp.everything(tmp_path_factory.mktemp("everything")) as address:
        yield address


# -- what comes is what the official client gets --------------------------------------------------


@pytest.mark.proves("mcp_upstream", "call", "success")
async def test_everything_over_http(mcp_servers: mcp.Address) -> None:
    """Texts, numbers, pictures, links, resources, structured content, and errors."""
    await check_same(mcp_servers, EVERYTHING)


async def test_everything_over_pipes() -> None:
    """The same."""
    await check_same(mcp.program("everything"), EVERYTHING)


async def test_memory(folder: Path) -> None:
    """A graph that is kept between calls."""
    give(folder)
    entity = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    calls: Sequence[Call] = (
        ("create_entities", {"entities": [entity]}),
        ("add_observations", {"observations": [{"entityName": "Ann", "contents": ["has a dog"]}]}),
        ("search_nodes", {"query": "dog"}),
        ("delete_entities", {"entityNames": ["Ann"]}),
        ("read_graph", {}),
    )
    await check_same(mcp.memory(folder / "ours"), calls, mcp.memory(folder / "theirs"))


async def test_filesystem(folder: Path) -> None:
    """A folder, and nothing outside of it."""
    (folder / "a.txt").write_text("one\ntwo\n")
    (folder / "b.txt").write_text("written twice")
    (folder / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    give(folder)
    calls: Sequence[Call] = (
        ("list_directory", {"path": str(folder)}),
        ("read_text_file", {"path": str(folder / "a.txt"), "head": 1}),
        ("read_media_file", {"path": str(folder / "dot.png")}),
        ("write_file", {"path": str(folder / "b.txt"), "content": "three"}),
        ("read_text_file", {"path": "/etc/hostname"}),
        ("read_text_file", {"path": str(folder / "nothing.txt")}),
    )
    await check_same(mcp.program("filesystem", str(folder)), calls)


@pytest.fixture
def repository(folder: Path) -> Path:
    """One with a commit, and a change that is in none."""
    git = ("git", "-C", str(folder), "-c", "user.name=Ann", "-c", "user.email=ann@corp.example")
    (folder / "a.txt").write_text("one\n")
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "First")):
        subprocess.run((*git, *command), check=True)
    (folder / "a.txt").write_text("two\n")
    give(folder)
    return folder


async def test_git(repository: Path) -> None:
    """A repository."""
    here = {"repo_path": str(repository)}
    calls: Sequence[Call] = (
        ("git_status", here),
        ("git_diff_unstaged", here),
        ("git_log", {**here, "max_count": 1}),
        ("git_show", {**here, "revision": "nowhere"}),
        ("git_status", {"repo_path": "/"}),
    )
    await check_same(mcp.program("git", "--repository", str(repository)), calls)


async def test_time() -> None:
    """Zones, and what is none."""
    zones = {"source_timezone": "Europe/Warsaw", "target_timezone": "Asia/Tokyo"}
    calls: Sequence[Call] = (
        ("convert_time", {**zones, "time": "12:30"}),
        ("convert_time", {**zones, "time": "noon"}),
        ("get_current_time", {"timezone": "Nowhere/Atall"}),
    )
    await check_same(mcp.program("time", "--local-timezone", "UTC"), calls)


async def test_fetch(httpbin: HttpBin) -> None:
    """A page, part of one, and one that is not there."""
    calls: Sequence[Call] = (
        ("fetch", {"url": f"{httpbin.url}/html", "max_length": 500}),
        ("fetch", {"url": f"{httpbin.url}/html", "raw": True, "start_index": 100, "max_length": 50}),
        ("fetch", {"url": f"{httpbin.url}/status/404"}),
    )
    await check_same(mcp.program("fetch", "--ignore-robots-txt", "--allow-private-ips"), calls)


@pytest.mark.parametrize("major", sorted(mcp.SDK))
async def test_a_server_of_either_version_of_the_sdk_over_http(major: int, tmp_path: Path) -> None:
    """Structured results, errors, and arguments that its own schema refuses."""
    (tmp_path / "fresh").mkdir()
    with mcp.sdk_server(major, tmp_path) as server, mcp.sdk_server(major, tmp_path / "fresh") as fresh:
        await check_same(server, NOTES, fresh)


@pytest.mark.parametrize("major", sorted(mcp.SDK))
async def test_a_server_of_either_version_of_the_sdk_over_pipes(major: int) -> None:
    """The same."""
    await check_same(mcp.sdk_program(major), NOTES)


# -- what fails -----------------------------------------------------------------------------------


@pytest.mark.proves("mcp_upstream", "call", "failure")
async def test_a_read_that_fails_says_why_and_an_effect_is_unknown(mcp_servers: mcp.Address) -> None:
    """In the server's words as content, and in none of them as an error."""
    async with upstream(mcp_servers) as one:
        output = await one.call("get-sum", {"a": "one"})
        assert output.structured == {"is_error": True}
        assert "expected number" in str(shown(output))
        with pytest.raises(AdapterError) as caught:
            await one.call("get-sum", {"a": "one"}, SideEffect.WRITE)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.INVALID, Happened.UNKNOWN)
    assert "expected number" not in caught.value.message


async def test_nobody_asks_us_anything(mcp_servers: mcp.Address) -> None:
    """Tools that would ask the client for a model, a form or its folders are not offered to one that has none."""
    async with upstream(mcp_servers) as one:
        assert not [name for name in one.offers if "sampling" in name or "elicitation" in name or "roots" in name]


@pytest.mark.parametrize("major", sorted(mcp.SDK))
@pytest.mark.parametrize("is_http", [True, False], ids=["http", "pipes"])
async def test_a_tool_that_changes_is_put_aside(major: int, is_http: bool, tmp_path: Path) -> None:
    """As soon as its server can say so, within a minute where it cannot, and until somebody has looked."""
    with mcp.sdk_server(major, tmp_path) as server:
        async with upstream(server if is_http else mcp.sdk_program(major)) as one:
            assert (await one.call("add", {"a": 3, "b": 4})).structured == {"result": 7}
            await one.call("change", {})
            one.clock.ahead = FRESH_SECONDS if is_http else 0.0
            with pytest.raises(AdapterError) as caught:
                await one.call("add", {"a": 3, "b": 4})
            assert (caught.value.kind, caught.value.happened) == (ErrorKind.CHANGED, Happened.NO)
            await one.look()
            assert shown(await one.call("add", {"a": 3, "b": 4}))[1:] in (
                ({"result": 12}, [("text", "12")]),
                (None, [("text", "12")]),
            )


async def test_a_server_that_is_another_after_a_restart_is_not_called(tmp_path: Path) -> None:
    """It says the same name and version, and its tool of the same name is none that somebody has accepted."""
    with mcp.sdk_server(1, tmp_path) as server:
        async with upstream(server) as one:
            await one.call("change", {})
            await one.look()
            await one.call("add", {"a": 3, "b": 4})
            server.daemon.kill()
            server.daemon.start()
            with pytest.raises(AdapterError) as caught:
                await one.call("add", {"a": 3, "b": 4})
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.CHANGED, Happened.NO)


# -- progress and cancel --------------------------------------------------------------------------


async def test_progress_of_everything_is_passed_on(mcp_servers: mcp.Address) -> None:
    """As it comes, no step twice, though not faster than anybody reads."""
    async with upstream(mcp_servers) as one:
        output = await one.call("trigger-long-running-operation", {"duration": 1, "steps": 4})
        assert "completed" in str(shown(output))
        assert one.progress[0] == (1.0, 4.0)
        assert one.progress == sorted(set(one.progress))
        assert {total for _, total in one.progress} == {4.0}


async def test_everything_is_let_go_at_the_deadline(mcp_servers: mcp.Address) -> None:
    """And answers others as before; an answer that comes late is nobody's."""
    async with upstream(mcp_servers) as one:
        with pytest.raises(AdapterError) as caught:
            await one.call("trigger-long-running-operation", {"duration": 1, "steps": 2}, seconds=0.3)
        assert caught.value.kind is ErrorKind.DEADLINE
        assert "Echo: on" in str(shown(await one.call("echo", {"message": "on"})))
        await asyncio.sleep(1.0)  # the late answer comes from a process that tells nobody when
        assert "Echo: still" in str(shown(await one.call("echo", {"message": "still"})))


@pytest.mark.parametrize("major", sorted(mcp.SDK))
@pytest.mark.parametrize("is_http", [True, False], ids=["http", "pipes"])
async def test_a_server_is_told_of_a_cancelled_call(major: int, is_http: bool, tmp_path: Path) -> None:
    """And stops, while it goes on with others."""
    with mcp.sdk_server(major, tmp_path) as server:
        async with upstream(server if is_http else mcp.sdk_program(major)) as one:
            waiting = asyncio.ensure_future(one.call("wait", {"name": "long", "steps": 600}, SideEffect.WRITE))
            while not one.progress:
                await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            async with asyncio.timeout(10):
                while (await one.call("was_cancelled", {"name": "long"})).structured != {"result": True}:
                    await asyncio.sleep(0.02)


# -- the page for users ---------------------------------------------------------------------------


async def test_the_example_of_the_page_works(mcp_servers: mcp.Address, tmp_path: Path) -> None:
    """As it stands there, at another port: settings, rows and pin, with the policy that comes with the gateway."""
    page = PAGE.read_text("utf-8").replace("3001", str(mcp_servers.port))
    settings, rows = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "rows.yaml").write_text(rows)
    (tmp_path / "tollhouse.yaml").write_text(settings.replace("unix:.tollhouse", f"unix:{tmp_path}"))
    loaded = load_settings(tmp_path / "tollhouse.yaml")
    adapter = build(SystemClock(), mcp_servers.port)
    gateway = build_gateway(loaded, adapters={adapter.name: adapter})
    await gateway.start()
    try:
        async with channel_to(gateway.describe().listeners[0].address) as channel:
            call = rpc.ToolServiceStub(channel).CallTool
            response = await call(asked("say_it_again", '{"message": "hello"}'), timeout=20)
    finally:
        await gateway.stop()
    assert response.result.content[0].text.text == "Echo: hello", response
