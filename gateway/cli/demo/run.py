"""The demo from beginning to end: servers, gateway, agent, evidence. Whatever happens, nothing is left running."""

import asyncio
import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gateway.audit.reading import tail
from gateway.audit.verify import verify
from gateway.cli.demo.backends import KEY_ID, Backends, opa_config, running_backends, write_private
from gateway.cli.demo.certificate import server_context
from gateway.cli.demo.checks import Evidence
from gateway.cli.demo.daemons import opa_binary
from gateway.cli.demo.errand import Task, errand
from gateway.cli.demo.project import CREDENTIAL, MAIL_HOST, USERNAME, Project, prepare_folders, write_project
from gateway.cli.demo.search import files_below, forms, search
from gateway.cli.demo.servers import ARTICLE, HOST, MOVED, Account, World, running_world
from gateway.errors import StartError
from gateway.policy.bundle.build import Signing, build_bundle
from gateway.policy.bundle.manifest import make_revision
from gateway.policy.bundle.signature import make_signing_key, read_signing_key
from gateway.policy.embedded import packages_of
from gateway.policy.pack import read_pack

START_SECONDS = 25.0
AGENT_SECONDS = 25.0
STOP_SECONDS = 8.0
LONGEST_SOCKET_PATH = 100
"""In bytes, with room for the lock file's suffix: a Unix socket's name holds 107."""
LONGEST_ANSWER = 16 * 1024 * 1024

Json = dict[str, Any]
Say = Callable[[str, str], None]
"""Tells a person what is being done now, and its detail."""


async def run_demo(folder: Path, say: Say) -> Evidence:
    """The evidence of one run; its files are in the folder, which is made. Raises `StartError`."""
    with _ended_by_sigterm(), _project(folder) as project, contextlib.ExitStack() as stack:
        prepare_folders(project)
        account = Account(username=USERNAME, password=_password())
        say("starting OpenBao, Valkey and OPA", "")
        backends = _started_backends(stack, project, account.password)
        say("starting a mail server and a web server", "")
        async with running_world(account, server_context(project.root, MAIL_HOST)) as world:
            write_project(project, world, backends)
            tasks = errand(
                article=f"http://{HOST}:{world.web_port}{ARTICLE}", moved=f"http://{HOST}:{world.web_port}{MOVED}"
            )
            seen = await _run_processes(project, tasks, say)
        say("verifying the audit and looking for the password", "")
        return _evidence(project, Surroundings(world, account, backends), tasks, seen)


class Surroundings(NamedTuple):
    """What stood around the gateway."""

    world: World
    account: Account
    backends: Backends


def _started_backends(stack: contextlib.ExitStack, project: Project, password: str) -> Backends:
    """They run until the stack ends. OPA, where there is one, gets a bundle that is signed with a key of this run."""
    if opa_binary() is not None:
        _write_bundle(project)
    return stack.enter_context(running_backends(project.logs, project.socket.parent, password))


def _write_bundle(project: Project) -> None:
    """The built-in pack as a signed bundle, and OPA's settings, by which it takes no other signature."""
    from gateway.app import default_pack  # noqa: PLC0415 - it loads every part, and is needed only here

    private, public = make_signing_key()
    write_private(project.signing_key, private.decode())
    pack, now = read_pack([default_pack()]), time.time()
    signing = Signing(key=read_signing_key(project.signing_key), key_id=KEY_ID)
    revision = make_revision(now, pack.revision)
    raw, _ = build_bundle(pack, packages_of(pack), revision=revision, signing=signing, now=now)
    project.bundle.write_bytes(raw)
    project.opa_config.write_text(json.dumps(opa_config(project.bundle, public.decode()), indent=2), "utf-8")


def _password() -> str:
    """New each time, and with characters that every encoding writes differently."""
    return f'{secrets.token_urlsafe(12)}"\\&ü<{secrets.token_hex(4)}'


