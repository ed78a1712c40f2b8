"""The reference MCP servers from import to answer: `registry import upstream`, a gateway over the rows it proposes,
and calls over gRPC, which bring what the official client of MCP gets of the same servers.
"""

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.engine import FakeEngine
from fakes.served import channel_to, lines_in
from real import mcp
from real.httpbin import HttpBin

from gateway.app import build_gateway
from gateway.cli.root import run
from gateway.documents import documents_of
from gateway.settings.load import load_settings
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1 import tool_service_pb2_grpc as rpc

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Project:
    """Settings, rows and where all of it is."""

    folder: Path
    rows: Path
    settings: Path

    @classmethod
    def of(cls, folder: Path, program: mcp.Program) -> "Project":
        """One upstream, which the settings start under a user of its own."""
        user = {"uid": mcp.NOBODY, "gid": mcp.NOBODY} if os.geteuid() == 0 else {}
        rows, settings = folder / "rows", folder / "tollhouse.yaml"
        rows.mkdir()
        written(rows / "up.yaml", connections=[_connection()])
        written(
            settings,
            state_dir=str(folder / "state"),
            listeners=[_listener(folder)],
            registry={"paths": [str(rows)]},
            mcp={"stdio": {"up": {"command": list(program.command), **user}}},
        )
        return cls(folder, rows, settings)

    def imported(self, capsys: pytest.CaptureFixture[str]) -> Mapping[str, str]:
        """What every tool of the upstream is called here; an agent has them all from now on."""
        out = self.rows / "tools.yaml"
        asked = ["registry", "import", "upstream", "up", str(self.rows), "--config", str(self.settings), "--json"]
        assert run([*asked, "--out", str(out)]) == 0, capsys.readouterr().err
        told = json.loads(capsys.readouterr().out)
        assert told["skipped"] == []
        tools = documents_of(out.read_text(), "tools")[0].value["tools"]
        scopes = sorted({scope for tool in tools for scope in tool["requires"]})
        agent = {"name": "helper", "tenant": "acme", "tools": [tool["name"] for tool in tools], "scopes": scopes}
        written(self.rows / "agents.yaml", agents=[agent])
        return {one["upstream"]: one["name"] for one in told["tools"]}

    def called(self, names: Mapping[str, str], calls: Sequence[Call]) -> list[pb.CallToolResponse]:
        """What a gateway over these rows answers to an agent."""
        return asyncio.run(self._called(names, calls))

    async def _called(self, names: Mapping[str, str], calls: Sequence[Call]) -> list[pb.CallToolResponse]:
        gateway = build_gateway(load_settings(self.settings), engine=FakeEngine())
        await gateway.start()
        try:
            async with channel_to(gateway.describe().listeners[0].address) as channel:
                stub = rpc.ToolServiceStub(channel)
                return [
                    await stub.CallTool(
                        pb.CallToolRequest(
                            tool=names[name],
                            arguments_json=json.dumps(arguments).encode(),
                            idempotency_key=f"k{number}",
                        ),
                        timeout=60,
                    )
                    for number, (name, arguments) in enumerate(calls)
                ]
        finally:
            await gateway.stop()


def written(path: Path, **value: Any) -> None:
    """A YAML file."""
    path.write_text(yaml.safe_dump(value))


def _connection() -> dict[str, Any]:
    return {"name": "up", "tenant": "acme", "vendor": "mcp_upstream", "options": {"stdio": "up"}}


def _listener(folder: Path) -> dict[str, Any]:
    scopes = ["up:read", "up:write"]
    identity = {"kind": "fixed", "tenant": "acme", "agent": "helper", "scopes": scopes}
    return {"name": "agent", "address": f"unix:{folder}/agent.sock", "identity": identity}


@pytest.fixture
def folder() -> Iterator[Path]:
    """One where servers may go that have a user of their own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def files_in(folder: Path) -> Path:
    """A folder of a server's own, with a file in it."""
    made = folder / "files"
    made.mkdir()
    (made / "a.txt").write_text("one\ntwo\n")
    give(made)
    return made


