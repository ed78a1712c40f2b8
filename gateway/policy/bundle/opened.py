"""A bundle that was verified. There is no way to look into one that was not."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gateway.policy.bundle.archive import MANIFEST, SIGNATURES, read_archive
from gateway.policy.bundle.canonical import file_digest
from gateway.policy.bundle.manifest import Manifest, read_manifest
from gateway.policy.bundle.problem import unusable
from gateway.policy.bundle.signature import FileHash, Signed, VerifyingKey, verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """What a good signature vouches for."""

    manifest: Manifest
    signed: Signed
    files: Mapping[str, bytes] = field(repr=False)
    """Policies and data by their names from the root; without manifest and signature."""

    def unpack(self, folder: Path) -> None:
        """Write the files below a folder, which must not exist yet; nobody else may read it. Raises `OSError`."""
        folder.mkdir(mode=0o700, parents=True)
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def open_bundle(raw: bytes, key: VerifyingKey, *, scope: str = "", now: float) -> Bundle:
    """The bundle in an archive. Raises `PolicyUnusable` unless the key signed exactly these files, for this scope."""
    files = read_archive(raw)
    signed = verify(files.pop(SIGNATURES, None), key, scope=scope, now=now)
    _check_files(files, signed.files)
    if MANIFEST not in files:
        raise unusable("manifest", "is missing; build the bundle with `tollhouse policy bundle build`", file=MANIFEST)
    manifest = read_manifest(files.pop(MANIFEST))
    return Bundle(manifest=manifest, signed=signed, files=files)


def _check_files(files: Mapping[str, bytes], signed: Mapping[str, FileHash]) -> None:
    """Exactly the signed files are there, and each is what was signed."""
    for name in sorted(files.keys() - signed.keys()):
        raise unusable("signature", "was added after the bundle was signed", file=name)
    for name in sorted(signed.keys() - files.keys()):
        raise unusable("signature", "was signed and is missing", file=name)
    for name, content in files.items():
        digest = file_digest(name, content, signed[name].algorithm)
        if not hmac.compare_digest(digest.encode(), signed[name].digest.lower().encode()):
            raise unusable("signature", "was changed after the bundle was signed", file=name)
