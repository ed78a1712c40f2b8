"""A disk in memory that fails as real ones do: full, failing, hanging, and cut off from power."""

import errno
import io
import random
import threading
from typing import BinaryIO


class Killed(OSError):  # noqa: N818 - it is the process that ends, not an error
    """The process is dead: nothing it does reaches the disk any more."""


class Inode:
    """A file's content, and how much of it a power cut would leave."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.synced = len(content)


class Disk:
    """Directories on one disk. The faults are switches; each counts from the moment it is set."""

    def __init__(self) -> None:
        self.directories: dict[str, MemoryFiles] = {}
        self.room: int | None = None
        """Bytes that are left; what does not fit is written as far as it does, then ENOSPC."""
        self.sync_error: OSError | None = None
        """What every sync raises."""
        self.held: threading.Event | None = None
        """While it is set to an event, a sync waits for that event."""
        self.is_syncing = threading.Event()
        """Set once a sync is waiting for `held`."""
        self.open_files = 0
        """How many files are open to append to."""
        self.operations = 0
        self.kill_at: int | None = None
        """The number of the operation at which the process dies, half of a write being done."""

    def directory(self, name: str) -> "MemoryFiles":
        """The directory of this name."""
        return self.directories.setdefault(name, MemoryFiles(self))

    def after_kill(self) -> "Disk":
        """The disk as the next process finds it: the page cache is still there."""
        disk = Disk()
        for name, files in self.directories.items():
            disk.directory(name).adopt({file: bytes(inode.content) for file, inode in files.inodes.items()})
        return disk

    def after_power_cut(self, chance: random.Random) -> "Disk":
        """The disk after a power cut: what was synced, and of the rest of each file some first part, perhaps
        with a gap of zeros in it, since pages reach a disk in any order.

        A name that was created or removed since the directory was synced may be there or not.
        """
        disk = Disk()
        for name, files in self.directories.items():
            left = {}
            for file in sorted({*files.durable, *files.inodes}):
                inode = chance.choice([files.durable.get(file), files.inodes.get(file)])
                if inode is not None:
                    end = chance.randint(inode.synced, len(inode.content))
                    gap = (
                        sorted(chance.randint(inode.synced, end) for _ in range(2)) if chance.random() < 0.5 else [0, 0]
                    )
                    left[file] = (
                        bytes(inode.content[: gap[0]]) + bytes(gap[1] - gap[0]) + bytes(inode.content[gap[1] : end])
                    )
            disk.directory(name).adopt(left)
        return disk

    def count(self) -> None:
        """One more operation. Raises `Killed` when the process is dead."""
        self.operations += 1
        if self.kill_at is not None and self.operations >= self.kill_at:
            raise Killed(errno.EIO, "killed")

    def dies_now(self) -> bool:
        """Whether the next operation is the one at which the process dies."""
        return self.kill_at is not None and self.operations + 1 == self.kill_at

    def sync(self) -> None:
        """What every sync goes through."""
        if self.held is not None:
            self.is_syncing.set()
            self.held.wait()
        self.count()
        if self.sync_error is not None:
            raise self.sync_error


class MemoryFiles:
    """`Files` on such a disk."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.inodes: dict[str, Inode] = {}
        self.durable: dict[str, Inode] = {}
        """The names that a power cut would leave."""

    def adopt(self, content: dict[str, bytes]) -> None:
        """Hold exactly this, durably."""
        self.inodes = {name: Inode(data) for name, data in content.items()}
        self.durable = dict(self.inodes)

    def content(self, name: str) -> bytes:
        """What is in a file."""
        return bytes(self.inodes[name].content)

    def names(self) -> list[str]:
        """The names of the files, sorted."""
        return sorted(self.inodes)

    def read(self, name: str) -> BinaryIO:
        """The file from its beginning."""
        return io.BytesIO(self.content(name))

    def create(self, name: str) -> "MemoryFile":
        """A new file."""
        self.disk.count()
        if name in self.inodes:
            raise FileExistsError(errno.EEXIST, name)
        if self.disk.room == 0:
            raise OSError(errno.ENOSPC, "no space left")
        self.inodes[name] = Inode()
        return MemoryFile(self.disk, name, self.inodes[name])

    def open(self, name: str) -> "MemoryFile":
        """An existing file, to append to."""
        self.disk.count()
        return MemoryFile(self.disk, name, self.inodes[name])

    def remove(self, name: str) -> None:
        """The file is gone."""
        self.disk.count()
        if name not in self.inodes:
            raise FileNotFoundError(errno.ENOENT, name)
        del self.inodes[name]

    def sync_directory(self) -> None:
        """Names that were created or removed stay so after a power cut."""
        self.disk.sync()
        self.durable = dict(self.inodes)

    def close(self) -> None:
        """Nothing to let go of."""


class MemoryFile:
    """`LogFile` on such a disk."""

    def __init__(self, disk: Disk, name: str, inode: Inode) -> None:
        self.name = name
        self._disk = disk
        self._inode = inode
        self.size = len(inode.content)
        self._is_open = True
        disk.open_files += 1

    def append(self, data: bytes) -> None:
        """Write, as far as the disk lets it."""
        if self._disk.dies_now():
            self._inode.content += data[: len(data) // 2]
        self._disk.count()
        room = self._disk.room
        if room is not None and len(data) > room:
            self._inode.content += data[:room]
            self._disk.room = 0
            raise OSError(errno.ENOSPC, "no space left")
        if room is not None:
            self._disk.room = room - len(data)
        self._inode.content += data
        self.size += len(data)

    def sync(self) -> None:
        """What was appended before survives a power cut."""
        end = len(self._inode.content)
        self._disk.sync()
        self._inode.synced = max(self._inode.synced, end)

    def close(self) -> None:
        """Let go of it. Calling it twice is harmless."""
        self._disk.open_files -= self._is_open
        self._is_open = False