def give(folder: Path) -> None:
    """The folder and what is in it are the servers' now."""
    if os.geteuid() == 0:
        for one in (folder, *folder.rglob("*")):
            os.chown(one, mcp.NOBODY, mcp.NOBODY)


def check(
    folder: Path, program: mcp.Program, calls: Sequence[Call], capsys: pytest.CaptureFixture[str], *, fresh: mcp.Program
) -> None:
    """Every call brings what the official client gets, labelled as a stranger's, and leaves one line that names it."""
    official = asyncio.run(mcp.official(fresh, *calls))
    project = Project.of(folder, program)
    names = project.imported(capsys)
    assert names.keys() == {tool["name"] for tool in official["tools"]}
    answers = project.called(names, calls)
    for (name, _), answer, result in zip(calls, answers, official["results"], strict=True):
        assert answer.HasField("result"), (name, answer)
        assert answer.result.labels == ["untrusted"]
        texts = [block["text"] for block in result["content"] if block["type"] == "text"]
        structured = result.get("structuredContent")
        if structured is not None:
            assert json.loads(answer.result.structured_json) == structured
        else:
            assert [block.text.text for block in answer.result.content] == texts
    lines = lines_in(folder)
    assert [(line["tool"], line["outcome"]) for line in lines] == [(names[name], "ok") for name, _ in calls]
    assert all(line["upstream"].partition("@")[0] == name for line, (name, _) in zip(lines, calls, strict=True))


def test_everything(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Texts, numbers and structured content."""
    calls: Sequence[Call] = (
        ("echo", {"message": "hello"}),
        ("get-sum", {"a": 1, "b": 2.5}),
        ("get-structured-content", {"location": "Chicago"}),
    )
    program = mcp.program("everything")
    check(folder, program, calls, capsys, fresh=program)


def test_filesystem(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reads and writes below its folder."""
    files = files_in(folder)
    calls: Sequence[Call] = (
        ("read_text_file", {"path": str(files / "a.txt"), "head": 1}),
        ("write_file", {"path": str(files / "b.txt"), "content": "three"}),
        ("list_directory", {"path": str(files)}),
    )
    program = mcp.program("filesystem", str(files))
    check(folder, program, calls, capsys, fresh=program)


def test_memory(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was written is there for the next call."""
    files = files_in(folder)
    entity = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    calls: Sequence[Call] = (("create_entities", {"entities": [entity]}), ("search_nodes", {"query": "tea"}))
    check(folder, mcp.memory(files / "ours"), calls, capsys, fresh=mcp.memory(files / "theirs"))


def test_git(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A branch of a repository."""
    files = files_in(folder)
    safe = ("-c", f"safe.directory={files}")
    git = ("git", "-C", str(files), *safe, "-c", "user.name=Ann", "-c", "user.email=ann@corp.example")
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "First")):
        subprocess.run((*git, *command), check=True)
    give(files)
    here = {"repo_path": str(files)}
    program = mcp.program("git", "--repository", str(files))
    check(folder, program, (("git_status", here), ("git_log", {**here, "max_count": 1})), capsys, fresh=program)


def test_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From one zone to another."""
    zones = {"source_timezone": "Europe/Warsaw", "target_timezone": "Asia/Tokyo", "time": "12:30"}
    program = mcp.program("time", "--local-timezone", "UTC")
    check(folder, program, (("convert_time", zones),), capsys, fresh=program)


def test_fetch(folder: Path, httpbin: HttpBin, capsys: pytest.CaptureFixture[str]) -> None:
    """A page of a server of ours."""
    calls: Sequence[Call] = (("fetch", {"url": f"{httpbin.url}/html", "max_length": 500}),)
    program = mcp.program("fetch", "--ignore-robots-txt", "--allow-private-ips")
    check(folder, program, calls, capsys, fresh=program)


@pytest.mark.parametrize("major", sorted(mcp.SDK))
def test_a_server_of_either_version_of_the_sdk(major: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Structured results."""
    program = mcp.sdk_program(major)
    check(folder, program, (("add", {"a": 1, "b": 2}), ("count_notes", {})), capsys, fresh=program)
