"""The signature of a bundle: one JSON Web Token over the digest of every file (OPA's `.signatures.json`).

What a key may be used for follows from the key and never from the token: no token can choose `none`, or make a
public key into a shared secret.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from gateway.policy.bundle.archive import SIGNATURES, plain_name
from gateway.policy.bundle.canonical import SHA256, file_digest, strict_json
from gateway.policy.bundle.problem import unusable

DEFAULT_KEY_ID = "default"
"""The name that OPA gives a key when nobody names it."""
MIN_RSA_BITS = 2048
MAX_KEY_BYTES = 64 * 1024
MAX_SIGNATURE_BYTES = 4 * 1024 * 1024
"""More than the longest names of as many files as an archive may hold come to. It is read before it is trusted."""

_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_LAST_SECOND = 253_402_300_799.0
"""9999-12-31T23:59:59Z: nothing can be told of later times."""
_PLUGINS = (None, "", "_default")
_ONLY_SIGNATURE: Any = {f"verify_{claim}": False for claim in ("aud", "iss", "sub", "jti", "exp", "nbf", "iat")}
"""Of the claims we judge those that OPA knows, and the times, ourselves."""

PublicPem = ec.EllipticCurvePublicKey | rsa.RSAPublicKey
PrivatePem = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyingKey:
    """A public key, and the algorithms that it may be used with; its own first."""

    key: PublicPem = field(repr=False)
    algorithms: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """`SHA256:` and hex over the key, to tell keys apart."""
        der = self.key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return f"SHA256:{hashlib.sha256(der).hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A private key with its public half."""

    key: PrivatePem = field(repr=False)
    public: VerifyingKey


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHash:
    """What was signed of one file."""

    digest: str
    algorithm: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A good signature: who made it, when, and over what."""

    files: Mapping[str, FileHash]
    key_id: str
    algorithm: str
    scope: str
    issued_at: float | None


def sign(files: Mapping[str, bytes], key: SigningKey, *, algorithm: str, key_id: str, scope: str, now: float) -> bytes:
    """The signature file over these files. Raises `PolicyUnusable`."""
    hashes = [{"name": name, "hash": file_digest(name, files[name]), "algorithm": SHA256} for name in sorted(files)]
    payload: dict[str, Any] = {"files": hashes, "keyid": key_id, "iat": int(now)}
    if scope:
        payload["scope"] = scope
    token = jwt.encode(payload, key.key, algorithm=algorithm, headers={"kid": key_id})
    return json.dumps({"signatures": [token]}).encode()


def verify(content: bytes | None, key: VerifyingKey, *, scope: str, now: float) -> Signed:
    """What the signature file says, once its one token was verified. Raises `PolicyUnusable`."""
    if content is None:
        raise _refused("the bundle is not signed; build it with `tollhouse policy bundle build`")
    token = _token(content)
    try:
        payload = jwt.decode(token, key.key, algorithms=list(key.algorithms), options=_ONLY_SIGNATURE)
        header = jwt.get_unverified_header(token)
    # What the library was not made for, such as a number beyond 64 bits or nesting without end.
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise _refused("the signature is not by the key that must have signed") from error
    _check_times(payload, now)
    if payload.get("scope", "") != scope:
        raise _refused("the bundle was signed for another scope")
    return Signed(
        files=_files(payload.get("files")),
        key_id=str(header.get("kid") or payload.get("keyid") or ""),
        algorithm=str(header["alg"]),
        scope=scope,
        issued_at=_seconds(payload, "iat"),
    )


def read_verifying_key(path: Path) -> VerifyingKey:
    """The public key in a PEM file. Raises `PolicyUnusable`."""
    return verifying_key(key_bytes(path), str(path))


def read_signing_key(path: Path) -> SigningKey:
    """The private key in a PEM file. Raises `PolicyUnusable`."""
    raw = key_bytes(path)
    key = _loaded(lambda: load_pem_private_key(raw, password=None), str(path), "private key without a password")
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise unusable("key", "must be an RSA or an elliptic curve key", file=str(path))
    public = VerifyingKey(key=key.public_key(), algorithms=_algorithms(key.public_key(), str(path)))
    return SigningKey(key=key, public=public)


def make_signing_key() -> tuple[bytes, bytes]:
    """A new key for ES256: private half and public half, PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def key_bytes(path: Path) -> bytes:
    """What a key file holds. Raises `PolicyUnusable`."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_KEY_BYTES)
    except OSError as error:
        raise unusable("key", f"cannot be read: {error.strerror}", file=str(path)) from error


def verifying_key(raw: bytes, file: str) -> VerifyingKey:
    """The public key in a PEM text. Raises `PolicyUnusable`."""
    key = _loaded(lambda: load_pem_public_key(raw), file, "public key")
    if not isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
        raise unusable("key", "must be an RSA or an elliptic curve key", file=file)
    return VerifyingKey(key=key, algorithms=_algorithms(key, file))


def _loaded(load: Callable[[], K], file: str, what: str) -> K:
    """A key. What the library says is left out: it may know what stands in the file."""
    try:
        return load()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise unusable("key", f"holds no {what} in PEM", file=file) from None


def _algorithms(key: PublicPem, file: str) -> tuple[str, ...]:
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < MIN_RSA_BITS:
            raise unusable("key", f"has fewer than {MIN_RSA_BITS} bits", file=file)
        return _RSA
    if key.curve.name not in _CURVES:
        raise unusable("key", "is on a curve that OPA does not take; use P-256", file=file)
    return (_CURVES[key.curve.name],)


def _token(content: bytes) -> str:
    if len(content) > MAX_SIGNATURE_BYTES:
        raise _refused(f"is larger than {MAX_SIGNATURE_BYTES} bytes")
    try:
        said = strict_json(content)
    except (ValueError, RecursionError) as error:
        raise _refused("is not JSON") from error
    tokens = said.get("signatures") if isinstance(said, dict) else None
    if not isinstance(tokens, list) or len(tokens) != 1 or type(tokens[0]) is not str:
        raise _refused("must hold exactly one signature")
    if said.get("plugin") not in _PLUGINS:
        raise _refused("asks for a plugin; only OPA's own way to sign is taken")
    return tokens[0]


def _check_times(payload: Mapping[str, Any], now: float) -> None:
    """A signature may say for how long it may be taken. OPA does not look; a bundle in use stays in use."""
    expires_at, begins_at = _seconds(payload, "exp"), _seconds(payload, "nbf")
    if expires_at is not None and now >= expires_at:
        raise _refused("the signature has expired")
    if begins_at is not None and now < begins_at:
        raise _refused("the signature is not valid yet")


def _seconds(payload: Mapping[str, Any], claim: str) -> float | None:
    value = payload.get(claim)
    if value is None:
        return None
    if type(value) not in (int, float):
        raise _refused(f"its claim {claim} is no time")
    return float(min(max(0.0, value), _LAST_SECOND))  # in this order no number at all is the first second


def _files(said: Any) -> dict[str, FileHash]:
    files: dict[str, FileHash] = {}
    for each in said if isinstance(said, list) else [None]:
        name, digest, algorithm = (_text(each, key) for key in ("name", "hash", "algorithm"))
        name = plain_name(name)
        if name in files:
            raise _refused("names a file twice")
        files[name] = FileHash(digest=digest, algorithm=algorithm)
    return files


def _text(said: Any, key: str) -> str:
    text = said.get(key) if isinstance(said, dict) else None
    if type(text) is not str:
        raise _refused("does not say what it signs")
    return text


def _refused(message: str) -> Exception:
    return unusable("signature", message, file=SIGNATURES)
