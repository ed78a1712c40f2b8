"""A disk that is full or fails when a suite says so. Patched into a child; where nothing real can be had."""

import errno
import os
from pathlib import Path
from typing import Any

from gateway.audit.files import DiskFile, MappedFile

FULL, BROKEN = "full", "broken"
"""While a file of this name is in the child's folder, nothing more fits on the disk, or no sync succeeds."""


def install(folder: Path, options: dict[str, Any]) -> None:
    """Look for both files at every operation of the logs, when the options ask for `is_disk_faulty`."""
    if not options.get("is_disk_faulty"):
        return
    _may_be_full(folder / FULL)
    _may_be_broken(folder / BROKEN)


def _may_be_full(switch: Path) -> None:
    append, next_window = DiskFile.append, MappedFile._next_window

    def appended(file: DiskFile, data: bytes) -> None:
        if switch.exists():
            append(file, data[: len(data) // 2])  # what fits
            raise OSError(errno.ENOSPC, "no space left")
        append(file, data)

    def reserved(file: MappedFile) -> None:
        if switch.exists():
            raise OSError(errno.ENOSPC, "no space left")
        next_window(file)

    _patch(DiskFile, "append", appended)
    _patch(MappedFile, "_next_window", reserved)


def _may_be_broken(switch: Path) -> None:
    sync = os.fdatasync

    def synced(descriptor: int) -> None:
        if switch.exists():
            raise OSError(errno.EIO, "input/output error")
        sync(descriptor)

    _patch(os, "fdatasync", synced)


def _patch(place: Any, name: str, value: Any) -> None:
    setattr(place, name, value)
