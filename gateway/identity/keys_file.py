"""A key set in a file that somebody else rotates."""

from collections.abc import Callable
from pathlib import Path

from gateway.errors import StartError, Unauthenticated
from gateway.identity.base import AuthStatus
from gateway.identity.jwks import KeySet, KeysUnusable, parse_keys
from gateway.watched import FileUnusable, WatchedFile


class FileKeys:
    """The set that the file holds now: a changed file holds within a second, a broken one lets nobody in."""

    def __init__(self, path: Path, monotonic: Callable[[], float]) -> None:
        self._path = path
        self._file = WatchedFile(path, monotonic)
        self._raw: bytes | None = None
        self._keys: KeySet | None = None
        self._problem = ""

    async def start(self) -> None:
        """Raises `StartError` when the file cannot be used."""
        self._look()
        if self._problem:
            raise StartError(self._problem)

    async def stop(self) -> None:
        """Nothing is held."""

    def current(self) -> KeySet:
        """The file's keys. Raises `Unauthenticated` when it cannot be used."""
        self._look()
        if self._keys is None:
            raise Unauthenticated(self._problem)
        return self._keys

    async def look_again(self) -> None:
        """The file is looked at anyway."""

    def status(self) -> AuthStatus:
        """As the file is now."""
        self._look()
        return AuthStatus(is_ready=self._keys is not None, problem=self._problem)

    def _look(self) -> None:
        try:
            raw = self._file.read()
            if raw is not self._raw:
                self._raw, self._keys = raw, parse_keys(raw)
                self._problem = ""
        except FileUnusable as error:
            self._raw, self._keys, self._problem = None, None, f"the key set {error}"
        except KeysUnusable as error:
            self._raw, self._keys, self._problem = raw, None, f"the key set {self._path} {error}"
