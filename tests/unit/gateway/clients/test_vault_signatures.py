"""A transit engine's answers, good and bad. The good ones of a real server are in tests/contract/test_signer.py."""

import base64
from typing import Any

import pytest

from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.clients.vault_signatures import SigningKey, signatures_in, signing_key_in

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
        {"data": {"batch_results": [{"error": "no"}]}},
    ],
)
def test_anything_else_is_no_signature(answer: dict[str, Any]) -> None:
    """Of another version, too short, or an error in its place."""
    with pytest.raises(VaultFailed) as caught:
        signatures_in(answer, 2, 1)
    assert caught.value.trouble is Trouble.MALFORMED
