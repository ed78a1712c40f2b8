"""A power cut: what a gateway's logs lose that was never synced. Patched into a child by the suite.

The child writes down what was on stable storage at the moment of its death; whoever survives it takes the rest away.
Databases are not touched: they sync by themselves, below Python.
"""

import json
import random
from pathlib import Path
from typing import Any

from gateway.audit.files import Directory, DiskFile, MappedFile

PLAN = "power.json"


class Power:
    """Knows of every log of this process what a cut would leave."""

    def __init__(self) -> None:
        self._files: dict[str, DiskFile | MappedFile] = {}
        self._synced: dict[str, int] = {}
        self._unnamed: set[str] = set()
        """Files whose names no sync of their directory has made durable yet."""
        self._removed: dict[str, str] = {}
        """Files whose removal is not durable yet, and what was in them, in hex."""

    def install(self) -> None:
        """Watch every log from here on."""
        for kind in (DiskFile, MappedFile):
            self._watch_syncs(kind)
        self._watch_names()

    def plan(self, folder: Path) -> None:
        """Write down what a cut at this moment would leave."""
        left = {
            path: {"synced": self._synced.get(path, 0), "size": file.size, "is_named": path not in self._unnamed}
            for path, file in list(self._files.items())
        }
        (folder / PLAN).write_text(json.dumps({"left": left, "removed": self._removed}))

    def _watch_syncs(self, kind: Any) -> None:
        init, sync = kind.__init__, kind.sync

        def watched_init(file: Any, name: str, fd: int) -> None:
            init(file, name, fd)
            path = _real(fd)
            self._files[path], self._synced[path] = file, file.size

        def watched_sync(file: Any) -> None:
            size = file.size
            sync(file)
            if (path := self._path_of(file)) is not None:
                self._synced[path] = max(self._synced[path], size)

        kind.__init__, kind.sync = watched_init, watched_sync

    def _watch_names(self) -> None:
        kind: Any = Directory
        remove, sync = kind.remove, kind.sync_directory

        def watched_remove(directory: Any, name: str) -> None:
            path = f"{_path(directory)}/{name}"
            self._removed[path] = Path(path).read_bytes().hex() if Path(path).exists() else ""
            remove(directory, name)
            self._files.pop(path, None)

        def watched_sync(directory: Any) -> None:
            sync(directory)
            self._unnamed -= {path for path in self._unnamed if path.startswith(_path(directory) + "/")}
            for path in [path for path in self._removed if path.startswith(_path(directory) + "/")]:
                del self._removed[path]

        kind.remove, kind.sync_directory = watched_remove, watched_sync
        for opener in (Directory, *Directory.__subclasses__()):
            self._watch_creation(opener)

    def _watch_creation(self, kind: Any) -> None:
        create = kind.__dict__["create"]

        def watched_create(directory: Any, name: str) -> Any:
            file = create(directory, name)
            self._unnamed.add(f"{_path(directory)}/{name}")
            return file

        kind.create = watched_create

    def _path_of(self, file: Any) -> str | None:
        return next((path for path, known in self._files.items() if known is file), None)


def _path(directory: Any) -> str:
    return _real(directory._fd)


def _real(descriptor: int) -> str:
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


def cut(folder: Path, chance: random.Random) -> None:
    """Take away what the process had not made durable: of each log some last part, perhaps with zeros before it.

    A name that was created or removed since its directory was synced may be there or not. Harmless when the process
    did not die.
    """
    if not (folder / PLAN).exists():
        return
    plan = json.loads((folder / PLAN).read_text())
    (folder / PLAN).unlink()
    for path, left in plan["left"].items():
        if not left["is_named"] and chance.random() < 0.5:
            Path(path).unlink(missing_ok=True)
        elif Path(path).exists():
            _shorten(Path(path), left["synced"], left["size"], chance)
    for path, content in plan["removed"].items():
        if content and not Path(path).exists() and chance.random() < 0.5:
            Path(path).write_bytes(bytes.fromhex(content))
            Path(path).chmod(0o600)


def _shorten(path: Path, synced: int, size: int, chance: random.Random) -> None:
    content = path.read_bytes()[:size]
    end = chance.randint(synced, max(synced, len(content)))
    gap = sorted(chance.randint(synced, end) for _ in range(2)) if chance.random() < 0.5 else [0, 0]
    path.write_bytes(content[: gap[0]] + bytes(gap[1] - gap[0]) + content[gap[1] : end])
