"""Where an embedded policy comes from, and what it comes as: folders."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gateway.policy.pack import stamp

UNREACHABLE = "unreachable"
"""The rule of a problem that says that a source did not answer: nobody refused anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A policy that a source holds now, and that did not decide yet."""

    folders: tuple[Path, ...]
    revision: str = ""
    """What it is called; when empty, what `read_pack` says."""
    mark: object = None
    """Differs between two candidates that are not the same."""


class Source(Protocol):
    """Somewhere that a policy is read from, as often as it is asked. Used on one loop, by one reader at a time."""

    @property
    def is_remote(self) -> bool:
        """Whether it may not be there yet when the gateway starts."""
        ...

    @property
    def max_age_seconds(self) -> float:
        """A policy that the source was last asked for longer ago may not decide."""
        ...

    async def look(self) -> Candidate | None:
        """What is there now; None when it is what the last look found.

        Raises `PolicyUnusable` when nothing is there that may be tried, at every look until there is.
        """
        ...

    async def accept(self, candidate: Candidate) -> None:
        """It was tried and is about to decide. Raises `PolicyUnusable` when it may not after all."""
        ...

    def forget(self) -> None:
        """Let the next look find what is there, even when it is the same."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...


class FolderSource:
    """Folders of Rego and data, whatever they hold now."""

    is_remote = False
    max_age_seconds = float("inf")

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._seen: object = None

    async def look(self) -> Candidate | None:
        """The folders, when a file in them changed."""
        found = await asyncio.to_thread(stamp, self._folders)
        if found == self._seen:
            return None
        self._seen = found
        return Candidate(folders=self._folders, mark=found)

    async def accept(self, candidate: Candidate) -> None:
        """Whoever writes the folders decides."""

    def forget(self) -> None:
        """Look at everything again."""
        self._seen = None

    async def close(self) -> None:
        """There is nothing to let go of."""
