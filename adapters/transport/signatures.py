"""Whether a delivery is its vendor's: an HMAC over exactly what came, and how long ago it was made.

A secret that is empty signs nothing, however well the digests agree.
"""

import hmac
import re
from collections.abc import Sequence

from adapters.base import Secret
from adapters.webhooks import REPLAY_SECONDS, DeliveryRefused, Fault

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SECONDS = re.compile(r"[0-9]{1,12}")
_MAX_SIGNATURES = 16


def check_signature(message: bytes, signatures: Sequence[str], secrets: Sequence[Secret]) -> None:
    """Returns when one of the signatures is the message's HMAC-SHA256, in lower case hex, under one of the secrets.

    It takes the same time wherever they differ. Raises `DeliveryRefused`: unsigned when nothing has the form of a
    signature, or too much has; forged otherwise.
    """
    told = [bytes.fromhex(one) for one in signatures if _DIGEST.fullmatch(one)]
    if not 0 < len(told) <= _MAX_SIGNATURES:
        raise DeliveryRefused(Fault.UNSIGNED)
    is_good = False
    for key in _keys(secrets):
        expected = hmac.digest(key, message, "sha256")
        for signature in told:
            is_good |= hmac.compare_digest(expected, signature)
    if not is_good:
        raise DeliveryRefused(Fault.FORGED)


def check_window(seconds: float, received_at: float) -> None:
    """Returns when a moment is within the window around another. Raises `DeliveryRefused` (stale)."""
    if not abs(received_at - seconds) <= REPLAY_SECONDS:  # so written that a moment which is no number is outside
        raise DeliveryRefused(Fault.STALE)


def seconds_of(stamp: str) -> int:
    """A time that is signed as text, in seconds since the epoch. Raises `DeliveryRefused` (unsigned)."""
    if not _SECONDS.fullmatch(stamp):
        raise DeliveryRefused(Fault.UNSIGNED)
    return int(stamp)


def prefixed(header: str, prefix: str) -> list[str]:
    """The one signature of a header of the form `PREFIX…`; none when it has another form."""
    return [header.removeprefix(prefix)] if header.startswith(prefix) else []


def _keys(secrets: Sequence[Secret]) -> list[bytes]:
    """What can sign. Bytes that are no UTF-8 may have come as halves of characters, which are no reason to fail."""
    return [value.encode("utf-8", "surrogatepass") for secret in secrets if (value := secret.reveal()).strip()]
