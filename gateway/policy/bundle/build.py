"""Makes a signed bundle of a policy, for OPA and for the embedded engine."""

import json
from collections.abc import Collection
from dataclasses import dataclass

from gateway.policy.bundle.archive import MANIFEST, SIGNATURES, write_archive
from gateway.policy.bundle.manifest import write_manifest
from gateway.policy.bundle.opened import Bundle, open_bundle
from gateway.policy.bundle.problem import unusable
from gateway.policy.bundle.signature import DEFAULT_KEY_ID, SigningKey, sign
from gateway.policy.pack import Pack


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """How a bundle is signed."""

    key: SigningKey
    algorithm: str = ""
    """One that suits the key; the key's own when empty."""
    key_id: str = DEFAULT_KEY_ID
    scope: str = ""


def build_bundle(
    pack: Pack, packages: Collection[str], *, revision: str, signing: Signing, now: float
) -> tuple[bytes, Bundle]:
    """The archive, and what its reader will find in it. `packages` are the pack's, from `data.` on.

    The archive is the same for the same pack, revision and time, but for the signature: some algorithms draw
    chance. Tests are left out. Raises `PolicyUnusable`.
    """
    algorithm = signing.algorithm or signing.key.public.algorithms[0]
    if algorithm not in signing.key.public.algorithms:
        fitting = ", ".join(signing.key.public.algorithms)
        raise unusable("key", f"cannot sign by {algorithm!a}; this key can by {fitting}")
    files = _files(pack)
    files[MANIFEST] = write_manifest(revision, roots_of(pack, packages), pack.revision)
    files[SIGNATURES] = sign(
        files, signing.key, algorithm=algorithm, key_id=signing.key_id, scope=signing.scope, now=now
    )
    raw = write_archive(files)
    return raw, open_bundle(raw, signing.key.public, scope=signing.scope, now=now)


def roots_of(pack: Pack, packages: Collection[str]) -> list[str]:
    """The first parts of everything that the pack defines: what no other bundle of the same OPA may touch."""
    return sorted({package.split(".")[1] for package in packages} | pack.data.keys())


def _files(pack: Pack) -> dict[str, bytes]:
    """The modules under the names that they have in their folder, and the data of all folders in one file."""
    folders = {module.place.partition("/")[0] for module in pack.modules}
    files: dict[str, bytes] = {}
    for module in pack.modules:
        name = module.place if len(folders) > 1 else module.place.partition("/")[2]
        files[name] = module.text.encode()
    files["data.json"] = json.dumps(pack.data, allow_nan=False, sort_keys=True, ensure_ascii=False).encode()
    return files
