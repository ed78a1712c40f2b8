"""Signing by a key file, and what happens to it while the gateway runs."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from fakes.clock import FakeClock

from adapters.base import Fault
from gateway.assertions.base import NotSigned
from gateway.assertions.key_file import FileSigner, make_key
from gateway.errors import StartError

CLAIMS = b'{"sub":"helper-1"}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A key file."""
    make_key(tmp_path / "assertions.pem", bytes(32))
    return tmp_path / "assertions.pem"


def _signer(path: Path, clock: FakeClock) -> FileSigner:
    return FileSigner(path, clock.monotonic, keep_seconds=120)


def _other(path: Path, seed: bytes = bytes([1]) * 32) -> None:
    """Another key in the file's place, as whoever rotates it puts it there."""
    new = path.with_name("new.pem")
    make_key(new, seed)
    new.replace(path)


def _put(path: Path, content: bytes) -> None:
    """This in the file's place, as an editor puts it there."""
    path.write_bytes(content)


async def _kid(signer: FileSigner) -> str:
    kid: str = jwt.get_unverified_header(await signer.sign(CLAIMS))["kid"]
    return kid


def test_a_key_is_made_for_its_owner_alone_and_never_written_over(tmp_path: Path) -> None:
    """In PEM, as other tools read it."""
    path = tmp_path / "new" / "assertions.pem"
    key = make_key(path, bytes(32))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    assert len(key.raw) == 32
    with pytest.raises(StartError, match="name a file that is new"):
        make_key(path, bytes(32))


async def test_it_signs_by_the_key_that_it_hands_out(path: Path) -> None:
    """And by no other."""
    signer = _signer(path, FakeClock())
    await signer.start()
    (key,) = signer.keys()
    token = await signer.sign(CLAIMS)
    assert jwt.get_unverified_header(token)["kid"] == key.kid
    assert jwt.api_jws.decode(token, jwt.PyJWK(key.jwk()).key, algorithms=["EdDSA"]) == CLAIMS
    await signer.stop()


def _encrypted() -> bytes:
    private = ec.generate_private_key(ec.SECP256R1())
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"hunter2"))


def _of(private: ec.EllipticCurvePrivateKey | ed448.Ed448PrivateKey) -> bytes:
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _public() -> bytes:
    public = ed448.Ed448PrivateKey.generate().public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lambda: b"", "holds no private key in PEM"),
        (lambda: b"secret-words", "holds no private key in PEM"),
        (lambda: b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "holds no private key in PEM"),
        (_public, "holds no private key in PEM"),
        (_encrypted, "is encrypted"),
        (lambda: _of(ec.generate_private_key(ec.SECP256R1())), "is not an Ed25519 key"),
        (lambda: _of(ed448.Ed448PrivateKey.generate()), "is not an Ed25519 key"),
        (lambda: b"x" * 20_000, "is larger than"),
    ],
)
async def test_what_is_no_key_stops_the_start(path: Path, content: Callable[[], bytes], words: str) -> None:
    """In one sentence that says what to do and holds nothing of the file."""
    _put(path, content())
    with pytest.raises(StartError, match=words) as caught:
        await _signer(path, FakeClock()).start()
    assert "tollhouse assertions make-key" in caught.value.message
    assert "secret-words" not in caught.value.message


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o644])
def test_a_key_that_everybody_may_touch_stops_the_start(path: Path, mode: int) -> None:
    """With what mends it."""
    path.chmod(mode)
    with pytest.raises(StartError, match="chmod 0600"):
        asyncio.run(_signer(path, FakeClock()).start())


async def test_a_missing_key_says_how_to_make_one(tmp_path: Path) -> None:
    """Not only that it is missing."""
    with pytest.raises(StartError, match=r"No such file.*make one with: tollhouse assertions make-key"):
        await _signer(tmp_path / "none.pem", FakeClock()).start()


async def test_another_file_signs_within_a_second_and_the_former_key_stays_published_for_a_while(path: Path) -> None:
    """Until everything that it signed is over."""
    clock = FakeClock()
    signer = _signer(path, clock)
    await signer.start()
    (former,) = signer.keys()
    _other(path)
    clock.advance(1.0)
    assert await _kid(signer) != former.kid
    new = signer.keys()[0]
    assert signer.keys() == (new, former)
    clock.advance(119.0)
    assert signer.keys() == (new, former)
    clock.advance(1.5)
    assert signer.keys() == (new,)


async def test_a_key_that_comes_back_is_published_once(path: Path) -> None:
    """As the one that signs."""
    clock = FakeClock()
    signer = _signer(path, clock)
    await signer.start()
    (former,) = signer.keys()
    _other(path)
    clock.advance(1.0)
    new = signer.keys()[0]
    _other(path, bytes(32))
    clock.advance(1.0)
    assert signer.keys() == (former, new)


async def test_without_a_usable_file_nothing_is_signed_until_there_is_one(path: Path) -> None:
    """What was signed before still verifies for a while."""
    clock = FakeClock()
    signer = _signer(path, clock)
    await signer.start()
    (key,) = signer.keys()
    _put(path, b"garbage of somebody")
    clock.advance(1.0)
    with pytest.raises(NotSigned, match="holds no private key in PEM") as caught:
        await signer.sign(CLAIMS)
    assert caught.value.fault is Fault.NOT_LOADED
    assert signer.keys() == (key,)
    _other(path)
    clock.advance(1.0)
    assert await _kid(signer) == signer.keys()[0].kid != key.kid
