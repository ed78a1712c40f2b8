"""A gateway whose disk fails it again and again, and is mended; every second time it is killed meanwhile.

`inside` runs the same in a mount namespace of its own, with a small tmpfs as the disk.
"""

import asyncio
import ctypes
import itertools
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes.child import calling
from fakes.effects import vendor
from faults.suites.accounts import ANSWERS, DEATHS, EFFECTS, STATE
from faults.suites.answers import OK, WELL, Caller
from faults.suites.nursery import GATEWAY, Child, NotStarted, Nursery, nursery
from faults.suites.suite import Records, Unable
from faults.suites.trouble import Ballast, Trouble

FAULTY, WAITING = "faulty", "waiting"
"""Phases of calls: while the disk gives trouble, and until the gateway has seen that it does not any more."""
KEPT = "kept"
TMPFS_BYTES = 12 * 1024 * 1024
HEAL_SECONDS, POLL_SECONDS = 15.0, 0.05
NOT_MOUNTED = "the mount failed"
NO_NAMESPACE = "no tmpfs can be mounted here ({}); run as root, or allow user namespaces"


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """How long a history is: `calls` with trouble in each round, and as many before."""

    rounds: int
    calls: int


async def trouble_in(folder: Path, made: Nursery, trouble: Trouble, length: Length, **options: Any) -> None:
    """The whole history, its artifacts in the folder, with the gateway's further options."""
    options |= {"vendor": str(folder / "v.sock")}
    with Records(folder / ANSWERS) as records, Records(folder / DEATHS) as deaths:
        async with vendor(folder / "v.sock", folder / EFFECTS):
            try:
                await _History(made, folder, records, options, length).run(trouble)
            except NotStarted as refused:
                if records.is_empty:
                    raise  # it never served: that is no finding of this suite
                deaths.add(boundary="start", key="", status=0, refused=str(refused))
            except TimeoutError:
                deaths.add(boundary="mended", key="", status=0, refused="no call went well when the disk was mended")


class _History:
    def __init__(self, made: Nursery, folder: Path, records: Records, options: dict[str, Any], length: Length) -> None:
        self._made = made
        self._folder = folder
        self._records = records
        self._options = options
        self._length = length
        self._numbers = itertools.count()

    async def run(self, trouble: Trouble) -> None:
        child = await self._start()
        for number in range(self._length.rounds):
            await self._some(WELL)
            await trouble.make(child.pid)
            await self._some(FAULTY)
            if number % 2:
                child.signal(signal.SIGKILL)
                await child.ended
            await trouble.mend()
            if number % 2:
                child = await self._start()
            await self._healed()
        await self._some(WELL)
        await child.stop()

    async def _start(self) -> Child:
        return await self._made.start(self._folder, **self._options)

    async def _some(self, phase: str) -> None:
        """Half of them with an effect, all of them at once."""
        async with calling(self._folder) as stub:
            caller = Caller(stub, self._records)
            numbers = itertools.islice(self._numbers, self._length.calls)
            await asyncio.gather(
                *(caller.send(f"k{number}", phase) if number % 2 else caller.read(phase) for number in numbers)
            )

    async def _healed(self) -> None:
        """Return once a call of each kind goes well."""
        async with asyncio.timeout(HEAL_SECONDS), calling(self._folder) as stub:
            caller = Caller(stub, self._records)
            while await caller.read(WAITING) != OK:
                await asyncio.sleep(POLL_SECONDS)
            while await caller.send(f"k{next(self._numbers)}", WAITING) != OK:
                await asyncio.sleep(POLL_SECONDS)


async def full_tmpfs(folder: Path, length: Length) -> None:
    """The same history with a disk that is really full. Raises `Unable` when none can be mounted."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise Unable(NO_NAMESPACE.format("unshare is missing"))
    script = (sys.executable, "-P", "-c", _INSIDE, str(Path(__file__).parent.parent.parent))
    process = await asyncio.create_subprocess_exec(
        *(unshare, "--map-root-user", "--mount", *script, str(folder), str(length.rounds), str(length.calls)),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    words = said.decode().strip()
    if process.returncode:
        last = words.rpartition("\n")[2]
        if last.startswith("unshare:") or NOT_MOUNTED in last:
            raise Unable(NO_NAMESPACE.format(last))
        raise RuntimeError(words)
    (folder / STATE).rmdir()  # where it was mounted
    (folder / KEPT).rename(folder / STATE)


_INSIDE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from faults.suites.disk_trouble import inside; inside()"


def inside() -> None:
    """In the namespace: mount, run, and keep what would go with the mount."""
    folder, length = Path(sys.argv[1]), Length(rounds=int(sys.argv[2]), calls=int(sys.argv[3]))
    state = folder / STATE
    state.mkdir(mode=0o700)
    _mounted(state)
    asyncio.run(_on_a_full_disk(folder, state, length))
    shutil.copytree(state, folder / KEPT)


async def _on_a_full_disk(folder: Path, state: Path, length: Length) -> None:
    async with nursery(GATEWAY) as made:
        await trouble_in(folder, made, Ballast(state), length)


def _mounted(path: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"size={TMPFS_BYTES},mode=0700".encode()
    if libc.mount(b"tmpfs", str(path).encode(), b"tmpfs", 0, options) != 0:
        raise OSError(ctypes.get_errno(), NOT_MOUNTED)
