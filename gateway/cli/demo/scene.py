"""What happens in a scene of the demo: the gateway serves, an agent does its work, and a person decides in between."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.background import end
from gateway.cli.demo.person import Typed
from gateway.cli.demo.processes import gateway, start, stop
from gateway.cli.demo.project import Project

AGENT_SECONDS = 45.0

Json = dict[str, Any]
Say = Callable[[str, str], None]
"""Tells a person what is being done now, and its detail."""
Read = Callable[[], Mapping[str, bytes]]
"""Every file that the demo's processes have written by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What is particular to a scene."""

    agent: str
    """The module that is the agent's program. It gets the socket's path and tells each answer as a line of JSON."""
    told: Any = field(repr=False)
    """What it reads on standard input, as JSON."""
    says: tuple[tuple[str, str], ...]
    """What it is to do, in order: a label, and what it is in words."""
    waits: str
    """The label of the call that waits for a person."""
    done_before: Callable[[], Awaitable[int]]
    """How much of what waits has been done by now."""
    decide: Callable[[str], Awaitable[tuple[Typed, ...]]]
    """The person's part, with the approval's id."""


class Seen:
    """What the processes told."""

    def __init__(self) -> None:
        self.tools: tuple[str, ...] = ()
        self.answers: list[Json] = []
        self.typed: list[Typed] = []
        self.done_before = -1
        """How much of what needs approval had been done when the person began to decide; -1: she never did."""
        self.written: Mapping[str, bytes] = {}
        """What was in the files while the gateway still ran."""
        self.agent_exit = -1
        self.gateway_exits: list[int] = []


async def play(project: Project, script: Script, say: Say, read: Read) -> Seen:
    """Everything that was seen. Raises `StartError`."""
    seen = Seen()
    say("starting the gateway", "")
    async with gateway(project, seen.gateway_exits):
        scene = Scene(project, script, seen, say)
        await scene.run_agent()
        seen.written = read()
        say("stopping the gateway", "")
    return seen


class Scene:
    """The agent's work, and the person who comes in when it has to wait for her."""

    def __init__(self, project: Project, script: Script, seen: Seen, say: Say) -> None:
        self._project = project
        self._script = script
        self._seen = seen
        self._say = say
        self._deciding: asyncio.Task[None] | None = None

    async def run_agent(self) -> None:
        """The agent's process gets the socket's path and what it is told, and every answer is kept as it comes."""
        project = self._project
        with (project.logs / "agent.log").open("wb") as log:
            arguments = ["-m", self._script.agent, str(project.socket)]
            process = await start(arguments, project.root, stdin=asyncio.subprocess.PIPE, stderr=log)
            try:
                async with asyncio.timeout(AGENT_SECONDS):
                    await self._converse(process)
                    self._seen.agent_exit = await process.wait()
                    if self._deciding is not None:
                        await self._deciding
            except TimeoutError:
                self._seen.agent_exit = -1  # the evidence then says how far it came
            finally:
                await stop(process)
                if self._deciding is not None:
                    await end(self._deciding)

    async def _converse(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(self._script.told).encode())
        process.stdin.close()
        with (self._project.logs / "answers.jsonl").open("wb") as answers:
            async for raw in process.stdout:
                answers.write(raw)
                self._take(json.loads(raw))

    def _take(self, told: Json) -> None:
        seen, says = self._seen, self._script.says
        if told["kind"] == "tools":
            seen.tools = tuple(tool["name"] for tool in told["tools"])
        else:
            seen.answers.append(told)
        pending = told.get("value", {}).get("pending")
        if told.get("label") == self._script.waits and pending and self._deciding is None:
            self._deciding = asyncio.create_task(self._decide(pending["approval_id"]), name="person")
        if len(seen.answers) < len(says):
            self._say("the agent is at work", f"{len(seen.answers) + 1} of {len(says)}: {says[len(seen.answers)][1]}")

    async def _decide(self, approval_id: str) -> None:
        self._seen.done_before = await self._script.done_before()
        self._seen.typed += await self._script.decide(approval_id)