@contextlib.contextmanager
def _project(folder: Path) -> Iterator[Project]:
    """The project in a folder, with a socket in it, or elsewhere when its path would be too long for one.
    What the gateway signs in with does not outlive the block. Raises `StartError` when another demo is in the folder.
    """
    root = folder.resolve()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_alone_in(root))
        socket = root / "gateway.sock"
        if len(os.fsencode(socket)) > LONGEST_SOCKET_PATH:
            socket = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tollhouse-"))) / socket.name
        project = Project(root=root, socket=socket)
        stack.callback(shutil.rmtree, project.secrets, ignore_errors=True)
        yield project


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """For the length of the block the folder is there and no other demo's. Raises `StartError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("ab")
    except OSError as error:
        raise StartError(f"{folder} cannot be written ({error.strerror}); run the demo in another folder") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StartError(f"another demo is running in {folder}; wait for its end, or use another folder") from error
        yield


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends the demo as Ctrl-C does: with everything cleaned up."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


class Seen:
    """What the processes told."""

    def __init__(self) -> None:
        self.tools: tuple[str, ...] = ()
        self.calls: list[Json] = []
        self.agent_exit = -1
        self.gateway_exit = -1


async def _run_processes(project: Project, tasks: tuple[Task, ...], say: Say) -> Seen:
    seen = Seen()
    say("starting the gateway", "")
    async with _gateway(project, seen):
        await _run_agent(project, tasks, seen, say)
        say("stopping the gateway", "")
    return seen


@contextlib.asynccontextmanager
async def _gateway(project: Project, seen: Seen) -> AsyncIterator[None]:
    """The gateway as a process of its own, ready to be called; stopped in the end."""
    log, screen = project.logs / "gateway.log", project.logs / "screen.txt"
    with log.open("wb") as log_file, screen.open("wb") as screen_file:
        process = await _start(["-m", "gateway", "serve", "--config", str(project.settings)], project, stderr=log_file)
        assert process.stdout is not None
        reader: asyncio.Task[None] | None = None
        try:
            screen_file.write(await _first_line(process, log))
            reader = asyncio.create_task(_copy(process.stdout, screen_file))
            yield
        finally:
            seen.gateway_exit = await _stop(process)
            if reader is not None:
                await reader


async def _first_line(process: asyncio.subprocess.Process, log: Path) -> bytes:
    """The gateway prints its screen when it is ready. Raises `StartError` when it ends before."""
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            line = await process.stdout.readline()
            if not line:
                await process.wait()  # a signal sent right now would take its exit code away from asyncio
    except TimeoutError as error:
        raise StartError(f"the gateway did not start within {START_SECONDS:.0f} s; see {log}") from error
    if not line:
        raise StartError("the gateway did not start; its log ends with:", tuple(_last_lines(log)))
    return line


def _last_lines(log: Path) -> list[str]:
    return log.read_text("utf-8", "replace").splitlines()[-12:]


async def _copy(stream: asyncio.StreamReader, into: Any) -> None:
    while chunk := await stream.read(65536):
        into.write(chunk)
    into.flush()


async def _run_agent(project: Project, tasks: tuple[Task, ...], seen: Seen, say: Say) -> None:
    """The agent's process gets the socket's path and its errand, and every answer is kept as it comes."""
    with (project.logs / "agent.log").open("wb") as log, (project.logs / "answers.jsonl").open("wb") as answers:
        process = await _start(
            ["-m", "gateway.cli.demo.agent", str(project.socket)], project, stdin=asyncio.subprocess.PIPE, stderr=log
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([task.as_json() for task in tasks]).encode())
        process.stdin.close()
        try:
            async with asyncio.timeout(AGENT_SECONDS):
                async for raw in process.stdout:
                    answers.write(raw)
                    _take(json.loads(raw), tasks, seen, say)
                seen.agent_exit = await process.wait()
        except TimeoutError:
            seen.agent_exit = -1  # the evidence then says how far it came
        finally:
            await _stop(process)


def _take(told: Json, tasks: tuple[Task, ...], seen: Seen, say: Say) -> None:
    if told["kind"] == "tools":
        seen.tools = tuple(tool["name"] for tool in told["tools"])
    else:
        seen.calls.append(told)
    if len(seen.calls) < len(tasks):
        say("the agent is at work", f"{len(seen.calls) + 1} of {len(tasks)}: {tasks[len(seen.calls)].says}")


async def _start(arguments: list[str], project: Project, **streams: Any) -> asyncio.subprocess.Process:
    """A Python of this installation in a session of its own, so that Ctrl-C reaches the demo alone."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        cwd=project.root,
        env=_environment(),
        start_new_session=True,
        limit=LONGEST_ANSWER,
        **({"stdin": asyncio.subprocess.DEVNULL} | streams),
    )


def _environment() -> dict[str, str]:
    """What a process needs to run, and nothing that might be a secret or change its way."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"}}
    return kept | {"COLUMNS": "120", "RUST_BACKTRACE": "0", "PYTHONUTF8": "1"}


async def _stop(process: asyncio.subprocess.Process) -> int:
    """The process's exit code, after it was asked to end and, if it had to be, made to."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
        except asyncio.CancelledError:
            process.kill()
            raise
    return await process.wait()


def _evidence(project: Project, around: Surroundings, tasks: tuple[Task, ...], seen: Seen) -> Evidence:
    verdict = verify(project.audit)
    words = f"{verdict.lines} lines, head {verdict.head_hash[:19]}…" if verdict.ok else str(verdict.first_bad)
    wanted = forms(around.account.password, around.account.username)
    return Evidence(
        tasks=tasks,
        tools=seen.tools,
        calls=tuple(seen.calls),
        agent_exit=seen.agent_exit,
        mailbox=tuple(around.world.mailbox),
        trapped=around.world.trapped,
        lines=tuple(line.value for line in tail(project.audit) if line.value is not None),
        chain_verified=verdict.ok and verdict.files > 0,
        chain_words=words,
        secret_hits=search(_written(project), wanted),
        control_hits=len(search({"OpenBao": around.backends.kept_secret()}, wanted)),
        engine=around.backends.engine,
        counted=around.backends.counted(),
        credential=CREDENTIAL,
        gateway_exit=seen.gateway_exit,
    )


def _written(project: Project) -> dict[str, bytes]:
    """Every file of the project, by its name in it: what the gateway, the agent and all servers wrote."""
    files = files_below([project.root])
    return {str(Path(path).relative_to(project.root)): text for path, text in files.items()}
