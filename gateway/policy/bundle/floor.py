"""The newest policy that ever decided here: nobody can bring an older one back, not even over a restart."""

import os
from pathlib import Path

from gateway.policy.bundle.manifest import revision_time
from gateway.policy.bundle.problem import unusable

_MAX_BYTES = 256


class FileFloor:
    """Keeps the revision in a file. One process writes it: whoever holds the state directory.

    Only a revision that says when it was built can be put in order. Of two that were built in the same second
    the first one stays.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def why_not(self, revision: str) -> str:
        """Why it may not, in one sentence that says what to do; empty when it may."""
        built_at = revision_time(revision)
        if built_at is None:
            form = "such as 20261130T141436Z-0123456789ab"
            return (
                f"its revision does not say when it was built; build it with `tollhouse policy bundle build`, or give "
                f"it a revision {form}"
            )
        try:
            floor = self._read()
        except ValueError:
            return f"{self._path} cannot be read, so nobody knows which policy is older; mend or remove it"
        if not floor or revision == floor or built_at > (revision_time(floor) or 0.0):
            return ""
        return f"it is not newer than {floor}, which decided here; build it again, or remove {self._path}"

    def raise_to(self, revision: str) -> None:
        """From now on nothing older is admitted. Durable when it returns. Does nothing when the floor is there
        already. Raises `PolicyUnusable` when it is not admitted or cannot be written.
        """
        if reason := self.why_not(revision):
            raise unusable("older", reason)
        try:
            if self._read() != revision:
                self._write(revision)
        except (OSError, ValueError) as error:
            message = f"{self._path} cannot be written, so an older policy could come back; make room for it"
            raise unusable("floor", message) from error

    def _read(self) -> str:
        """The floor; empty when there is none. Raises `ValueError` when nobody knows."""
        try:
            with self._path.open("rb") as file:
                text = file.read(_MAX_BYTES).decode("ascii").removesuffix("\n")
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise ValueError(error.strerror) from error
        if revision_time(text) is None:
            raise ValueError("no revision")
        return text

    def _write(self, revision: str) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._path.with_name(f"{self._path.name}.new")
        with draft.open("wb") as file:
            file.write(f"{revision}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        _sync_folder(self._path.parent)


class NoFloor:
    """For revisions that say nothing of their time: every one is as new as any other."""

    def why_not(self, revision: str) -> str:  # noqa: ARG002 - it does not matter which
        """Nothing speaks against any."""
        return ""

    def raise_to(self, revision: str) -> None:
        """Nothing is remembered."""


def _sync_folder(path: Path) -> None:
    """A new name in a folder is durable once the folder itself was synced."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
