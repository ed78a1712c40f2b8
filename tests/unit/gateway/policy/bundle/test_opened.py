"""A bundle is opened when exactly what was signed is in it."""

import stat
from pathlib import Path

import pytest
from fakes.bundles import Keys, changed, signed_bundle, token_of, with_claims, with_token, write_keys
from fakes.clock import START

from gateway.policy.base import PolicyUnusable
from gateway.policy.bundle.archive import write_archive
from gateway.policy.bundle.opened import Bundle, open_bundle
from gateway.policy.bundle.signature import sign


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    """Whose signature is good."""
    return write_keys(tmp_path / "keys")


@pytest.fixture
def raw(tmp_path: Path, keys: Keys) -> bytes:
    """A good bundle."""
    return signed_bundle(tmp_path / "policy", keys, data='{"x": {"y": 1}}')[0]


def _open(raw: bytes, keys: Keys, now: float = START) -> Bundle:
    return open_bundle(raw, keys.signing.public, now=now)


def test_a_good_bundle_is_opened(raw: bytes, keys: Keys) -> None:
    """Its files, without what vouches for them."""
    bundle = _open(raw, keys)
    assert sorted(bundle.files) == ["data.json", "policy.rego"]
    assert bundle.manifest.roots == ("gateway", "x")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"policy.rego": b"package gateway.authz\n"}, "policy.rego: signature: was changed"),
        ({"data.json": b'{"x": {"y": 2}}'}, "data.json: signature: was changed"),
        ({"data.json": b'{"x": {"y": 1.0}}'}, "data.json: signature: was changed"),
        ({".manifest": b'{"revision": "99990101T000000Z-0123456789ab", "roots": ["gateway", "x"]}'}, "was changed"),
        ({"more.rego": b"package gateway.authz\n"}, "more.rego: signature: was added"),
        ({"lib/data.json": b"{}"}, "lib/data.json: signature: was added"),
        ({"README.md": b""}, "README.md: signature: was added"),
        ({"policy.rego": None}, "policy.rego: signature: was signed and is missing"),
        ({".manifest": None}, ".manifest: signature: was signed and is missing"),
        ({".signatures.json": None}, "the bundle is not signed"),
    ],
)
def test_a_tampered_bundle_is_refused(raw: bytes, keys: Keys, files: dict[str, bytes | None], message: str) -> None:
    """Whatever was changed, added or taken away."""
    with pytest.raises(PolicyUnusable, match=message):
        _open(changed(raw, files), keys)


def test_only_white_space_may_change_in_data(raw: bytes, keys: Keys) -> None:
    """As OPA has it: it means the same."""
    assert _open(changed(raw, {"data.json": b'{ "x" : {"y":1} }\n'}), keys).files


def test_a_signature_is_for_one_bundle(tmp_path: Path, raw: bytes, keys: Keys) -> None:
    """Not for the next, and two in one bundle are none."""
    other, _ = signed_bundle(tmp_path / "other", keys, "decision := 1")
    with pytest.raises(PolicyUnusable, match="was changed"):
        _open(with_token(raw, token_of(other)), keys)
    with pytest.raises(PolicyUnusable, match="exactly one"):
        _open(with_token(raw, token_of(raw), token_of(other)), keys)


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"exp": START}, "has expired"),
        ({"exp": -(10**400)}, "has expired"),
        ({"exp": "tomorrow"}, "exp is no time"),
        ({"nbf": START + 1}, "not valid yet"),
        ({"scope": "other"}, "another scope"),
        ({"scope": None}, "another scope"),
        ({"files": None}, "does not say what it signs"),
        ({"files": []}, "was added"),
        ({"files": ["policy.rego"]}, "does not say what it signs"),
        ({"files": [{"name": "policy.rego", "hash": 1, "algorithm": "SHA-256"}]}, "does not say what it signs"),
        ({"files": [{"name": "a", "hash": "", "algorithm": "SHA-256"}] * 2}, "names a file twice"),
        ({"files": [{"name": "../a", "hash": "", "algorithm": "SHA-256"}]}, "no name for a file"),
    ],
)
def test_a_signature_that_says_something_else_is_refused(
    raw: bytes, keys: Keys, claims: dict[str, object], message: str
) -> None:
    """Even by the right key."""
    with pytest.raises(PolicyUnusable, match=message):
        _open(with_claims(raw, keys, **claims), keys)


def test_a_signature_may_have_an_end(raw: bytes, keys: Keys) -> None:
    """Until then it is good."""
    assert _open(with_claims(raw, keys, exp=START + 1, nbf=START, iss="ci"), keys).files


@pytest.mark.parametrize(
    ("iat", "expected"), [(-1, 0.0), (10**400, 253_402_300_799.0), (float("nan"), 0.0), (None, None)]
)
def test_times_that_no_calendar_has_are_cut(raw: bytes, keys: Keys, iat: object, expected: float | None) -> None:
    """Whoever shows them need not fear them."""
    assert _open(with_claims(raw, keys, iat=iat), keys).signed.issued_at == expected


def test_a_bundle_without_a_manifest_is_refused(keys: Keys) -> None:
    """It has no revision, so nobody can tell which is newer."""
    files = {"policy.rego": b"package a"}
    signed = sign(files, keys.signing, algorithm="ES256", key_id="k", scope="", now=START)
    with pytest.raises(PolicyUnusable, match=r"\.manifest: manifest: is missing"):
        _open(write_archive({**files, ".signatures.json": signed}), keys)


def test_unpacked_files_are_for_nobody_else(tmp_path: Path, raw: bytes, keys: Keys) -> None:
    """In a folder of their own that did not exist before."""
    folder = tmp_path / "unpacked" / "here"
    _open(raw, keys).unpack(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(path.name for path in folder.iterdir()) == ["data.json", "policy.rego"]
    with pytest.raises(FileExistsError):
        _open(raw, keys).unpack(folder)
