"""How far a follower has come, kept over restarts. It may be a little behind: lines are then handed on twice."""

import os
from pathlib import Path


class PositionFile:
    """A number in a file. Methods block, for as long as a small file takes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> int | None:
        """The number; None when there is none that can be read."""
        try:
            text = self._path.read_text("ascii").strip()
        except (OSError, ValueError):
            return None
        return int(text) if text.isdecimal() and len(text) < 19 else None

    def keep(self, seq: int) -> None:
        """The number from now on, whole or not at all. A disk that fails leaves the one before."""
        fresh = self._path.with_name(f"{self._path.name}.new")
        try:
            fresh.write_text(f"{seq}\n", "ascii")
            os.replace(fresh, self._path)  # noqa: PTH105 - atomic, and said so
        except OSError:
            return
