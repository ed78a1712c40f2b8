"""A transit engine's answers, good and bad. The good ones of a real server are in tests/contract/test_signer.py."""

import base64
from typing import Any

import pytest

from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.clients.vault_signatures import (
    SigningKey,
    SigningKeys,
    SigningVersion,
    signatures_in,
    signing_key_in,
    signing_keys_in,
)

PUBLIC = base64.b64encode(bytes(32)).decode()
SIGNATURE = base64.b64encode(bytes(64)).decode()


def _key(**changes: Any) -> dict[str, Any]:
    keys = {"1": {"public_key": "older"}, "2": {"public_key": PUBLIC}}
    return {"data": {"type": "ed25519", "latest_version": 2, "keys": keys, **changes}}


def _signed(*signatures: Any) -> dict[str, Any]:
    return {"data": {"batch_results": [{"signature": one} for one in signatures]}}


def test_the_newest_key_is_taken() -> None:
    """With its version."""
    assert signing_key_in(_key()) == SigningKey(2, bytes(32))


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (_key(type="rsa-2048"), Trouble.REJECTED),
        (_key(latest_version=None), Trouble.MALFORMED),
        (_key(latest_version=True), Trouble.MALFORMED),
        (_key(latest_version=3), Trouble.MALFORMED),
        (_key(keys={"2": {"public_key": "AAAA"}}), Trouble.MALFORMED),
        (_key(keys={"2": {"public_key": 7}}), Trouble.MALFORMED),
        ({}, Trouble.MALFORMED),
    ],
)
def test_what_is_no_signing_key_is_refused(answer: dict[str, Any], trouble: Trouble) -> None:
    """Before anything is signed by it."""
    with pytest.raises(VaultFailed) as caught:
        signing_key_in(answer)
    assert caught.value.trouble is trouble


MADE = "2026-01-01T00:00:00.123456789Z"


def _keys(**changes: Any) -> dict[str, Any]:
    """Eleven versions, of which three verify and one signs."""
    keys = {str(n): {"public_key": PUBLIC, "creation_time": MADE} for n in (11, 9, 10, 8)}
    usual = {"type": "ed25519", "keys": keys, "min_decryption_version": 9, "min_encryption_version": 11}
    return {"data": {**usual, **changes}}


def test_every_version_that_verifies_is_told_of() -> None:
    """By number and not by text, with when it was made and which may sign."""
    versions = tuple(SigningVersion(n, bytes(32), 1_767_225_600.123456) for n in (9, 10, 11))
    assert signing_keys_in(_keys()) == SigningKeys(versions, 11)


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (_keys(type="rsa-2048"), Trouble.REJECTED),
        (_keys(min_decryption_version=None), Trouble.MALFORMED),
        (_keys(min_encryption_version=True), Trouble.MALFORMED),
        (_keys(min_encryption_version=12), Trouble.MALFORMED),
        (_keys(keys={}), Trouble.MALFORMED),
        (_keys(keys={"1": {"public_key": PUBLIC, "creation_time": MADE}}), Trouble.MALFORMED),
        (_keys(keys={"x": {"public_key": PUBLIC, "creation_time": MADE}}), Trouble.MALFORMED),
        (_keys(keys={"9": {"public_key": "AAAA", "creation_time": MADE}}), Trouble.MALFORMED),
        (_keys(keys={"9": {"public_key": PUBLIC, "creation_time": "yesterday"}}), Trouble.MALFORMED),
        (_keys(keys={"9": {"public_key": PUBLIC, "creation_time": 7}}), Trouble.MALFORMED),
        (_keys(keys={"9": {"public_key": PUBLIC}}), Trouble.MALFORMED),
        (_keys(keys={"9": 1_767_225_600}), Trouble.MALFORMED),
        ({}, Trouble.MALFORMED),
    ],
)
def test_what_is_no_set_of_signing_keys_is_refused(answer: dict[str, Any], trouble: Trouble) -> None:
    """Of a symmetric key each version is a number."""
    with pytest.raises(VaultFailed) as caught:
        signing_keys_in(answer)
    assert caught.value.trouble is trouble


def test_signatures_come_in_order() -> None:
    """As many as were asked for."""
    assert signatures_in(_signed(f"vault:v2:{SIGNATURE}"), 2, 1) == [bytes(64)]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        _signed(),
        _signed(None),
        _signed(f"vault:v1:{SIGNATURE}"),
        _signed("vault:v2:AAAA"),
        _signed("vault:v2:!!"),
        {"data": {"batch_results": [{"error": ""}]}},
    ],
)
def test_anything_else_is_no_signature(answer: dict[str, Any]) -> None:
    """Of another version, too short, or an error in its place."""
    with pytest.raises(VaultFailed) as caught:
        signatures_in(answer, 2, 1)
    assert caught.value.trouble is Trouble.MALFORMED


def test_a_no_to_one_is_heard() -> None:
    """The engine says it with status 200, in the signature's place; its words go nowhere."""
    with pytest.raises(VaultFailed) as caught:
        signatures_in({"data": {"batch_results": [{"signature": f"vault:v2:{SIGNATURE}"}, {"error": "too old"}]}}, 2, 2)
    assert caught.value.trouble is Trouble.REJECTED
    assert "too old" not in str(caught.value)
