"""`file:/PATH`: a file that somebody else rotates.

Reading happens on the event loop: one `stat` a second, and for a changed file one read of at most
64 KiB. A thread would cost more than it saves; secrets do not belong on a network file system.
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from adapters.base import Fault, Secret
from gateway.errors import Reason, Refusal

MAX_BYTES = 64 * 1024
LOOK_SECONDS = 1.0
"""How often a file is looked at: a rotated secret is in use within this time."""

_Version = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Kept:
    version: _Version
    value: str = field(repr=False)
    derived: dict[str, Any] = field(repr=False)
    is_settled: bool
    """Whether it was read twice as this version: a file system's clock ticks slowly, and two writes within one tick
    leave one and the same.
    """


class FileSource:
    """Reads a file again when its inode, size or a time of change differs from when it was read.

    Symbolic links are followed: Kubernetes swaps secrets by one. The grants of the settings bind the
    path that is named; whoever may write into that folder decides what it leads to.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._kept: dict[str, _Kept] = {}
        self._looked: dict[str, float] = {}

    async def resolve(self, _tenant: str, name: str) -> Secret:
        """The file's text without one trailing line break."""
        now = self._monotonic()
        if now - self._looked.get(name, -LOOK_SECONDS) < LOOK_SECONDS and name in self._kept:
            known = self._kept[name]
            return Secret(known.value, known.derived)
        self._looked[name] = now
        try:
            version = _version_of(os.stat(name))  # noqa: PTH116 - see the module's docstring
            kept = self._kept.get(name)
            if kept is None or kept.version != version or not kept.is_settled:
                self._kept[name] = kept = _read(name, kept)
        except OSError as error:
            self._kept.pop(name, None)
            raise _refusal_of(error) from error
        except Refusal:
            self._kept.pop(name, None)  # or it would serve until the next look
            raise
        return Secret(kept.value, kept.derived)


def _version_of(status: os.stat_result) -> _Version:
    """What tells one content from another. Refuses a file that is no place for a secret."""
    if not stat.S_ISREG(status.st_mode):
        raise _unavailable("it is not a regular file", Fault.MALFORMED)
    if status.st_mode & 0o007:
        raise _unavailable("every user of the machine may read its file; set the mode to 0600 or 0640", Fault.REFUSED)
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def _read(path: str, before: _Kept | None) -> _Kept:
    """Content and version of one and the same open file, with what was worked out of the same value before.
    Non-blocking, lest it became a pipe meanwhile.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        version = _version_of(os.fstat(descriptor))
        raw = os.read(descriptor, MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(raw) > MAX_BYTES:
        raise _unavailable(f"it is larger than {MAX_BYTES} bytes", Fault.MALFORMED)
    text = _text_of(raw)
    if text is None:
        raise _unavailable("it is not UTF-8 text", Fault.MALFORMED)
    value = text.removesuffix("\n").removesuffix("\r")
    if not value:
        raise Refusal(Reason.CREDENTIAL_MISSING, "The connection's credential is empty.")
    derived = before.derived if before is not None and before.value == value else {}
    return _Kept(version, value, derived, is_settled=before is not None and before.version == version)


def _text_of(raw: bytes) -> str | None:
    """The text, or None: a UnicodeDecodeError holds the bytes and must not travel."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _refusal_of(error: OSError) -> Refusal:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Refusal(Reason.CREDENTIAL_MISSING, "The connection's credential is not there.")
    return _unavailable("its file cannot be opened", Fault.REFUSED)


def _unavailable(why: str, fault: Fault) -> Refusal:
    message = f"The connection's credential cannot be read: {why}."
    return Refusal(Reason.CREDENTIAL_UNAVAILABLE, message, fault=fault)
