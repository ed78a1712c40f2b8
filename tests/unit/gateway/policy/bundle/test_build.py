"""What is in a bundle that was built here."""

import json
from pathlib import Path

import pytest
from fakes.bundles import Keys, write_keys
from fakes.clock import START
from fakes.packs import ALLOW_ALL, BASE, write_pack

from gateway.policy.base import PolicyUnusable
from gateway.policy.bundle.archive import read_archive
from gateway.policy.bundle.build import Signing, build_bundle, roots_of
from gateway.policy.bundle.opened import Bundle
from gateway.policy.embedded import packages_of
from gateway.policy.pack import Pack, read_pack


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    """Who signs."""
    return write_keys(tmp_path / "keys")


def _build(pack: Pack, keys: Keys, **how: str) -> tuple[bytes, Bundle]:
    signing = Signing(key=keys.signing, **how)
    return build_bundle(pack, packages_of(pack), revision="r1", signing=signing, now=START)


def test_the_built_in_pack_becomes_a_bundle(keys: Keys) -> None:
    """Its modules and data, and none of its tests."""
    pack = read_pack([BASE])
    _, bundle = _build(pack, keys)
    assert bundle.manifest.roots == ("gateway", "organisation")
    assert bundle.manifest.revision == "r1"
    assert json.loads(bundle.files["data.json"]) == pack.data
    assert {name: text for name, text in bundle.files.items() if name != "data.json"} == {
        path.name: path.read_bytes() for path in BASE.glob("*.rego") if not path.name.endswith("_test.rego")
    }


def test_the_archive_is_the_same_but_for_the_signature(keys: Keys) -> None:
    """Whoever builds the same policy at the same time can compare."""
    pack = read_pack([BASE])
    first, second = (read_archive(_build(pack, keys)[0]) for _ in range(2))
    assert first.keys() == second.keys()
    assert {name for name in first if first[name] != second[name]} <= {".signatures.json"}
    assert list(first) == sorted(first)


def test_several_folders_become_one_bundle(tmp_path: Path, keys: Keys) -> None:
    """Modules of the same name stay apart, and the data is merged."""
    one = write_pack(tmp_path / "one", ALLOW_ALL, '{"x": {"a": 1}}')
    two = write_pack(tmp_path / "two", "other := 1", '{"x": {"b": "é"}}')
    _, bundle = _build(read_pack([one, two]), keys)
    assert sorted(bundle.files) == ["0/policy.rego", "1/policy.rego", "data.json"]
    assert json.loads(bundle.files["data.json"]) == {"x": {"a": 1, "b": "é"}}


def test_the_signature_is_as_was_asked(tmp_path: Path, keys: Keys) -> None:
    """Key, scope and time; an algorithm that does not suit the key is refused."""
    pack = read_pack([write_pack(tmp_path / "policy", ALLOW_ALL)])
    _, bundle = _build(pack, keys, key_id="k7", scope="write")
    assert (bundle.signed.key_id, bundle.signed.scope, bundle.signed.issued_at) == ("k7", "write", START)
    for algorithm in ("HS256", "none", "RS256", "é"):
        with pytest.raises(PolicyUnusable, match="this key can by ES256"):
            _build(pack, keys, algorithm=algorithm)


def test_a_name_that_no_bundle_may_hold_is_refused(tmp_path: Path, keys: Keys) -> None:
    """Before anything is written."""
    folder = write_pack(tmp_path / "policy", ALLOW_ALL)
    (folder / "é.rego").write_text("package gateway.more")
    with pytest.raises(PolicyUnusable, match="use plain ASCII"):
        _build(read_pack([folder]), keys)


def test_roots_cover_rules_and_data(tmp_path: Path) -> None:
    """The first part of each, once."""
    pack = read_pack([write_pack(tmp_path, ALLOW_ALL, '{"gateway": {"limits": 1}, "b": 1}')])
    assert roots_of(pack, ["data.gateway.authz", "data.a.b"]) == ["a", "b", "gateway"]
