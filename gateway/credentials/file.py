"""`file:/PATH`: a file that somebody else rotates.

Reading happens on the event loop: one `stat` a second, and for a changed file one read of at most
64 KiB. A thread would cost more than it saves; secrets do not belong on a network file system.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from adapters.base import Fault, Secret
from gateway.errors import Reason, Refusal
from gateway.watched import LOOK_SECONDS, FileUnusable, Trouble, WatchedFile

MAX_BYTES = 64 * 1024

_WHY: dict[Trouble, tuple[str, Fault]] = {
    Trouble.UNREADABLE: ("its file cannot be opened", Fault.REFUSED),
    Trouble.NOT_A_FILE: ("it is not a regular file", Fault.MALFORMED),
    Trouble.TOO_LARGE: (f"it is larger than {MAX_BYTES} bytes", Fault.MALFORMED),
    Trouble.OPEN_TO_ALL: (
        "every user of the machine may read its file; set the mode to 0600 or 0640",
        Fault.REFUSED,
    ),
}


class FileSource:
    """Reads a file again when it changes (see `WatchedFile`). One that everybody may touch is no place for a secret.

    The grants of the settings bind the path that is named; whoever may write into that folder decides what it
    leads to.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._files: dict[str, _SecretFile] = {}

    async def resolve(self, _tenant: str, name: str) -> Secret:
        """The file's text without one trailing line break."""
        file = self._files.get(name)
        if file is None:
            watched = WatchedFile(
                Path(name), self._monotonic, look_seconds=LOOK_SECONDS, max_bytes=MAX_BYTES, is_private=True
            )
            self._files[name] = file = _SecretFile(watched)
        return file.secret()


class _SecretFile:
    """A file and the value that it holds now."""

    def __init__(self, file: WatchedFile) -> None:
        self._file = file
        self._content: bytes | None = None
        self._value = ""
        self._derived: dict[str, Any] = {}

    def secret(self) -> Secret:
        """What it holds now. Raises `Refusal`, and what it held before is gone then."""
        try:
            content = self._file.read()
        except FileUnusable as unusable:
            trouble = unusable.trouble
        else:
            if content is not self._content:
                self._forget()
                self._value, self._content = _value_of(content), content
            return Secret(self._value, self._derived)
        self._forget()
        if trouble is Trouble.ABSENT:
            raise Refusal(Reason.CREDENTIAL_MISSING, "The connection's credential is not there.")
        raise _unavailable(*_WHY[trouble])

    def _forget(self) -> None:
        self._content, self._value, self._derived = None, "", {}


def _value_of(content: bytes) -> str:
    """The text, or a refusal that holds no byte of it."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = None
    if text is None:
        raise _unavailable("it is not UTF-8 text", Fault.MALFORMED)
    value = text.removesuffix("\n").removesuffix("\r")
    if not value:
        raise Refusal(Reason.CREDENTIAL_MISSING, "The connection's credential is empty.")
    return value


def _unavailable(why: str, fault: Fault) -> Refusal:
    message = f"The connection's credential cannot be read: {why}."
    return Refusal(Reason.CREDENTIAL_UNAVAILABLE, message, fault=fault)
