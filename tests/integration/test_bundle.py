"""Bundles are OPA's own: what one makes the other takes, and both refuse the same."""

import base64
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from fakes.bundles import Keys, changed, signed_bundle
from fakes.clock import START
from fakes.opa import BUNDLE
from fakes.opa_bundles import RealOpa, binary, real_opa, until
from fakes.packs import ALLOW_ALL, BASE, DENY_ALL, document_json

from gateway.call import DecisionEffect
from gateway.clock import SystemClock
from gateway.policy.base import Engine, PolicyUnusable
from gateway.policy.bundle.build import Signing, build_bundle
from gateway.policy.bundle.canonical import file_digest
from gateway.policy.bundle.floor import FileFloor
from gateway.policy.bundle.manifest import make_revision
from gateway.policy.bundle.opened import open_bundle
from gateway.policy.bundle.source import BundleSource
from gateway.policy.candidate import Trials
from gateway.policy.embedded import EmbeddedEngine, packages_of
from gateway.policy.opa import OpaEngine
from gateway.policy.pack import read_pack
from gateway.policy.reload import ReloadingEngine
from gateway.settings.policy import BundleSettings, OpaSettings

DAY = 86400.0
ALGORITHMS = ["ES256", "ES384", "RS256", "PS256", "PS512"]
GUARDED = f"""default {DENY_ALL}

{ALLOW_ALL} if input.principal.tenant == "acme"
"""


def _keys(folder: Path, algorithm: str = "RS256") -> Keys:
    curve = ec.SECP384R1() if algorithm == "ES384" else ec.SECP256R1()
    key = ec.generate_private_key(curve) if algorithm.startswith("ES") else rsa.generate_private_key(65537, 2048)
    folder.mkdir(parents=True, exist_ok=True)
    keys = Keys(folder / "key.pem", folder / "key.pem.pub")
    keys.private_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    keys.public_file.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return keys


def _opa(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [binary(), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={}, timeout=30, check=False)


def _is_taken_by_opa(raw: bytes, folder: Path, keys: Keys, algorithm: str, *more: str) -> bool:
    file = folder / "checked.tar.gz"
    file.write_bytes(raw)
    verified = ("--verification-key", keys.public_file, "--signing-alg", algorithm, *more)
    return _opa("build", "--bundle", file, *verified, "--output", folder / "again.tar.gz").returncode == 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_opa_takes_what_was_built_here(tmp_path: Path, algorithm: str) -> None:
    """The built-in pack, with scope; by no other key, for no other scope, and not when anything was changed."""
    keys, pack = _keys(tmp_path / "keys", algorithm), read_pack([BASE])
    signing = Signing(key=keys.signing, algorithm=algorithm, scope="write")
    revision = make_revision(START, pack.revision)
    raw, _ = build_bundle(pack, packages_of(pack), revision=revision, signing=signing, now=START)
    assert _is_taken_by_opa(raw, tmp_path, keys, algorithm, "--scope", "write")
    assert not _is_taken_by_opa(raw, tmp_path, keys, algorithm)
    assert not _is_taken_by_opa(raw, tmp_path, _keys(tmp_path / "other", algorithm), algorithm, "--scope", "write")
    tampered = changed(raw, {"more.rego": b"package gateway.more"})
    assert not _is_taken_by_opa(tampered, tmp_path, keys, algorithm, "--scope", "write")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_opa_built_is_taken_here(tmp_path: Path, algorithm: str) -> None:
    """The same decisions come out of it as out of the folder; tampered it is refused."""
    keys = _keys(tmp_path / "keys", algorithm)
    revision, file = "20260101T000000Z-0123456789ab", tmp_path / "bundle.tar.gz"
    signed = ("--signing-key", keys.private_file, "--signing-alg", algorithm)
    built = _opa("build", "--bundle", BASE, *signed, "--revision", revision, "--output", file)
    assert built.returncode == 0, built.stderr
    bundle = open_bundle(file.read_bytes(), keys.signing.public, now=START)
    assert (bundle.manifest.revision, bundle.signed.algorithm) == (revision, algorithm)
    bundle.unpack(tmp_path / "unpacked")
    here, there = EmbeddedEngine(read_pack([tmp_path / "unpacked"])), EmbeddedEngine(read_pack([BASE]))
    for document in (document_json(), document_json(principal={"agent": "stranger"})):
        assert here.decide_now(document).effect is there.decide_now(document).effect
    with pytest.raises(PolicyUnusable, match="was changed"):
        open_bundle(changed(file.read_bytes(), {"data.json": b"{}"}), keys.signing.public, now=START)


HARD_JSON = (
    '{"\u00e9": "\u2028\u2029<&>\\u0000\\u001f\\u007f\\b\\f\\n\\r\\t\\/\\"\\\\",'
    '"\U0001f600": [1.0, 1e3, 1E+3, -0, -0.0, 0.1], "a": "\\ud83d\\ude00", "": [[], {}, null, true],'
    '"\uffff": {"big": 123456789012345678901234567890, "small": 1e-300}}'
)
HARD_YAML = """
plain: text
"quoted": "\\u2028 <&>"
numbers: [0, -1, 1.0, 1.50, 1e3, 1.0e+21, 1.0e-7, 0.00001, 123456789.125, 9007199254740991]
words: [true, false, null, ~, "yes", 'no', "2026-01-01"]
nested: {b: [{a: 1}], a: []}
empty:
folded: >
  one
  two
"""


def test_every_file_is_hashed_as_opa_hashes_it(tmp_path: Path) -> None:
    """Data of every awkward kind, the manifest, and bytes."""
    source = tmp_path / "source"
    (source / "yaml").mkdir(parents=True)
    (source / "json").mkdir()
    (source / "data.json").write_text(HARD_JSON, "utf-8")
    (source / "yaml" / "data.yaml").write_text(HARD_YAML, "utf-8")
    (source / "json" / "data.yml").write_text('{"a": 1.0}', "utf-8")
    (source / "policy.rego").write_bytes("package gateway.authz\n\n# é\r\nx := 1\n".encode())
    (source / ".manifest").write_text('{ "revision": "r1", "roots": [""], "metadata": {"n": 1.50} }')
    key = _keys(tmp_path / "keys").private_file
    signed = _opa("sign", "--signing-key", key, "--bundle", source, "--output-file-path", tmp_path)
    assert signed.returncode == 0, signed.stderr
    (token,) = json.loads((tmp_path / ".signatures.json").read_text())["signatures"]
    files = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))["files"]
    hashes = {Path(each["name"]).name: each["hash"] for each in files}
    paths = [path for path in source.rglob("*") if path.is_file()]
    assert {path.name: file_digest(path.name, path.read_bytes()) for path in paths} == hashes


