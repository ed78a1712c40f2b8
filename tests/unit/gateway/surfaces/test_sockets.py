"""Sockets that are never stolen, and files of the right mode."""

import contextlib
import grp
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.echo import said, server_of, socket_listener

from gateway.errors import StartError
from gateway.server.listening import Server
from gateway.settings.listeners import Place
from gateway.surfaces.sockets import LONGEST_SOCKET_PATH, SocketFile, bound_socket, serve_at


@pytest.fixture
def where() -> Iterator[Path]:
    """A path for a socket."""
    with tempfile.TemporaryDirectory(prefix="h") as name:
        yield Path(name) / "s"


async def problem_of(server: Server) -> str:
    """Why the server does not start."""
    with pytest.raises(StartError) as caught:
        await server.start()
    return caught.value.message


def left_in(folder: Path) -> list[str]:
    """The names in a folder."""
    return sorted(path.name for path in folder.iterdir())


async def test_a_live_socket_is_not_stolen(tmp_path: Path) -> None:
    """A second gateway is refused with one sentence, and the first goes on."""
    first, second = server_of(socket_listener(tmp_path)), server_of(socket_listener(tmp_path))
    await first.start()
    try:
        message = await problem_of(second)
        assert message == f"another gateway listens on {tmp_path / 'g.sock'}; stop it or choose another path"
        assert await said(first.addresses["agent"]) == b"hi"
        assert (tmp_path / "g.sock.lock").exists()
    finally:
        await first.stop()


async def test_a_socket_of_another_program_is_not_stolen(tmp_path: Path) -> None:
    """It has no lock of ours, and somebody listens: refused."""
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "g.sock"))
        other.listen()
        assert "another process listens" in await problem_of(server_of(socket_listener(tmp_path)))
        assert stat.S_ISSOCK((tmp_path / "g.sock").stat().st_mode)


async def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    """What a killed gateway left, its lock file included, is in nobody's way."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "g.sock"))
    (tmp_path / "g.sock.lock").touch(0o600)
    server = server_of(socket_listener(tmp_path))
    await server.start()
    assert await said(server.addresses["agent"]) == b"hi"
    await server.stop()


@pytest.mark.parametrize("kind", ["file", "folder", "link", "dangling"])
async def test_what_is_no_socket_is_left_alone(tmp_path: Path, kind: str) -> None:
    """A file, a folder or a link in its place is refused and not removed."""
    path, elsewhere = tmp_path / "g.sock", tmp_path / "precious"
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("precious")
    else:
        path.symlink_to(elsewhere)
    if kind == "link":
        elsewhere.write_text("precious")
    assert "is not a socket; remove it" in await problem_of(server_of(socket_listener(tmp_path)))
    assert "g.sock" in left_in(tmp_path)
    assert kind != "link" or elsewhere.read_text() == "precious"


async def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    """Nobody makes us open a file of their choice."""
    (tmp_path / "g.sock.lock").symlink_to(tmp_path / "precious")
    assert "cannot create" in await problem_of(server_of(socket_listener(tmp_path)))
    assert not (tmp_path / "precious").exists()


async def test_a_path_that_no_socket_can_have_is_refused(tmp_path: Path) -> None:
    """With the bound in the sentence; nothing is made."""
    listener = socket_listener(tmp_path, address=f"unix:{tmp_path / ('x' * LONGEST_SOCKET_PATH)}")
    assert f"has over {LONGEST_SOCKET_PATH} bytes; choose a shorter one" in await problem_of(server_of(listener))
    assert left_in(tmp_path) == []


async def test_the_longest_path_that_a_socket_can_have_works(tmp_path: Path) -> None:
    """107 bytes: the bound is exact."""
    base = Path("/tmp") / f"tollhouse-{os.getpid()}"
    base.mkdir()
    try:
        path = base / ("x" * (LONGEST_SOCKET_PATH - len(os.fsencode(base)) - 1))
        server = server_of(socket_listener(tmp_path, address=f"unix:{path}"))
        await server.start()
        assert await said(server.addresses["agent"]) == b"hi"
        await server.stop()
    finally:
        base.rmdir()


@pytest.mark.parametrize("mode", ["0600", "0660"])
async def test_the_socket_has_the_mode_and_group_of_the_settings(tmp_path: Path, mode: str) -> None:
    """Exactly, whatever the umask; the lock is the process's own."""
    group = grp.getgrgid(os.getgid()).gr_name
    before = os.umask(0)
    try:
        server = server_of(socket_listener(tmp_path, mode=mode, group=group))
        await server.start()
        assert os.umask(0) == 0
    finally:
        os.umask(before)
    status = (tmp_path / "g.sock").stat()
    assert (f"{stat.S_IMODE(status.st_mode):04o}", status.st_gid) == (mode, os.getgid())
    assert stat.S_IMODE((tmp_path / "g.sock.lock").stat().st_mode) == 0o600
    await server.stop()


