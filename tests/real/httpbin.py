"""Pages, statuses, redirects and streams of PyPI's `httpbin` behind gunicorn."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from real.packages import python_command, python_packages
from real.waiting import accepts

from gateway.cli.demo.daemons import Daemon, free_port

VERSION = "httpbin 0.10.4"


@dataclass(frozen=True)
class HttpBin:
    """Where it is."""

    port: int
    daemon: Daemon

    @property
    def url(self) -> str:
        """Without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def httpbin(folder: Path) -> Iterator[HttpBin]:
    """One that runs, with its log in the folder."""
    port = free_port()
    options = ("--bind", f"127.0.0.1:{port}", "--worker-class", "gthread", "--threads", "8", "--no-control-socket")
    program = ("-m", "gunicorn", *options, "httpbin:app")
    command, environment = python_command(python_packages("httpbin"), *program)
    log = folder / "httpbin.log"
    daemon = Daemon("httpbin", command, log=log, is_up=lambda: accepts(port), environment=environment)
    with daemon:
        yield HttpBin(port, daemon)
