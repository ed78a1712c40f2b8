"""What a bundle says of itself, and which of two is older."""

import json

import pytest
from fakes.clock import START

from gateway.policy.base import PolicyUnusable
from gateway.policy.bundle.manifest import make_revision, read_manifest, revision_time, write_manifest

DIGEST = "sha256:" + "0123456789ab" * 5 + "cdef"


def test_a_revision_says_when_and_what() -> None:
    """To the second, in UTC, and the first characters of the digest."""
    revision = make_revision(START + 0.9, DIGEST)
    assert revision == "20260101T000000Z-0123456789ab"
    assert revision_time(revision) == START


@pytest.mark.parametrize(
    "revision",
    [
        "",
        "r1",
        "20260101T000000Z",
        "20260101T000000Z-0123456789a",
        "20260101T000000Z-0123456789AB",
        "20261301T000000Z-0123456789ab",
        "20260101T250000Z-0123456789ab",
        "20260101T000000Z-0123456789ab\n",
        "٢0260101T000000Z-0123456789ab",
    ],
)
def test_any_other_revision_has_no_time(revision: str) -> None:
    """It cannot be put in order."""
    assert revision_time(revision) is None


def test_what_is_written_is_read() -> None:
    """Revision and roots come back; the pack's digest is for people."""
    raw = write_manifest("r1", ["b", "a"], DIGEST)
    manifest = read_manifest(raw)
    assert (manifest.revision, manifest.roots) == ("r1", ("a", "b"))
    assert json.loads(raw)["metadata"] == {"pack": DIGEST}


def test_a_bundle_without_roots_owns_everything() -> None:
    """As OPA has it."""
    assert read_manifest(b'{"revision": "r1"}').roots == ("",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b"[]", "must hold an object"),
        (b"{}", "has no revision"),
        (b'{"revision": 1}', "has no revision"),
        (b'{"revision": ""}', "has no revision"),
        (b'{"revision": "two words"}', "has no revision"),
        (b'{"revision": "r1", "roots": "a"}', "roots must be a list"),
        (b'{"revision": "r1", "roots": [1]}', "roots must be a list"),
        (b'{"revision": "r1", "rego_version": 0}', "only Rego version 1"),
        (b'{"revision": "r1", "rego_version": null}', "only Rego version 1"),
        (b'{"revision": "r1", "file_rego_versions": {"/a.rego": 0}}', "only Rego version 1"),
        (b'{"revision": "r1", "file_rego_versions": [1]}', "only Rego version 1"),
        (b'{"revision": "r1", "wasm": [{}]}', "compiled policies are not taken"),
        (b'{"revision": "r1", "revision": "r2"}', "is not JSON"),
    ],
)
def test_a_manifest_that_means_something_else_is_refused(content: bytes, message: str) -> None:
    """What one engine would do and the other would not is done by none."""
    with pytest.raises(PolicyUnusable, match=message):
        read_manifest(content)
