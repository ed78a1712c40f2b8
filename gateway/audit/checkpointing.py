"""Making checkpoints: every so often, and at the end, of whatever was written since the last."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from adapters.base import Clock
from gateway.audit.checkpoints import Checkpoint, parse, stands_of, text_of
from gateway.audit.lines import Standing
from gateway.audit.note_files import NoteFile
from gateway.audit.notes import BadNote
from gateway.audit.signing import NotSigned, Signer
from gateway.background import end
from gateway.clock import rfc3339
from gateway.errors import StartError

OnEvent = Callable[[str, Mapping[str, str]], None]
"""`checkpoint_failed`, with `problem` and `where`; `checkpoint_mended` once that place has one again."""


class NotKept(Exception):  # noqa: N818 - named for what it is
    """A checkpoint is not everywhere where it should be. The text is one sentence for operators."""


class Keeper(Protocol):
    """Makes checkpoints of how chains stand and keeps them in some place."""

    name: str

    async def keep(self, standing: Standing) -> None:
        """There is a checkpoint of this. Raises `NotSigned` and `NotKept`."""
        ...


class FileKeeper:
    """`Keeper` of all chains of a writer in one note, appended to several files: beside the audit, and elsewhere."""

    name = "files"

    def __init__(self, signer: Signer, paths: Sequence[Path], clock: Clock) -> None:
        self._signer = signer
        self._paths = tuple(paths)
        self._clock = clock
        self._number = 0

    def check(self) -> None:
        """Raises `StartError` when a place cannot be: better than an audit that nobody vouches for."""
        for path in self._paths:
            if not path.is_dir() and not path.parent.is_dir():
                raise StartError(f"checkpoints cannot be written to {path}: make the directory {path.parent}")

    async def keep(self, standing: Standing) -> None:
        """Sign once, write everywhere; a place that fails does not keep the others from theirs."""
        files = [NoteFile.at(path, standing.writer) for path in self._paths]
        self._number = number = await asyncio.to_thread(self._last_number, files) + 1
        text = text_of(
            Checkpoint(
                origin=self._signer.key.name,
                number=number,
                time=rfc3339(self._clock.now()),
                stands=stands_of(standing),
            )
        )
        (note,) = await self._signer.sign([text])
        failed = []
        for file in files:
            try:
                await asyncio.to_thread(file.append, note)
            except OSError as error:
                failed.append(f"{file.path} cannot be written: {error.strerror}")
        if failed:
            raise NotKept("; ".join(failed))

    def _last_number(self, files: Sequence[NoteFile]) -> int:
        """Of the first file, once: numbers go on after a restart."""
        if self._number or not files:
            return self._number
        try:
            note = files[0].last()
            return parse(note.text, note.text.split("\n", 1)[0]).number if note is not None else 0
        except StartError as error:
            raise NotKept(error.message) from error
        except BadNote:
            return 0


class Checkpointer:
    """Has checkpoints made by every keeper, in a task of its own."""

    def __init__(
        self,
        standing: Callable[[], Standing],
        keepers: Sequence[Keeper],
        *,
        seconds: float,
        clock: Clock,
        on_event: OnEvent,
    ) -> None:
        """`standing` says how far lines are durable."""
        self._standing = standing
        self._keepers = tuple(keepers)
        self._seconds = seconds
        self._clock = clock
        self._on_event = on_event
        self._kept: dict[str, tuple[int, str]] = {}
        self._failing: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Make one every so often from now on."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """A last one, of what is durable by now. Calling it twice is harmless, and so is it when it never started."""
        task, self._task = self._task, None
        if task is not None:
            await end(task)
            await self.make()

    async def make(self) -> None:
        """One now, by every keeper that has not made one of how things stand. Raises nothing."""
        standing = self._standing()
        for keeper in self._keepers:
            if standing.tenants and self._kept.get(keeper.name) != (standing.seq, standing.hash):
                await self._make(keeper, standing)

    async def _run(self) -> None:
        while True:
            await self._clock.sleep(self._seconds)
            await self.make()

    async def _make(self, keeper: Keeper, standing: Standing) -> None:
        try:
            await keeper.keep(standing)
        except (NotSigned, NotKept) as error:
            self._failed(keeper, str(error))
            return
        except Exception as error:  # noqa: BLE001 - a fault of one place must not end the others' checkpoints
            self._failed(keeper, f"it failed ({type(error).__name__})")
            return
        self._kept[keeper.name] = standing.seq, standing.hash
        if keeper.name in self._failing:
            self._failing.discard(keeper.name)
            self._on_event("checkpoint_mended", {"where": keeper.name})

    def _failed(self, keeper: Keeper, problem: str) -> None:
        self._failing.add(keeper.name)
        self._on_event("checkpoint_failed", {"where": keeper.name, "problem": problem})
