"""What a bundle says of itself, and the order of bundles."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gateway.policy.bundle.archive import MANIFEST
from gateway.policy.bundle.canonical import strict_json
from gateway.policy.bundle.problem import unusable

_REVISION = re.compile(r"([0-9]{8}T[0-9]{6}Z)-[0-9a-f]{12}")
_ANY_REVISION = re.compile(r"[!-~]{1,128}")
_TIME = "%Y%m%dT%H%M%SZ"
_V1 = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The part of a manifest that matters here."""

    revision: str
    roots: tuple[str, ...]
    """The paths of `data` that the bundle owns; one empty path is all of it."""


def make_revision(now: float, digest: str) -> str:
    """`<UTC time>-<first 12 hex of the digest>`. `digest` is a pack's revision, `sha256:` and hex."""
    moment = datetime.fromtimestamp(now, UTC).strftime(_TIME)
    return f"{moment}-{digest.removeprefix('sha256:')[:12]}"


def revision_time(revision: str) -> float | None:
    """When a policy of this revision was built, in seconds since the epoch; None when it is not of the form
    that `make_revision` gives, and so cannot be put in order.
    """
    match = _REVISION.fullmatch(revision)
    if match is None:
        return None
    try:
        return datetime.strptime(match[1], _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def write_manifest(revision: str, roots: Sequence[str], digest: str) -> bytes:
    """The manifest file. `digest` is the pack's revision, for whoever looks for the folders behind a bundle."""
    made = {"revision": revision, "roots": sorted(roots), "rego_version": 1, "metadata": {"pack": digest}}
    return json.dumps(made, sort_keys=True).encode()


def read_manifest(content: bytes) -> Manifest:
    """The manifest in a file. Raises `PolicyUnusable`, also for what no engine here could do: other versions of
    Rego, and compiled policies.
    """
    try:
        said = strict_json(content)
    except (ValueError, RecursionError) as error:
        raise unusable("manifest", "is not JSON", file=MANIFEST) from error
    if not isinstance(said, dict):
        raise unusable("manifest", "must hold an object", file=MANIFEST)
    _check_language(said)
    revision = said.get("revision")
    if type(revision) is not str or _ANY_REVISION.fullmatch(revision) is None:
        message = "has no revision; build the bundle with `tollhouse policy bundle build`"
        raise unusable("manifest", message, file=MANIFEST)
    return Manifest(revision=revision, roots=_roots(said.get("roots", [""])))


def _roots(said: Any) -> tuple[str, ...]:
    if not isinstance(said, list) or not all(type(root) is str for root in said):
        raise unusable("manifest", "roots must be a list of paths", file=MANIFEST)
    return tuple(said)


def _check_language(said: dict[str, Any]) -> None:
    versions = [said.get("rego_version", _V1)]
    each = said.get("file_rego_versions") or {}
    versions += each.values() if isinstance(each, dict) else [each]
    if any(version != _V1 for version in versions):
        raise unusable("manifest", "only Rego version 1 is taken", file=MANIFEST)
    if said.get("wasm"):
        raise unusable("manifest", "compiled policies are not taken; build the bundle from Rego", file=MANIFEST)
