"""What happens in the demo: the gateway serves, the agent runs its errand, and a person decides in between."""

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gateway.background import end
from gateway.cli.demo.errand import ANNOUNCEMENT, Label, Task
from gateway.cli.demo.person import Typed, approve_itself, decide
from gateway.cli.demo.processes import gateway, start, stop, typed
from gateway.cli.demo.project import Project
from gateway.cli.demo.servers import World

AGENT_SECONDS = 45.0

Json = dict[str, Any]
Say = Callable[[str, str], None]
"""Tells a person what is being done now, and its detail."""
Read = Callable[[], Mapping[str, bytes]]
"""Every file that the demo's processes have written by now."""


class Seen:
    """What the processes told."""

    def __init__(self) -> None:
        self.tools: tuple[str, ...] = ()
        self.answers: list[Json] = []
        self.typed: list[Typed] = []
        self.sent_before = -1
        """How many mails that need approval had been sent when the person began to decide; -1: she never did."""
        self.written: Mapping[str, bytes] = {}
        """What was in the files while the gateway still ran."""
        self.agent_exit = -1
        self.gateway_exits: list[int] = []


async def play(project: Project, tasks: tuple[Task, ...], world: World, say: Say, read: Read) -> Seen:
    """Everything that was seen. Raises `StartError`."""
    seen = Seen()
    say("starting the gateway", "")
    async with gateway(project, seen.gateway_exits):
        scene = Scene(project, tasks, world, seen, say)
        await scene.run_agent()
        seen.written = read()
        say("stopping the gateway", "")
    return seen


class Scene:
    """The agent's errand, and the person who comes in when it has to wait for her."""

    def __init__(self, project: Project, tasks: tuple[Task, ...], world: World, seen: Seen, say: Say) -> None:
        self._project = project
        self._tasks = tasks
        self._world = world
        self._seen = seen
        self._say = say
        self._deciding: asyncio.Task[None] | None = None

    async def run_agent(self) -> None:
        """The agent's process gets the socket's path and its errand, and every answer is kept as it comes."""
        project = self._project
        with (project.logs / "agent.log").open("wb") as log:
            arguments = ["-m", "gateway.cli.demo.agent", str(project.socket)]
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
        process.stdin.write(json.dumps([task.as_json() for task in self._tasks]).encode())
        process.stdin.close()
        with (self._project.logs / "answers.jsonl").open("wb") as answers:
            async for raw in process.stdout:
                answers.write(raw)
                self._take(json.loads(raw))

    def _take(self, told: Json) -> None:
        seen, tasks = self._seen, self._tasks
        if told["kind"] == "tools":
            seen.tools = tuple(tool["name"] for tool in told["tools"])
        else:
            seen.answers.append(told)
        pending = told.get("value", {}).get("pending")
        if told.get("label") == Label.APPROVAL and pending:
            self._deciding = asyncio.create_task(self._decide(pending["approval_id"]), name="person")
        if len(seen.answers) < len(tasks):
            self._say(
                "the agent is at work", f"{len(seen.answers) + 1} of {len(tasks)}: {tasks[len(seen.answers)].says}"
            )

    async def _decide(self, approval_id: str) -> None:
        """First the agent tries it itself; then the person does."""
        type_words = partial(typed, folder=self._project.root)
        self._seen.typed.append(await approve_itself(approval_id, self._project.socket, type_words))
        self._seen.sent_before = sum(mail.subject == ANNOUNCEMENT for mail in self._world.mailbox)
        self._seen.typed += await decide(self._project.control, type_words)
