"""Vendors that nobody here wrote, on loopback, for the demo and for tests: npm's `emulate` (GitHub, Slack, Google,
Stripe, Linear) and PyPI's `localstripe`. Both keep state in memory and are pinned.
"""

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from gateway.cli.demo.daemons import Daemon, free_port
from gateway.cli.demo.packages import node, node_packages, python_command, python_packages

EMULATE = "emulate 0.11.2"
LOCALSTRIPE = "localstripe 1.15.10"
HOST = "127.0.0.1"
# Its own `start` binds every interface and keeps its data in a pickle in /tmp that anybody may have put there.
_LOCALSTRIPE = """
import sys
from aiohttp import web
from localstripe import resources, server
type(resources.store).dump_to_disk = lambda store: None
web.run_app(server.app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
"""


@dataclass(frozen=True)
class Emulate:
    """Where the services of one `emulate` are."""

    ports: Mapping[str, int]
    daemon: Daemon

    def url(self, service: str) -> str:
        """Without a slash at the end."""
        return f"http://{HOST}:{self.ports[service]}"


@dataclass(frozen=True)
class LocalStripe:
    """Where it is. It takes any key that begins with `sk_`, and knows no idempotency keys: the same key twice is two
    effects here.
    """

    port: int
    daemon: Daemon

    @property
    def url(self) -> str:
        """Without a slash at the end."""
        return f"http://{HOST}:{self.port}"


def bring() -> None:
    """Everything that is needed to start them, into folders of its own; once. Raises `Absent`."""
    node()
    _program()
    _stripe_packages()


@contextlib.contextmanager
def emulate(folder: Path, seed: Mapping[str, Any]) -> Iterator[Emulate]:
    """The services that the seed has a part for, each on a port of its own, with their log in the folder. `tokens` is
    no service. Raises `StartError`, and `Absent` where there is no Node.
    """
    binary, program, data = node(), _program(), _data("npm", "emulate")
    ports = {service: free_port() for service in seed if service != "tokens"}
    parts = {name: {"port": port, "baseUrl": f"http://{HOST}:{port}"} for name, port in ports.items()}
    file = folder / "seed.json"
    _write_seed(file, {name: {**part, **parts.get(name, {})} for name, part in seed.items()})
    command = [binary, "--require", str(data / "loopback.cjs"), str(program), "start", "--seed", str(file)]
    log = folder / "emulate.log"
    daemon = Daemon("emulate", command, log=log, is_up=lambda: all(map(_accepts, ports.values())))
    try:
        with daemon:
            file.unlink()  # it has read it, and what it takes for proof stands in it
            yield Emulate(ports, daemon)
    finally:
        file.unlink(missing_ok=True)


@contextlib.contextmanager
def localstripe(folder: Path) -> Iterator[LocalStripe]:
    """One that runs, with its log in the folder. Raises `StartError`, and `Absent` where it cannot be brought."""
    port = free_port()
    command, environment = python_command(_stripe_packages(), "-c", _LOCALSTRIPE, str(port))
    log = folder / "localstripe.log"
    daemon = Daemon("localstripe", command, log=log, is_up=lambda: _accepts(port), environment=environment)
    with daemon:
        yield LocalStripe(port, daemon)


def _program() -> Path:
    return node_packages(_data("npm", "emulate")) / "emulate" / "dist" / "index.js"


def _stripe_packages() -> Path:
    return python_packages(_data("pip", "localstripe.txt"))


def _data(*names: str) -> Path:
    """A file or folder of ours, which is on a disk: what is in an archive could not be given to another program."""
    return Path(str(files("gateway.cli.demo").joinpath(*names)))


def _write_seed(file: Path, seed: Mapping[str, Any]) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as opened:
        json.dump(seed, opened)


def _accepts(port: int) -> bool:
    """Whether somebody accepts connections at this port of loopback."""
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.settimeout(1.0)
        probe.connect((HOST, port))
        return True
    return False
