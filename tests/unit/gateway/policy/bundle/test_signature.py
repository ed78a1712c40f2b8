"""Keys and signatures; that OPA makes and takes the same ones is tested against OPA itself."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from fakes.bundles import forged, write_keys
from fakes.clock import START

from gateway.policy.base import PolicyUnusable
from gateway.policy.bundle.signature import (
    SigningKey,
    read_signing_key,
    read_verifying_key,
    sign,
    verify,
    verifying_key,
)

FILES = {"a.rego": b"package a", "data.json": b"{}"}


def _key_file(folder: Path, key: object, password: bytes = b"") -> Path:
    assert isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey)
    lock = BestAvailableEncryption(password) if password else NoEncryption()
    path = folder / "key.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock))
    return path


def _signed(key: SigningKey, algorithm: str = "ES256", scope: str = "") -> bytes:
    return sign(FILES, key, algorithm=algorithm, key_id="k1", scope=scope, now=START)


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    """A key for ES256."""
    return write_keys(tmp_path).signing


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
def test_a_key_on_a_curve_has_one_algorithm(tmp_path: Path, curve: ec.EllipticCurve) -> None:
    """What it signed says who, when and what."""
    key = read_signing_key(_key_file(tmp_path, ec.generate_private_key(curve)))
    (algorithm,) = key.public.algorithms
    signed = verify(_signed(key, algorithm), key.public, scope="", now=START)
    assert (signed.key_id, signed.algorithm, signed.scope, signed.issued_at) == ("k1", algorithm, "", START)
    assert list(signed.files) == ["a.rego", "data.json"]


def test_an_rsa_key_has_six(tmp_path: Path) -> None:
    """Of both families; short keys are refused."""
    key = read_signing_key(_key_file(tmp_path, rsa.generate_private_key(65537, 2048)))
    for algorithm in ("RS256", "RS512", "PS256", "PS384"):
        assert verify(_signed(key, algorithm), key.public, scope="", now=START).algorithm == algorithm
    with pytest.raises(PolicyUnusable, match="fewer than 2048 bits"):
        read_signing_key(_key_file(tmp_path, rsa.generate_private_key(65537, 1024)))


@pytest.mark.parametrize("scope", [("", "write"), ("write", ""), ("write", "read")])
def test_the_scope_has_to_be_the_same(key: SigningKey, scope: tuple[str, str]) -> None:
    """Also when only one side names one."""
    assert verify(_signed(key, scope=scope[0]), key.public, scope=scope[0], now=START).scope == scope[0]
    with pytest.raises(PolicyUnusable, match="another scope"):
        verify(_signed(key, scope=scope[0]), key.public, scope=scope[1], now=START)


def test_no_token_chooses_its_algorithm(tmp_path: Path) -> None:
    """Not `none`, and not HMAC with the public key as the secret, which everybody knows."""
    keys = write_keys(tmp_path)
    token = _signed(keys.signing).decode().split('"')[3]
    for header, secret in (
        ({"alg": "none"}, None),
        ({"alg": "None"}, None),
        ({"alg": "HS256"}, keys.public_file.read_bytes()),
        ({"alg": "HS256"}, b""),
        ({"alg": "ES256"}, None),
        ({"alg": "ES384"}, None),
        ({}, None),
    ):
        content = f'{{"signatures": ["{forged(token, header, secret)}"]}}'.encode()
        with pytest.raises(PolicyUnusable, match="not by the key that must have signed"):
            verify(content, keys.signing.public, scope="", now=START)


def test_another_key_is_refused(tmp_path: Path, key: SigningKey) -> None:
    """Of the same kind or another."""
    for other in (
        write_keys(tmp_path / "other").signing,
        read_signing_key(_key_file(tmp_path, rsa.generate_private_key(65537, 2048))),
    ):
        with pytest.raises(PolicyUnusable, match="not by the key"):
            verify(_signed(key), other.public, scope="", now=START)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "the bundle is not signed"),
        (b"", "is not JSON"),
        (b"[]", "exactly one signature"),
        (b"{}", "exactly one signature"),
        (b'{"signatures": []}', "exactly one signature"),
        (b'{"signatures": ["a", "b"]}', "exactly one signature"),
        (b'{"signatures": [1]}', "exactly one signature"),
        (b'{"signatures": ["a"], "plugin": "mine"}', "plugin"),
        (b'{"signatures": ["a"]}', "not by the key"),
        (b'{"signatures": ["a.b.c"]}', "not by the key"),
        (b'{"signatures": ["' + b"." * 100_000 + b'"]}', "not by the key"),
        (b'{"signatures": [' + b"1," * (2 * 1024 * 1024) + b"1]}", "is larger than"),
    ],
)
def test_what_is_no_signature_is_refused(key: SigningKey, content: bytes | None, message: str) -> None:
    """Each in a sentence of its own."""
    with pytest.raises(PolicyUnusable, match=message):
        verify(content, key.public, scope="", now=START)


@pytest.mark.parametrize("text", ["", "hunter2", "-----BEGIN PUBLIC KEY-----\nhunter2\n-----END PUBLIC KEY-----\n"])
def test_what_is_no_key_is_refused_without_its_text(tmp_path: Path, text: str) -> None:
    """Neither the problem nor what it came from shows what stands in the file."""
    path = tmp_path / "key"
    path.write_text(text)
    for read in (read_signing_key, read_verifying_key):
        with pytest.raises(PolicyUnusable, match="holds no p") as caught:
            read(path)
        assert "hunter2" not in f"{caught.value}{caught.value.__cause__}"


def test_a_private_key_is_no_public_one(tmp_path: Path) -> None:
    """It has no business where bundles are verified; one with a password cannot be read."""
    with pytest.raises(PolicyUnusable, match="holds no public key"):
        read_verifying_key(write_keys(tmp_path).private_file)
    with pytest.raises(PolicyUnusable, match="private key without a password"):
        read_signing_key(_key_file(tmp_path, ec.generate_private_key(ec.SECP256R1()), password=b"hunter2"))
    with pytest.raises(PolicyUnusable, match="cannot be read: No such file"):
        read_signing_key(tmp_path / "nowhere")


def test_keys_that_opa_does_not_take_are_refused(tmp_path: Path) -> None:
    """Both engines take the same bundles."""
    edwards = ed25519.Ed25519PrivateKey.generate()
    with pytest.raises(PolicyUnusable, match="RSA or an elliptic curve"):
        read_signing_key(_key_file(tmp_path, edwards))
    with pytest.raises(PolicyUnusable, match="RSA or an elliptic curve"):
        verifying_key(edwards.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), "key")
    with pytest.raises(PolicyUnusable, match="use P-256"):
        read_signing_key(_key_file(tmp_path, ec.generate_private_key(ec.SECP256K1())))


def test_a_key_is_not_shown(key: SigningKey) -> None:
    """Its fingerprint tells it from others."""
    assert "key=<" not in repr(key)
    assert key.public.fingerprint.startswith("SHA256:")
