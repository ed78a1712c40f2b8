"""Results that were too large to be sent, whole and sealed for a while, on the disk of the gateway that had them.

Keeping one never holds up a call and never fails one: what does not fit is not kept.
"""

import asyncio
import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

from adapters.base import Clock
from gateway.call import Principal
from gateway.errors import Reason, Refusal
from gateway.result import artifact_files as files
from gateway.settings.handles import ArtifactSettings
from gateway.store.sealing import Seal, SealBroken, SealDown

SWEEP_SECONDS = 60.0
MOST_READ_BYTES = 1024 * 1024
MOST_WAITING_BYTES = 128 * 1024 * 1024
"""What may wait to be written. It is in memory until then."""
BLOCK_BYTES = 4096
"""A small file takes as much."""
_ID = re.compile(r"[A-Za-z0-9_-]{16,128}")
_SUFFIX = ".sealed"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of an artifact."""

    data: bytes = field(repr=False)
    total_bytes: int


class Artifacts:
    """The artifacts in a folder. `new_id` gives ids that nobody can guess. `free` tells how many bytes are free on
    its disk. Nothing is kept before `open`.
    """

    def __init__(
        self,
        folder: Path,
        settings: ArtifactSettings,
        *,
        seal: Seal,
        clock: Clock,
        new_id: Callable[[], str],
        free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._seal = seal
        self._clock = clock
        self._new_id = new_id
        self._free_on = free
        self._free = 0
        self._sizes: dict[Path, int] = {}
        self._by_folder: Counter[Path] = Counter()
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._waiting_bytes = 0
        self._sweep_at = 0.0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="artifacts")
        self.dropped = 0
        """How many were not kept: over a quota, below the waterline, or since writing failed."""

    @property
    def used_bytes(self) -> int:
        """What all of them take."""
        return self._by_folder.total()

    async def open(self) -> None:
        """Find what is there. Raises `OSError`."""
        found = await self._in_thread(self._scan)
        for path, size in found.items():
            self._count(path, size)
        await self._look_at_disk()

    def keep(self, principal: Principal, whole: bytes) -> str:
        """The id under which the whole can be read, by the same agent, as soon as it is written; empty when it is
        not kept.
        """
        path = self._path(principal.tenant, artifact_id := self._new_id())
        size = max(len(whole), BLOCK_BYTES)
        if not self._has_room(path.parent, size):
            self.dropped += 1
            return ""
        self._count(path, size)
        self._free -= size
        self._waiting_bytes += len(whole)
        task = asyncio.ensure_future(self._written(principal, artifact_id, path, whole))
        self._waiting[artifact_id] = task
        return artifact_id

    async def read(self, principal: Principal, artifact_id: str, offset: int, most: int) -> Piece:
        """At most so many bytes from there on (0: as many as are given at once); none beyond its end.

        Raises `Refusal`: `artifact_not_found`, also for one of another agent, and `store_unavailable`.
        """
        if not _ID.fullmatch(artifact_id):
            raise _not_found()
        if (writing := self._waiting.get(artifact_id)) is not None:
            await asyncio.wait((writing,))
        path = self._path(principal.tenant, artifact_id)
        most = min(most or MOST_READ_BYTES, MOST_READ_BYTES)
        first = offset // files.CHUNK_BYTES
        wanted = range(first + 1, (offset + most - 1) // files.CHUNK_BYTES + 2)
        try:
            frames = await self._in_thread(lambda: self._frames(path, wanted))
            total = await self._total(principal, artifact_id, frames[0])
            chunks = [
                await self._seal.open(principal.tenant, files.place_of(artifact_id, number), frame)
                for number, frame in zip(wanted, frames[1:], strict=False)
            ]
        except SealDown as down:
            raise Refusal(Reason.STORE_UNAVAILABLE, "It cannot be opened now. Ask again later.") from down
        except (OSError, SealBroken, IndexError) as error:
            raise _not_found() from error
        start = offset - first * files.CHUNK_BYTES
        return Piece(data=b"".join(chunks)[start : start + most], total_bytes=total)

    async def tick(self) -> None:
        """Take away what is too old, and look how much is free. Call it every second or so; never raises."""
        try:
            await self._look_at_disk()
            if self._clock.monotonic() >= self._sweep_at:
                self._sweep_at = self._clock.monotonic() + SWEEP_SECONDS
                for path in await self._in_thread(self._swept):
                    self._uncount(path)
        except OSError:
            self._free = 0  # what cannot be looked at takes nothing more

    async def close(self) -> None:
        """Returns when nothing waits to be written."""
        if self._waiting:
            await asyncio.wait(tuple(self._waiting.values()))
        self._thread.shutdown(wait=False)

    def _has_room(self, folder: Path, size: int) -> bool:
        settings = self._settings
        return (
            size <= settings.max_bytes
            and self._by_folder[folder] + size <= settings.tenant_bytes
            and self.used_bytes + size <= settings.total_bytes
            and self._free - size >= settings.min_free_bytes
            and self._waiting_bytes + size <= MOST_WAITING_BYTES
        )

    async def _written(self, principal: Principal, artifact_id: str, path: Path, whole: bytes) -> None:
        try:
            frames = await self._sealed(principal, artifact_id, whole)
            now = self._clock.now()
            size = await self._in_thread(lambda: files.write(path, frames, now=now))
            self._uncount(path)
            self._count(path, max(size, BLOCK_BYTES))
        except Exception:  # noqa: BLE001 - whatever it is, the call has its answer
            self.dropped += 1
            self._uncount(path)
        finally:
            self._waiting_bytes -= len(whole)
            del self._waiting[artifact_id]

    async def _sealed(self, principal: Principal, artifact_id: str, whole: bytes) -> list[bytes]:
        head = orjson.dumps({"agent": principal.agent, "total": len(whole)})
        parts = [head, *map(bytes, files.chunks_of(whole))]
        return [
            await self._seal.seal(principal.tenant, files.place_of(artifact_id, number), part)
            for number, part in enumerate(parts)
        ]

    async def _total(self, principal: Principal, artifact_id: str, sealed: bytes) -> int:
        """How long it is. Raises `SealBroken`, also when it is another agent's."""
        head = orjson.loads(await self._seal.open(principal.tenant, files.place_of(artifact_id, 0), sealed))
        if head["agent"] != principal.agent:
            raise SealBroken("another agent's")
        return int(head["total"])

    def _frames(self, path: Path, wanted: range) -> list[bytes]:
        if self._is_old(path):
            raise FileNotFoundError
        return files.read(path, wanted)

    def _path(self, tenant: str, artifact_id: str) -> Path:
        """Neither names a file by itself: a tenant's name may be no name of a folder, and whoever lists the folder
        learns no id.
        """
        digest = hashlib.sha256(artifact_id.encode()).hexdigest()
        return self._folder / hashlib.sha256(tenant.encode()).hexdigest()[:32] / f"{digest}{_SUFFIX}"

    def _scan(self) -> dict[Path, int]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for part in self._folder.glob(f"*/*{files.PART}"):
            part.unlink(missing_ok=True)
        return {path: path.stat().st_size for path in self._folder.glob(f"*/*{_SUFFIX}")}

    def _swept(self) -> list[Path]:
        """What was too old is gone."""
        old = [path for path in self._folder.glob(f"*/*{_SUFFIX}") if self._is_old(path)]
        for path in old:
            path.unlink(missing_ok=True)
        return old

    def _is_old(self, path: Path) -> bool:
        return path.stat().st_mtime + self._settings.keep_seconds <= self._clock.now()

    async def _look_at_disk(self) -> None:
        self._free = await self._in_thread(lambda: self._free_on(self._folder)) - self._waiting_bytes

    def _count(self, path: Path, size: int) -> None:
        self._sizes[path] = size
        self._by_folder[path.parent] += size

    def _uncount(self, path: Path) -> None:
        self._by_folder[path.parent] -= self._sizes.pop(path, 0)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """A slow disk holds up nobody else. One thread: what is written waits in line."""
        result: Any = await asyncio.get_running_loop().run_in_executor(self._thread, work)
        return result  # type: ignore[no-any-return]


def _not_found() -> Refusal:
    message = "There is no such artifact, or it is not yours, or it is not kept any more. Ask for less at a time."
    return Refusal(Reason.ARTIFACT_NOT_FOUND, message)
