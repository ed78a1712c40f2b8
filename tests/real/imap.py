"""A real IMAP server: Dovecot of Debian's packages, unpacked into a folder and never installed.

Its programs look for one another below /usr, so they run in a mount namespace of their own in which the unpacked
folders lie over that; nothing outside of it changes. It listens on loopback, speaks TLS, and its mailboxes are
folders that a test may deliver into.
"""

import contextlib
import grp
import os
import pwd
import shlex
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import trustme
from real.packages import brought, run

from gateway.cli.demo.daemons import Daemon, free_port

RELEASE = "2.3.19.1"
VERSION = f"dovecot {RELEASE}"
PACKAGES = ("dovecot-core", "dovecot-imapd", "libsodium23", "libunwind8")
USERNAME = "bot@corp.example"
PASSWORD = 'imap pass"word\\ü'
NOBODY = 65534
_BELOW = ("lib", "bin")

CONFIG = """
base_dir = {folder}/base
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
default_internal_user = {user}
default_login_user = {user}
default_internal_group = {group}
ssl = required
ssl_cert = <{folder}/cert.pem
ssl_key = <{folder}/key.pem
disable_plaintext_auth = yes
auth_mechanisms = plain login
auth_failure_delay = 0
mail_location = maildir:{folder}/mail
mailbox_list_index = no
first_valid_uid = {uid}
passdb {{
  driver = passwd-file
  args = scheme=plain username_format=%u {folder}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/home
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
}}
"""


@dataclass(frozen=True)
class Dovecot:
    """A running server with one account, whose mail lies in `maildir`."""

    folder: Path
    port: int
    """In the clear until STARTTLS."""
    tls_port: int
    daemon: Daemon
    uid: int
    gid: int

    @property
    def maildir(self) -> Path:
        """Where the account's mail lies; a folder `Sent` is `.Sent` in it."""
        return self.folder / "mail"

    def own(self) -> None:
        """Give what was delivered to whoever the server reads it as."""
        for path in (self.maildir, *self.maildir.rglob("*")):
            with contextlib.suppress(FileNotFoundError):  # the server moves what is new
                os.chown(path, self.uid, self.gid)


@contextlib.contextmanager
def dovecot(authority: trustme.CA, username: str, password: str) -> Iterator[Dovecot]:
    """One that runs for the length of the block, in a folder of its own: those of pytest are closed to its user. Its
    certificate is for `localhost`.
    """
    programs = brought("dovecot", " ".join((RELEASE, *PACKAGES)).encode(), _install)
    uid, gid = (NOBODY, NOBODY) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    place, ports = Path(mkdtemp(prefix="dovecot")), (free_port(), free_port())
    try:
        _certify(place, authority)
        (place / "users").write_text(f"{username}:{password}\n")
        _configure(place, uid, gid, ports)
        _own(place, uid, gid)
        command = _command(programs, place, uid, gid)
        daemon = Daemon("Dovecot", command, log=place / "out", is_up=lambda: _answers(place, ports[1]))
        try:
            daemon.start()
            yield Dovecot(place, *ports, daemon, uid, gid)
        finally:
            daemon.stop()
    finally:
        shutil.rmtree(place)


def _install(folder: Path) -> None:
    """Download the packages of this machine's Debian and unpack them. Raises AssertionError that says what to do."""
    assert shutil.which("apt-get"), "these tests need Debian 12, whose packages bring Dovecot"
    get = f"cd {shlex.quote(str(folder))} && apt-get download {' '.join(PACKAGES)}"
    if subprocess.run(["sh", "-c", get], check=False, capture_output=True).returncode != 0 and os.geteuid() == 0:
        run("apt-get", "update")
    run("sh", "-c", get)
    for package in folder.glob("*.deb"):
        run("dpkg", "-x", str(package), str(folder))
        package.unlink()
    libraries = str(folder / "usr/lib/dovecot")
    said = subprocess.run(
        [folder / "usr/sbin/dovecot", "--version"],
        check=False,
        capture_output=True,
        text=True,
        env={"LD_LIBRARY_PATH": libraries + f":{folder}/usr/lib/x86_64-linux-gnu"},
    )
    found = said.stdout or said.stderr
    assert found.startswith(RELEASE), f"these tests need Dovecot {RELEASE} (Debian 12), and found {found}"


def _certify(place: Path, authority: trustme.CA) -> None:
    authority.cert_pem.write_to_path(str(place / "ca.pem"))
    certificate = authority.issue_cert("localhost")
    certificate.private_key_pem.write_to_path(str(place / "key.pem"))
    certificate.cert_chain_pems[0].write_to_path(str(place / "cert.pem"))


def _configure(place: Path, uid: int, gid: int, ports: tuple[int, int]) -> None:
    user, group = pwd.getpwuid(uid).pw_name, grp.getgrgid(gid).gr_name
    config = CONFIG.format(folder=place, user=user, group=group, uid=uid, gid=gid, port=ports[0], tls_port=ports[1])
    (place / "dovecot.conf").write_text(config)


def _own(place: Path, uid: int, gid: int) -> None:
    """The server's user owns its mail and can reach it."""
    for name in ("home", *(f"mail/{part}" for part in ("cur", "new", "tmp"))):
        (place / name).mkdir(parents=True)
    (place / "base").mkdir()
    place.chmod(0o711)
    for path in (place / "users", place / "home", place / "mail", *(place / "mail").iterdir()):
        os.chown(path, uid, gid)


def _command(programs: Path, place: Path, uid: int, gid: int) -> list[str]:
    """Whoever is not root becomes it in a user namespace for the mounts, and then himself again."""
    mounts = [
        f"mount -t overlay overlay -o lowerdir={shlex.quote(f'{programs}/usr/{name}')}:/usr/{name} /usr/{name}"
        for name in _BELOW
    ]
    server = f"{shlex.quote(str(programs))}/usr/sbin/dovecot -F -c {shlex.quote(str(place))}/dovecot.conf"
    if os.geteuid() == 0:
        return ["unshare", "--mount", "sh", "-c", " && ".join([*mounts, f"exec {server}"])]
    back = f"exec unshare --user --map-user={uid} --map-group={gid} {server}"
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", " && ".join([*mounts, back])]


def _answers(place: Path, port: int) -> bool:
    """Whether somebody may sign in."""
    context = ssl.create_default_context(cafile=str(place / "ca.pem"))
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=1.0) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as secure,
        ):
            return secure.recv(4) == b"* OK"
    except OSError:
        return False
