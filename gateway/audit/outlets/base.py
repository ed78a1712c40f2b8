"""Where lines are handed on to once they are durable in the files."""

from collections.abc import Sequence
from typing import Protocol

from gateway.audit.reading import Written


class OutletDown(Exception):  # noqa: N818 - named for what it is
    """Nobody knows whether the lines arrived. One sentence for operators, with nothing of a line in it."""


class Outlet(Protocol):
    """One place. Used by one follower, which delivers batch after batch, in order."""

    name: str
    """Its kind in the settings."""
    takes_all: bool
    """Whether it holds every line there ever was, those from before it was there included."""
    rejected: int
    """Lines that it refused for good, and that are not sent again."""

    async def deliver(self, lines: Sequence[Written]) -> None:
        """All of these are there; once only, where the place can tell. Raises `OutletDown`."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...
