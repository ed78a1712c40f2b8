"""Signed bundles for the embedded engine, from a file or from a bundle service that OPA could use as well."""

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from adapters.base import Clock
from gateway.clients.http import FetchFailed, HttpClient
from gateway.policy.base import Floor, PolicyUnusable
from gateway.policy.bundle.archive import MAX_ARCHIVE_BYTES
from gateway.policy.bundle.opened import Bundle, open_bundle
from gateway.policy.bundle.problem import unusable
from gateway.policy.bundle.signature import VerifyingKey, key_bytes, verifying_key
from gateway.policy.source import UNREACHABLE, Candidate
from gateway.settings.policy import BundleSettings
from gateway.watched import FileUnusable, WatchedFile

_UNPACKED = re.compile(r"[0-9a-f]{64}(\.new)?")
"""The folders that are ours to remove."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What the source gave out last."""

    raw: bytes = field(repr=False)
    etag: str
    is_good: bool = False
    """Whether it came out of `look`. What did not is judged at every look: a floor may be mended, time passes."""


class BundleSource:
    """One bundle, looked at as often as somebody asks. Only what the key signed, and what is not older than
    anything that ever decided here, comes out of it.
    """

    def __init__(self, settings: BundleSettings, folder: Path, *, clock: Clock, floor: Floor) -> None:
        """Bundles are unpacked below `folder`, which is ours: what was unpacked before is removed."""
        self._settings = settings
        self._folder = folder
        self._clock = clock
        self._floor = floor
        token = _token(settings.token_file, clock.monotonic)
        self._http = HttpClient(ca_file=settings.ca_file, token=token, max_bytes=MAX_ARCHIVE_BYTES)
        self._seen: _Seen | None = None
        self._key = b""
        self._active: tuple[Path, ...] = ()
        self.is_remote = bool(settings.url)
        self.max_age_seconds = settings.max_age_seconds

    async def look(self) -> Candidate | None:
        """The bundle, when it is another one than at the last look, or the key is."""
        key = await asyncio.to_thread(key_bytes, self._settings.key_file)
        if key != self._key:
            self._key, self._seen = key, None
        raw, etag = await self._given()
        if self._seen is not None and self._seen.is_good and raw == self._seen.raw:
            self._seen = replace(self._seen, etag=etag)
            return None
        self._seen = _Seen(raw=raw, etag=etag)
        candidate = await asyncio.to_thread(self._unpacked, raw, verifying_key(key, str(self._settings.key_file)))
        self._seen = replace(self._seen, is_good=True)
        return candidate

    async def accept(self, candidate: Candidate) -> None:
        """Nothing older decides from now on, and what decided before is removed."""
        try:
            await asyncio.to_thread(self._floor.raise_to, candidate.revision)
        except PolicyUnusable:
            self.forget()  # the bundle is good: it is tried again until the floor can be written
            raise
        self._active = candidate.folders
        await asyncio.to_thread(self._remove_all_but, self._active)

    def forget(self) -> None:
        """Fetch and judge it again."""
        self._seen = None

    async def close(self) -> None:
        """Close every connection."""
        await self._http.close()

    async def _given(self) -> tuple[bytes, str]:
        """The bundle as it is, and what tells whether it changed; what is known already is not read again."""
        known, mark = (self._seen.raw, self._seen.etag) if self._seen is not None else (b"", "")
        if self._settings.file is not None:
            return await asyncio.to_thread(_read, self._settings.file, known, mark)
        try:
            fetched = await self._http.get(self._settings.url, etag=mark)
        except (FetchFailed, FileUnusable) as error:
            raise unusable(UNREACHABLE, str(error)) from error
        return (known if fetched.is_same else fetched.body), fetched.etag

    def _unpacked(self, raw: bytes, key: VerifyingKey) -> Candidate:
        bundle = open_bundle(raw, key, scope=self._settings.scope, now=self._clock.now())
        revision = bundle.manifest.revision
        if reason := self._floor.why_not(revision):
            raise unusable("older", reason)
        digest = hashlib.sha256(raw).hexdigest()
        try:
            folder = self._unpack(bundle, digest)
        except OSError as error:
            raise unusable("disk", f"cannot be unpacked: {error.strerror}") from error
        return Candidate(folders=(folder,), revision=revision, mark=digest)

    def _unpack(self, bundle: Bundle, digest: str) -> Path:
        """A folder with the files and nothing else, complete as soon as it is there."""
        folder = self._folder / digest
        draft = folder.with_suffix(".new")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._remove_all_but(self._active)
        bundle.unpack(draft)
        shutil.rmtree(folder, ignore_errors=True)
        return draft.rename(folder)

    def _remove_all_but(self, kept: tuple[Path, ...]) -> None:
        for path in self._folder.iterdir():
            if path not in kept and _UNPACKED.fullmatch(path.name):
                shutil.rmtree(path, ignore_errors=True)


def _token(path: Path | None, monotonic: Callable[[], float]) -> Callable[[], str]:
    return WatchedFile(path, monotonic).text if path is not None else lambda: ""


def _read(path: Path, known: bytes, mark: str) -> tuple[bytes, str]:
    """The file's bytes and its mark; `known` when the mark is the same. Raises `PolicyUnusable`."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            found = f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"
            return (known if found == mark else file.read(MAX_ARCHIVE_BYTES + 1)), found
    except OSError as error:
        raise unusable("file", f"cannot be read: {error.strerror}", file=str(path)) from error
