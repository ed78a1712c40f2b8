"""A real PgBouncer in transaction mode, in front of a real PostgreSQL."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from faults.suites.suite import Unable
from real.postgres import APP, NOBODY, Postgres, as_nobody

from gateway.cli.demo.daemons import Daemon, free_port
from gateway.settings.store import StoreSettings

BROUGHT = Path(__file__).parent.parent.parent.parent / ".run" / "pgbouncer"
PACKAGES = ("pgbouncer", "libevent-2.1-7", "libc-ares2")
MISSING = "PgBouncer is missing and cannot be brought; install the Debian package pgbouncer (apt-get install pgbouncer)"


@contextlib.contextmanager
def pgbouncer(server: Postgres, settings: StoreSettings) -> Iterator[StoreSettings]:
    """The same database through a pooler that has one connection to it for all its clients."""
    binary = _binary()
    folder, port = Path(tempfile.mkdtemp(prefix="pgb")), free_port()
    _write_configuration(folder, server, settings, port)
    library = binary.parent.parent / "lib" / f"{os.uname().machine}-linux-gnu"
    daemon = Daemon(
        "PgBouncer",
        as_nobody(str(binary), str(folder / "pgbouncer.ini")),
        log=folder / "log",
        is_up=lambda: _answers(port),
        environment={"LD_LIBRARY_PATH": str(library)} if BROUGHT in binary.parents else {},
    )
    try:
        daemon.start()
        yield settings.model_copy(update={"url": f"postgresql://127.0.0.1:{port}/{settings.server[2]}"})
    finally:
        daemon.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _write_configuration(folder: Path, server: Postgres, settings: StoreSettings, port: int) -> None:
    _, own_port, database = settings.server
    (folder / "users.txt").write_text(f'"{APP}" "{server.passwords[APP].read_text()}"\n')
    lines = (
        "[databases]",
        f"{database} = host=127.0.0.1 port={own_port} dbname={database}",
        "[pgbouncer]",
        *("listen_addr = 127.0.0.1", f"listen_port = {port}", "unix_socket_dir ="),
        *("auth_type = scram-sha-256", f"auth_file = {folder}/users.txt"),
        *("pool_mode = transaction", "default_pool_size = 1", "max_client_conn = 100"),
        "",
    )
    (folder / "pgbouncer.ini").write_text("\n".join(lines))
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, NOBODY, NOBODY)


def _binary() -> Path:
    """On this machine, or unpacked below `.run` without installing it. Raises `Unable`."""
    own = BROUGHT / "usr" / "sbin" / "pgbouncer"
    found = shutil.which("pgbouncer", path=os.pathsep.join((os.environ["PATH"], "/usr/sbin")))
    if found is None and not own.exists():
        _bring()
    return Path(found) if found else own


def _bring() -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=True, capture_output=True, timeout=120)
            for package in sorted(Path(folder).glob("*.deb")):
                subprocess.run(["dpkg", "-x", str(package), str(BROUGHT)], check=True, capture_output=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise Unable(MISSING) from error


def _answers(port: int) -> bool:
    with contextlib.closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
