"""The demo from beginning to end: servers, gateway, agent, person, evidence. Whatever happens, nothing is left
running.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gateway.audit.anchors import anchors_of
from gateway.audit.notes import VerificationKey
from gateway.audit.reading import tail
from gateway.audit.signing import make_key
from gateway.audit.verify import verify
from gateway.cli.demo.backends import KEY_ID, Backends, opa_config, running_backends, write_private
from gateway.cli.demo.certificate import server_context
from gateway.cli.demo.daemons import opa_binary
from gateway.cli.demo.errand import Task, errand
from gateway.cli.demo.evidence import Evidence
from gateway.cli.demo.project import CREDENTIAL, MAIL_HOST, USERNAME, Project, prepare_folders, write_project
from gateway.cli.demo.scene import Say, Seen, play
from gateway.cli.demo.search import files_below, forms, search
from gateway.cli.demo.servers import ARTICLE, HOST, MOVED, Account, World, running_world
from gateway.errors import StartError
from gateway.policy.bundle.build import Signing, build_bundle
from gateway.policy.bundle.manifest import make_revision
from gateway.policy.bundle.signature import make_signing_key, read_signing_key
from gateway.policy.embedded import packages_of
from gateway.policy.pack import read_pack

KEY_NAME = "demo/audit"
LONGEST_SOCKET_PATH = 100
"""In bytes, with room for the lock file's suffix: a Unix socket's name holds 107."""


async def run_demo(folder: Path, say: Say) -> Evidence:
    """The evidence of one run; its files are in the folder, which is made. Raises `StartError`."""
    with _ended_by_sigterm(), _project(folder) as project, contextlib.ExitStack() as stack:
        prepare_folders(project)
        account = Account(username=USERNAME, password=_password())
        key = make_key(project.audit_key, KEY_NAME, secrets.token_bytes(32))
        say("starting OpenBao, Valkey and OPA", "")
        backends = _started_backends(stack, project, account.password)
        say("starting a mail server and a web server", "")
        async with running_world(account, server_context(project.root, MAIL_HOST)) as world:
            write_project(project, world, backends)
            tasks = errand(
                article=f"http://{HOST}:{world.web_port}{ARTICLE}", moved=f"http://{HOST}:{world.web_port}{MOVED}"
            )
            seen = await play(project, tasks, world, say, lambda: _written(project))
        say("verifying the audit and looking for the password", "")
        return _evidence(project, Surroundings(world, account, backends, key), tasks, seen)


class Surroundings(NamedTuple):
    """What stood around the gateway."""

    world: World
    account: Account
    backends: Backends
    audit_key: VerificationKey
    """Whose checkpoints count."""


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
        project = Project(root=root, socket=root / "gateway.sock")
        if len(os.fsencode(project.control)) > LONGEST_SOCKET_PATH:
            elsewhere = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tollhouse-")))
            project = Project(root=root, socket=elsewhere / project.socket.name)
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


def _evidence(project: Project, around: Surroundings, tasks: tuple[Task, ...], seen: Seen) -> Evidence:
    verdict = verify(project.audit, anchors_of([project.checkpoints], (around.audit_key,)))
    words = f"{verdict.lines} lines, head {verdict.head_hash[:19]}…" if verdict.ok else str(verdict.first_bad)
    wanted = forms(around.account.password, around.account.username)
    written = _written(project)
    return Evidence(
        tasks=tasks,
        tools=seen.tools,
        answers=tuple(seen.answers),
        typed=tuple(seen.typed),
        sent_before=seen.sent_before,
        control_mode=stat.S_IMODE(project.control.parent.stat().st_mode),
        agent_exit=seen.agent_exit,
        mailbox=tuple(around.world.mailbox),
        trapped=around.world.trapped,
        lines=tuple(line.value for line in tail(project.audit) if line.value is not None),
        chain_verified=verdict.ok and verdict.files > 0,
        chain_words=words,
        uncovered=verdict.head_seq - verdict.covered_seq,
        secret_hits=tuple(sorted({*search(seen.written, wanted), *search(written, wanted)})),
        searched=frozenset(seen.written) | frozenset(written),
        control_hits=len(search({"OpenBao": around.backends.kept_secret()}, wanted)),
        engine=around.backends.engine,
        counted=around.backends.counted(),
        credential=CREDENTIAL,
        gateway_exit=seen.gateway_exits[-1],
    )


def _written(project: Project) -> dict[str, bytes]:
    """Every file of the project, by its name in it: what the gateway, the agent and all servers wrote."""
    files = files_below([project.root])
    return {str(Path(path).relative_to(project.root)): text for path, text in files.items()}
