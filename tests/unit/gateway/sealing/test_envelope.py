"""The form of what is sealed."""

import secrets

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gateway.sealing.envelope import KEY_BYTES, NONCE_BYTES, new_key, place_data, seal, unseal
from gateway.store.sealing import SealBroken

CIPHER = AESGCM(bytes(range(32)))
HEADER, BOUND = b"\x01header", place_data("acme", "calls/1")


def test_no_byte_can_be_changed_left_out_or_added() -> None:
    """The header's are covered too."""
    sealed = seal(CIPHER, HEADER, BOUND, b"private", secrets.token_bytes)
    assert unseal(CIPHER, HEADER, BOUND, sealed) == b"private"
    for index in range(len(sealed)):
        for changed in (
            sealed[:index] + bytes([sealed[index] ^ 1]) + sealed[index + 1 :],
            sealed[:index] + sealed[index + 1 :],
            sealed[:index],
        ):
            with pytest.raises(SealBroken) as caught:
                unseal(CIPHER, changed[: len(HEADER)], BOUND, changed)
            assert caught.value.__context__ is None
    with pytest.raises(SealBroken):
        unseal(CIPHER, HEADER, BOUND, sealed + b"\x00")


def test_no_nonce_is_used_twice() -> None:
    """Each is drawn anew."""
    sealed = {seal(CIPHER, b"", BOUND, b"", secrets.token_bytes)[:NONCE_BYTES] for _ in range(1000)}
    assert len(sealed) == 1000


def test_places_that_could_run_into_each_other_are_written_apart() -> None:
    """By the length of the tenant's name."""
    names = ["", "a", "ab", "a\x00", "\x00", "ä"]
    written = {place_data(tenant, place) for tenant in names for place in names}
    assert len(written) == len(names) ** 2


def test_a_new_key_is_as_long_as_the_cipher_takes() -> None:
    """And another every time."""
    assert len(new_key()) == KEY_BYTES
    assert new_key() != new_key()
