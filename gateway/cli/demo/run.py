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
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from gateway.audit.notes import VerificationKey
from gateway.audit.signing import make_key
from gateway.cli.demo.backends import KEY_ID, Backends, opa_config, running_backends, write_private
from gateway.cli.demo.certificate import server_context
from gateway.cli.demo.daemons import opa_binary
from gateway.cli.demo.errand import ANNOUNCEMENT, Label, Task, errand
from gateway.cli.demo.evidence import Evidence
from gateway.cli.demo.gathering import Left, Sought, gathered, written_in
from gateway.cli.demo.person import Typed, approve_itself, decide
from gateway.cli.demo.processes import typed
from gateway.cli.demo.project import CREDENTIAL, MAIL_HOST, USERNAME, Project, prepare_folders, write_project
from gateway.cli.demo.refund.evidence import LeftOut, RefundEvidence
from gateway.cli.demo.refund.run import REFUND, play_refund
from gateway.cli.demo.scene import Say, Script, play
from gateway.cli.demo.search import forms, new_password
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


class Stage(NamedTuple):
    """What stands around every scene."""

    project: Project
    account: Account
    backends: Backends
    audit_key: VerificationKey
    """Whose checkpoints count."""


async def run_demo(folder: Path, say: Say) -> Evidence:
    """The evidence of the first scene; its files are in the folder, which is made. Raises `StartError`."""
    with _stage(folder, say) as stage:
        return await _play_first(stage, say)


async def run_scenes(folder: Path, say: Say) -> tuple[Evidence, RefundEvidence | LeftOut]:
    """The evidence of both scenes, of the second or why it was left out. Raises `StartError`."""
    with _stage(folder, say) as stage:
        first = await _play_first(stage, say)
        return first, await play_refund(stage.project, stage.backends, say)


@contextlib.contextmanager
def _stage(folder: Path, say: Say) -> Iterator[Stage]:
    with _ended_by_sigterm(), _project(folder) as project, contextlib.ExitStack() as stack:
        prepare_folders(project)
        account = Account(username=USERNAME, password=new_password())
        key = make_key(project.audit_key, KEY_NAME, secrets.token_bytes(32))
        say("starting OpenBao, Valkey and OPA", "")
        yield Stage(project, account, _started_backends(stack, project, account.password), key)


async def _play_first(stage: Stage, say: Say) -> Evidence:
    project, backends = stage.project, stage.backends
    say("starting a mail server and a web server", "")
    async with running_world(stage.account, server_context(project.root, MAIL_HOST)) as world:
        write_project(project, world, backends)
        tasks = errand(
            article=f"http://{HOST}:{world.web_port}{ARTICLE}", moved=f"http://{HOST}:{world.web_port}{MOVED}"
        )
        script = script_of(project, tasks, world)
        seen = await play(project, script, say, lambda: written_in(project))
    say("verifying the audit and looking for the password", "")
    left = Left(
        project=project,
        says=script.says,
        mailbox=world.mailbox,
        key=stage.audit_key,
        sought=(Sought(forms=forms(stage.account.password, USERNAME), kept=backends.kept_secret()),),
        engine=backends.engine,
    )
    return Evidence(
        **gathered(left, seen, written_in(project)),
        trapped=world.trapped,
        counted=backends.counted(),
        credential=CREDENTIAL,
    )


def script_of(project: Project, tasks: tuple[Task, ...], world: World) -> Script:
    """The first scene: an errand, and mail to everybody that a person has to approve."""
    type_words = partial(typed, folder=project.root)

    async def sent() -> int:
        return sum(mail.subject == ANNOUNCEMENT for mail in world.mailbox)

    async def decided(approval_id: str) -> tuple[Typed, ...]:
        """First the agent tries it itself; then the person does."""
        tried = await approve_itself(approval_id, project.socket, type_words)
        return tried, *await decide(project.control, type_words)

    return Script(
        agent="gateway.cli.demo.agent",
        told=[task.as_json() for task in tasks],
        says=tuple((task.label.value, task.says) for task in tasks),
        waits=Label.APPROVAL,
        done_before=sent,
        decide=decided,
    )


def _started_backends(stack: contextlib.ExitStack, project: Project, password: str) -> Backends:
    """They run until the stack ends. OPA, where there is one, gets a bundle that is signed with a key of this run."""
    if opa_binary() is not None:
        _write_bundle(project)
    return stack.enter_context(running_backends(project.logs, project.socket.parent, password))


def _write_bundle(project: Project) -> None:
    """The built-in pack as a signed bundle, and OPA's settings, by which it takes no other signature."""
    from gateway.judging import default_pack  # noqa: PLC0415 - it loads every engine, and is needed only here

    private, public = make_signing_key()
    write_private(project.signing_key, private.decode())
    pack, now = read_pack([default_pack()]), time.time()
    signing = Signing(key=read_signing_key(project.signing_key), key_id=KEY_ID)
    revision = make_revision(now, pack.revision)
    raw, _ = build_bundle(pack, packages_of(pack), revision=revision, signing=signing, now=now)
    project.bundle.write_bytes(raw)
    project.opa_config.write_text(json.dumps(opa_config(project.bundle, public.decode()), indent=2), "utf-8")


@contextlib.contextmanager
def _project(folder: Path) -> Iterator[Project]:
    """The project in a folder, with a socket in it, or elsewhere when its path would be too long for one.
    What the gateway signs in with does not outlive the block. Raises `StartError` when another demo is in the folder.
    """
    root = folder.resolve()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_alone_in(root))
        project = Project(root=root, socket=root / "gateway.sock")
        if len(os.fsencode(project.below(REFUND).control)) > LONGEST_SOCKET_PATH:
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
