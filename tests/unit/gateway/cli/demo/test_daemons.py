"""Servers as child processes: up when they say so, and gone when they are told to."""

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.cli.demo import daemons
from gateway.cli.demo.daemons import Daemon, accepts, free_port, opa, opa_binary, openbao, valkey
from gateway.errors import StartError


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose name is short enough for a Unix socket in it."""
    with tempfile.TemporaryDirectory(prefix="d-") as name:
        yield Path(name)


def _daemon(folder: Path, code: str, is_up: bool = True) -> Daemon:
    return Daemon("It", [sys.executable, "-c", code], log=folder / "log", is_up=lambda: is_up)


def _make(kind: str, folder: Path, port: int) -> Daemon:
    if kind == "openbao":
        return openbao(folder, port, root_token="root")
    if kind == "valkey":
        return valkey(folder, folder / "s")
    binary = opa_binary()
    assert binary is not None, "make test brings OPA"
    return opa(folder, folder / "s", binary=binary)


@pytest.mark.parametrize("kind", ["openbao", "valkey", "opa"])
def test_each_real_server_starts_dies_and_starts_again(kind: str, folder: Path) -> None:
    """On a socket or port of loopback, without root; nobody answers in between."""
    port = free_port()

    def answers() -> bool:
        if kind != "openbao":
            return accepts(folder / "s")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    with _make(kind, folder, port) as server:
        assert answers()
        server.kill()
        assert not answers()
        server.start()
        assert answers()
    assert not answers()


def test_one_that_ends_at_once_is_told_with_its_last_words(folder: Path) -> None:
    """And not waited for."""
    with pytest.raises(StartError, match="It did not start") as caught:
        _daemon(folder, "raise SystemExit('no such option')", is_up=False).start()
    assert caught.value.problems == ("no such option",)


def test_one_that_never_answers_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time."""
    monkeypatch.setattr(daemons, "START_SECONDS", 0.1)
    with pytest.raises(StartError, match="did not start"):
        _daemon(folder, "import signal; signal.pause()", is_up=False).start()


def test_ctrl_c_while_it_starts_leaves_nothing_behind(folder: Path) -> None:
    """Nobody else would end it."""
    log = folder / "log"

    def is_up() -> bool:
        if not log.read_text():
            return False
        raise KeyboardInterrupt

    code = "import os, signal; print(os.getpid(), flush=True); signal.pause()"
    with pytest.raises(KeyboardInterrupt):
        Daemon("It", [sys.executable, "-c", code], log=log, is_up=is_up).start()
    with pytest.raises(ProcessLookupError):
        os.kill(int(log.read_text()), 0)


def test_what_cannot_be_run_is_a_sentence(folder: Path) -> None:
    """And no traceback."""
    binary = folder / "it"
    binary.write_bytes(b"\x7fELF")
    binary.chmod(0o755)
    with pytest.raises(StartError, match=r"It cannot be run \(.*it: Exec format error\)"):
        Daemon("It", [str(binary)], log=folder / "log", is_up=lambda: True).start()


@pytest.mark.parametrize("text", ["", "exit 1", "echo Version: 0.70.0", "echo hello", "exec /nowhere"])
def test_an_opa_that_is_none_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Beside Python or on PATH; the one that works is taken wherever it is."""
    good = opa_binary()
    monkeypatch.setattr("sys.executable", str(folder / "python"))
    monkeypatch.setenv("PATH", str(folder / "path"))
    assert opa_binary() is None
    (folder / "path").mkdir()
    (folder / "opa").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "opa").chmod(0o755)
    assert opa_binary() is None
    (folder / "path" / "opa").symlink_to(str(good))
    assert opa_binary() == str(folder / "path" / "opa")


def test_a_frozen_one_can_be_stopped(folder: Path) -> None:
    """It is woken to be told."""
    server = _daemon(folder, "import signal; signal.pause()").start()
    server.freeze()
    server.stop()
    server.stop()


def test_no_other_user_reads_the_root_token(folder: Path) -> None:
    """Neither off the command nor in the log, where OpenBao writes it."""
    token = "tok-0123456789"
    with openbao(folder, free_port(), root_token=token) as server:
        assert server._process is not None
        assert token.encode() not in Path(f"/proc/{server._process.pid}/cmdline").read_bytes()
        assert (folder / "openbao.log").stat().st_mode & 0o077 == 0


def test_it_gets_nothing_of_the_environment_that_could_be_a_secret(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An allow-list, as everywhere."""
    monkeypatch.setenv("VAULT_TOKEN", "s3cret")
    code = "import os, signal; print(sorted(os.environ), flush=True); signal.pause()"
    log = folder / "log"
    is_up = lambda: "]" in log.read_text()  # noqa: E731
    with Daemon("It", [sys.executable, "-c", code], log=log, is_up=is_up):
        assert "VAULT_TOKEN" not in log.read_text()