async def test_the_socket_is_never_open_to_more_than_its_owner_before_it_has_its_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between bind and chmod too: whoever connects there would be the agent."""
    modes: list[int] = []
    open_to = SocketFile.open_to

    def watched(self: SocketFile, mode: int, group: str) -> None:
        modes.append(stat.S_IMODE(self.path.stat().st_mode))
        open_to(self, mode, group)

    monkeypatch.setattr(SocketFile, "open_to", watched)
    before = os.umask(0)
    try:
        server = server_of(socket_listener(tmp_path, mode="0660"))
        await server.start()
        await server.stop()
    finally:
        os.umask(before)
    assert modes == [0o600]


async def test_a_group_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    """And nothing is left behind."""
    message = await problem_of(server_of(socket_listener(tmp_path, group="nobodys-group")))
    assert message == "there is no group 'nobodys-group' on this machine"
    assert left_in(tmp_path) == []


async def test_stopping_removes_the_socket_and_its_lock(tmp_path: Path) -> None:
    """And the next gateway starts at once; stopping twice is harmless."""
    for _ in range(2):
        server = server_of(socket_listener(tmp_path))
        await server.start()
        await server.stop()
        await server.stop()
        assert left_in(tmp_path) == []


async def test_a_folder_that_is_not_there_is_made_for_the_owner_and_group(tmp_path: Path) -> None:
    """And one that cannot be made is a sentence."""
    server = server_of(socket_listener(tmp_path / "run", address=f"unix:{tmp_path / 'run' / 'g.sock'}"))
    await server.start()
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) & 0o007 == 0
    await server.stop()
    (tmp_path / "file").touch()
    below = socket_listener(tmp_path, address=f"unix:{tmp_path / 'file' / 'g.sock'}")
    assert "cannot create" in await problem_of(server_of(below))


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    """However the process ends: the kernel lets go."""
    path = tmp_path / "g.sock"
    code = "import os, sys; from pathlib import Path; from gateway.surfaces.sockets import SocketFile; "
    code += "SocketFile(Path(sys.argv[1])).acquire(); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False, timeout=60).returncode == 9
    file = SocketFile(path)
    file.acquire()
    file.release()
    assert left_in(tmp_path) == []


def test_a_listener_for_everybody_is_refused_by_the_settings(tmp_path: Path) -> None:
    """Modes that let others in do not get as far as the server."""
    with pytest.raises(ValueError, match="would let every user"):
        socket_listener(tmp_path, mode="0666")


def test_a_unix_socket_is_open_to_its_owner_alone(where: Path) -> None:
    """From the moment it is there: whoever is let in more widely is let in later."""
    with bound_socket(f"unix:{where}"):
        assert stat.S_IMODE(where.stat().st_mode) == 0o600


@pytest.mark.parametrize(("address", "family"), [("127.0.0.1:0", socket.AF_INET), ("[::1]:0", socket.AF_INET6)])
def test_a_port_is_bound_where_the_address_says(address: str, family: int) -> None:
    """And nowhere else."""
    with bound_socket(address) as sock:
        assert sock.family == family
        assert sock.getsockname()[0] == address.rpartition(":")[0].strip("[]")


def test_localhost_is_loopback() -> None:
    """By name."""
    with bound_socket("localhost:0") as sock:
        assert sock.getsockname()[0] in {"127.0.0.1", "::1"}


def test_what_cannot_be_bound_is_said_in_one_sentence(where: Path) -> None:
    """A port that is taken, a path that exists, a folder that does not."""
    with bound_socket("127.0.0.1:0") as taken:
        taken.listen()
        with pytest.raises(StartError, match=r"cannot listen on 127.0.0.1:[0-9]+: Address already in use"):
            bound_socket(f"127.0.0.1:{taken.getsockname()[1]}")
    with bound_socket(f"unix:{where}"), pytest.raises(StartError, match="Address already in use"):
        bound_socket(f"unix:{where}")
    with pytest.raises(StartError, match="No such file"):
        bound_socket(f"unix:{where.parent}/none/s")


def mode_of(path: Path) -> int | None:
    """The file's mode; None when it is not there."""
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else None


class Answering:
    """Answers on a socket, or cannot."""

    def __init__(self, problem: StartError | None = None) -> None:
        self.sock: socket.socket | None = None
        self.has_stopped = False
        self._problem = problem

    async def start(self, sock: socket.socket) -> None:
        """Keep the socket."""
        self.sock = sock
        if self._problem is not None:
            raise self._problem

    async def stop(self) -> None:
        """Keep that it stopped."""
        self.has_stopped = True


async def test_a_server_is_given_its_socket_and_stopped_with_the_rest(where: Path) -> None:
    """A Unix socket's file has the mode of the settings while it serves, and is gone afterwards."""
    server = Answering()
    async with contextlib.AsyncExitStack() as stack:
        address = await serve_at(stack, server, Place(address=f"unix:{where}", mode="0660"))
        assert address == f"unix:{where}"
        assert mode_of(where) == 0o660
    assert server.has_stopped
    assert mode_of(where) is None


async def test_a_port_that_the_machine_chose_is_told() -> None:
    """Nobody else could know."""
    server = Answering()
    async with contextlib.AsyncExitStack() as stack:
        address = await serve_at(stack, server, Place(address="127.0.0.1:0"))
        assert server.sock is not None
        assert address == f"127.0.0.1:{server.sock.getsockname()[1]}"


async def test_a_server_that_cannot_start_leaves_nothing(where: Path) -> None:
    """Neither file nor socket."""
    server = Answering(StartError("no"))
    with pytest.raises(StartError, match="no"):
        async with contextlib.AsyncExitStack() as stack:
            await serve_at(stack, server, Place(address=f"unix:{where}"))
    assert mode_of(where) is None
    assert server.sock is not None
    assert server.sock.fileno() == -1
