"""MCP servers that nobody here wrote, servers written with either major version of the SDK, and the official client.

What they need is brought once, pinned, by tests/real/packages.py. Each is run as a process of its own that speaks by
its input and output; `everything` and those of the SDK can be had over HTTP as well.
"""

import asyncio
import contextlib
import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from real.packages import node, node_packages, python_packages, version_of

from gateway.cli.demo.daemons import Daemon, free_port

HERE = Path(__file__).parent
CLIENT, SERVER = HERE / "mcp_client.py", HERE / "mcp_server.py"
SDK = {1: "mcp_sdk1", 2: "mcp_servers"}
"""By major version: which file of `pip/` pins it."""
OF_NODE = {name: f"@modelcontextprotocol/server-{name}" for name in ("everything", "filesystem", "memory")}
OF_PYTHON = {name: f"mcp_server_{name}" for name in ("fetch", "git", "time")}
VERSION = "MCP reference servers (everything, filesystem, memory 2026.8.31; fetch, git, time 2026.10)"
_HOST = "127.0.0.1"
NOBODY = 65534
"""Whom root has servers and clients be."""
_REMEMBER = "process.env.MEMORY_FILE_PATH = process.argv[1]; import(require('node:url').pathToFileURL(process.argv[2]))"
_RUN = """
import runpy, sys
folder, what = sys.argv[1:3]
sys.path.insert(0, folder)
sys.argv[:3] = [what]
runpy.run_path(what, run_name="__main__") if what.endswith(".py") else runpy.run_module(what, run_name="__main__")
"""
"""Runs a module or a file with the packages of a folder: without an environment, which a server is not given."""
# Left to itself `everything` listens on every interface.
_LOOPBACK = Path(str(files("gateway.cli.demo").joinpath("npm", "emulate", "loopback.cjs")))


@dataclass(frozen=True)
class Program:
    """How a server is run that speaks by its input and output. It needs no environment."""

    command: Sequence[str]

    def asked(self) -> dict[str, Any]:
        """Where it is, for the official client."""
        return {"command": [*self.command]}


@dataclass(frozen=True)
class Address:
    """A server over HTTP."""

    port: int
    daemon: Daemon

    @property
    def url(self) -> str:
        """Its one endpoint."""
        return f"http://{_HOST}:{self.port}/mcp"

    def asked(self) -> dict[str, Any]:
        """Where it is, for the official client."""
        return {"url": self.url}


def program(name: str, *arguments: str) -> Program:
    """One of the six reference servers."""
    if name in OF_NODE:
        return Program((node(), str(_script(name)), *arguments))
    return Program((*_python(2, OF_PYTHON[name]), *arguments))


def memory(file: Path) -> Program:
    """The one that remembers, in this file and not among its own."""
    return Program((node(), "-e", _REMEMBER, str(file), str(_script("memory"))))


def sdk_program(major: int) -> Program:
    """`mcp_server.py` with this version of the SDK."""
    return Program(_python(major, str(SERVER)))


@contextlib.contextmanager
def everything(folder: Path) -> Iterator[Address]:
    """The server with one of everything, over HTTP, with its log in the folder."""
    port = free_port()
    command = (node(), "--require", str(_LOOPBACK), str(_script("everything")), "streamableHttp")
    with _listening("everything", command, {"PORT": str(port)}, port, folder) as address:
        yield address


@contextlib.contextmanager
def sdk_server(major: int, folder: Path) -> Iterator[Address]:
    """`mcp_server.py` with this version of the SDK, over HTTP."""
    port = free_port()
    with _listening(f"sdk{major}", (*_python(major, str(SERVER)), str(port)), {}, port, folder) as address:
        yield address


async def official(server: Program | Address, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """What the official client gets of a server: see `mcp_client.py`. It is the same user as servers of ours are."""
    child = await asyncio.create_subprocess_exec(
        *_python(2, str(CLIENT)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={},
        cwd="/",
        **({"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}),
    )
    said, complained = await child.communicate(json.dumps({**server.asked(), "calls": calls}).encode())
    assert child.returncode == 0, complained.decode("utf-8", "replace")[-2000:]
    return dict(json.loads(said))


def versions() -> dict[str, str]:
    """Of the reference servers of Node, as they are installed."""
    modules = node_packages("mcp_servers")
    return {name: version_of(modules, package) for name, package in OF_NODE.items()}


@contextlib.contextmanager
def _listening(
    name: str, command: Sequence[str], environment: Mapping[str, str], port: int, folder: Path
) -> Iterator[Address]:
    log = folder / f"{name}.log"
    daemon = Daemon(name, command, log=log, is_up=lambda: _accepts(port), environment=environment)
    with daemon:
        yield Address(port, daemon)


def _python(major: int, what: str) -> Sequence[str]:
    """A Python with a version of the SDK and what is written with it, and nothing else."""
    return _for_anybody(), "-I", "-S", "-B", "-c", _RUN, str(python_packages(SDK[major])), what


def _for_anybody() -> str:
    """This Python, or the machine's of the same version where nobody but root can run this one: a server has a user."""
    own = f"python{sys.version_info.major}.{sys.version_info.minor}"
    machines = shutil.which(own, path="/usr/local/bin:/usr/bin")
    return sys.executable if os.geteuid() != 0 or machines is None else machines


def _script(name: str) -> Path:
    return node_packages("mcp_servers") / OF_NODE[name] / "dist" / "index.js"


def _accepts(port: int) -> bool:
    """Whether somebody accepts connections at this port of loopback."""
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.settimeout(1.0)
        probe.connect((_HOST, port))
        return True
    return False