@asynccontextmanager
async def _both(opa: RealOpa, folder: Path, keys: Keys) -> AsyncIterator[tuple[OpaEngine, ReloadingEngine]]:
    """The two engines, on one bundle service."""
    clock = SystemClock()
    url = f"http://127.0.0.1:{opa.service.port}/bundle.tar.gz"
    settings = BundleSettings(url=url, key_file=keys.public_file)
    floor = FileFloor(folder / "embedded" / "floor")
    source = BundleSource(settings, folder / "embedded", clock=clock, floor=floor)
    embedded = ReloadingEngine(source, clock=clock, try_out=Trials(max_ms=1000), reload_seconds=0.1)
    remote = OpaEngine(
        OpaSettings(url=opa.url, bundle=BUNDLE, poll_seconds=0.1),
        clock=clock,
        floor=FileFloor(folder / "opa" / "floor"),
    )
    await embedded.start()
    await remote.start()
    try:
        yield remote, embedded
    finally:
        await remote.stop()
        await embedded.stop()


async def _effect(engine: Engine) -> DecisionEffect:
    return (await engine.decide(document_json())).effect


async def test_one_bundle_service_serves_both_engines(tmp_path: Path) -> None:
    """A new bundle decides in both; a tampered one in neither, and the one before goes on in both."""
    keys = _keys(tmp_path / "keys")
    first, one = signed_bundle(tmp_path / "one", keys, GUARDED)
    second, two = signed_bundle(tmp_path / "two", keys, DENY_ALL, built_at=START + DAY)
    with real_opa(first, keys.public_file.read_text()) as opa:
        async with _both(opa, tmp_path / "state", keys) as engines:
            await until(lambda: all(engine.status().is_ready for engine in engines))
            opa.service.bundle = changed(second, {"policy.rego": f"package gateway.authz\n\n{ALLOW_ALL}".encode()})
            await until(lambda: all(engine.status().problem for engine in engines))
            for engine in engines:
                assert (engine.status().is_ready, engine.revision) == (True, one)
                assert await _effect(engine) is DecisionEffect.ALLOW
            opa.service.bundle = second
            await until(lambda: all(engine.revision == two for engine in engines))
            for engine in engines:
                assert await _effect(engine) is DecisionEffect.DENY
            embedded = engines[1]
            opa.service.bundle = first
            await until(lambda: "older" in embedded.status().problem)
            assert (embedded.revision, await _effect(embedded)) == (two, DecisionEffect.DENY)
