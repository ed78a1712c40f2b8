"""Signatures are an HMAC over exactly what came, under a secret that is one."""

import hashlib
import hmac
import math

import pytest

from adapters.base import Secret
from adapters.transport.signatures import check_signature, check_window, prefixed, seconds_of
from adapters.webhooks import REPLAY_SECONDS, DeliveryRefused, Fault

GITHUB = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
"""What GitHub's documentation says that `Hello, World!` is signed with under its example secret."""
GITHUB_SECRET = "It's a Secret to Everybody"


def fault(message: bytes, signatures: list[str], *secrets: str) -> Fault | None:
    """Why a signature is refused; None when it is good."""
    try:
        check_signature(message, signatures, [Secret(one) for one in secrets])
    except DeliveryRefused as refusal:
        return refusal.fault
    return None


def signed(secret: bytes, message: bytes) -> str:
    """The signature of a message."""
    return hmac.new(secret, message, hashlib.sha256).hexdigest()


def test_the_example_of_github_is_good() -> None:
    """And one letter more is not."""
    assert fault(b"Hello, World!", [GITHUB], GITHUB_SECRET) is None
    assert fault(b"Hello, World!!", [GITHUB], GITHUB_SECRET) is Fault.FORGED


def test_one_good_signature_and_one_good_secret_are_enough() -> None:
    """Among others that are none, in any order."""
    assert fault(b"Hello, World!", ["0" * 64, "x", GITHUB], "", "another", GITHUB_SECRET) is None


def test_signatures_in_another_form_are_none() -> None:
    """Upper case, too short, too long, not hex, digits that are not ASCII."""
    for signature in (GITHUB.upper(), GITHUB[1:], f"{GITHUB}0", "g" * 64, "", "\u0661" * 64, f"{GITHUB}\n"):
        assert fault(b"Hello, World!", [signature], GITHUB_SECRET) is Fault.UNSIGNED
    assert fault(b"Hello, World!", [], GITHUB_SECRET) is Fault.UNSIGNED


def test_too_many_signatures_are_none() -> None:
    """Nobody has the gateway compare without end."""
    assert fault(b"Hello, World!", [*["0" * 64] * 15, GITHUB], GITHUB_SECRET) is None
    assert fault(b"Hello, World!", [*["0" * 64] * 16, GITHUB], GITHUB_SECRET) is Fault.UNSIGNED


@pytest.mark.parametrize("empty", ["", " ", "\t\n"])
def test_a_secret_that_is_empty_signs_nothing(empty: str) -> None:
    """However well the digests agree."""
    assert fault(b"body", [signed(empty.encode(), b"body")], empty) is Fault.FORGED
    assert fault(b"body", [signed(empty.encode(), b"body")]) is Fault.FORGED


def test_a_secret_that_was_dropped_signs_nothing() -> None:
    """It is as good as none."""
    secret = Secret("known")
    secret.drop()
    with pytest.raises(DeliveryRefused) as refused:
        check_signature(b"body", [signed(b"", b"body")], [secret])
    assert refused.value.fault is Fault.FORGED


def test_a_secret_may_be_any_text() -> None:
    """Umlauts count as UTF-8; half a character, which no vendor has, is no reason to fail."""
    assert fault(b"body", [signed("größer".encode(), b"body")], "größer") is None
    assert fault(b"body", [GITHUB], "\ud800") is Fault.FORGED


@pytest.mark.parametrize("apart", [0, REPLAY_SECONDS, -REPLAY_SECONDS, 0.5])
def test_a_moment_within_the_window_is_good(apart: float) -> None:
    """On both sides, and at its very end."""
    check_window(1_780_000_000.0 + apart, 1_780_000_000.0)


@pytest.mark.parametrize("apart", [REPLAY_SECONDS + 1, -REPLAY_SECONDS - 1, 1e12, -1e12, math.inf, -math.inf, math.nan])
def test_a_moment_outside_is_stale(apart: float) -> None:
    """Also one that is no number, on either side."""
    for moment, now in ((1_780_000_000.0 + apart, 1_780_000_000.0), (1_780_000_000.0, 1_780_000_000.0 + apart)):
        with pytest.raises(DeliveryRefused) as refused:
            check_window(moment, now)
        assert refused.value.fault is Fault.STALE


def test_a_time_that_is_signed_is_whole_seconds() -> None:
    """In digits, and in nothing else that Python would take for a number."""
    assert seconds_of("1780000000") == 1_780_000_000
    for stamp in ("", "-1", "+1", " 1", "1.5", "1e9", "1_000", "nan", "inf", "\u0661\u0662", "1" * 13, "0x1f"):
        with pytest.raises(DeliveryRefused) as refused:
            seconds_of(stamp)
        assert refused.value.fault is Fault.UNSIGNED


def test_a_header_has_its_scheme_in_front() -> None:
    """Exactly so, or there is no signature in it."""
    assert prefixed("sha256=abc", "sha256=") == ["abc"]
    assert prefixed("SHA256=abc", "sha256=") == prefixed("abc", "sha256=") == prefixed("", "sha256=") == []
