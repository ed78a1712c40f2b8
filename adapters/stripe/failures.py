"""What Stripe's errors mean, by its own codes. See https://docs.stripe.com/error-codes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.transport.replies import Reply, Words, by_status
from adapters.transport.values import mapping, part, word

WAIT_SECONDS = 1.0
"""After a 429: Stripe seldom says how long, and counts by the second."""


class Meaning(NamedTuple):
    """What an error is for an agent."""

    kind: ErrorKind
    message: str
    happened: Happened | None = None
    """None: what the status says."""


_BUSY = Meaning(
    ErrorKind.RATE_LIMITED,
    "Something else at the vendor works on this very object at the moment; ask again in a few seconds.",
)
_REAUTHORISE = Meaning(
    ErrorKind.NEEDS_AUTHORISATION,
    "The vendor does not take the connection's key any more; its operator has to put another in its place.",
)
_OTHER_MODE = Meaning(
    ErrorKind.FORBIDDEN,
    "The connection's key is of the vendor's test mode and this is not, or the other way round; ask an operator.",
)
_DISPUTED = Meaning(
    ErrorKind.CONFLICT,
    "The customer's bank has taken this payment back in a dispute, so it cannot be refunded; leave it to a person.",
)
_CODES: Mapping[str, Meaning] = {
    "resource_missing": Meaning(
        ErrorKind.NOT_FOUND, "The vendor knows nothing by this id in this account; look the id up again."
    ),
    "charge_already_refunded": Meaning(
        ErrorKind.CONFLICT, "All of this payment has been refunded before; read the payment and refund nothing more."
    ),
    "charge_disputed": _DISPUTED,
    "refund_disputed_payment": _DISPUTED,
    "amount_too_large": Meaning(
        ErrorKind.INVALID, "`amount_minor` is more than the vendor takes here; read the payment for what is left of it."
    ),
    "amount_too_small": Meaning(ErrorKind.INVALID, "`amount_minor` is less than the vendor takes; name a larger one."),
    "invalid_charge_amount": Meaning(ErrorKind.INVALID, "The vendor does not take this `amount_minor`; name another."),
    "invalid_charge_amount_no_decimal_compatible": Meaning(
        ErrorKind.INVALID, "In this currency `amount_minor` must be a multiple of 100; round it."
    ),
    "balance_insufficient": Meaning(
        ErrorKind.CONFLICT,
        "The account's balance does not cover this at the moment; read the balance and leave it to a person.",
    ),
    "payment_intent_unexpected_state": Meaning(
        ErrorKind.CONFLICT, "The payment's state does not allow this; read the payment first."
    ),
    "idempotency_key_in_use": Meaning(
        ErrorKind.CONFLICT,
        "The vendor still works on an earlier attempt of this very call; ask what became of it later.",
        Happened.UNKNOWN,
    ),
    "lock_timeout": _BUSY,
    "api_key_expired": _REAUTHORISE,
    "platform_api_key_expired": _REAUTHORISE,
    "secret_key_required": _REAUTHORISE,
    "livemode_mismatch": _OTHER_MODE,
    "testmode_charges_only": _OTHER_MODE,
    "account_invalid": Meaning(
        ErrorKind.FORBIDDEN, "The connection's account at the vendor is closed to its key; ask an operator."
    ),
}
_REUSED_KEY = Meaning(
    ErrorKind.CONFLICT,
    "An earlier attempt under this call's key said something else to the vendor; look at what is there before more.",
    Happened.UNKNOWN,
)
_DECLINED = Meaning(
    ErrorKind.CONFLICT, "The customer's bank or card does not take this; read the payment and leave it to a person."
)
_LATER = Meaning(ErrorKind.UNAVAILABLE, "The customer's bank cannot be asked at the moment; try again later.")
_PASSING = frozenset({"issuer_not_available", "processing_error", "reenter_transaction", "try_again_later"})
"""Declines, and one code of a card error, that pass by themselves."""
_ARGUMENTS: Mapping[str, str] = {
    "amount": "amount_minor",
    "charge": "payment",
    "payment_intent": "payment",
    "id": "id",
    "customer": "customer",
    "email": "email",
    "limit": "limit",
    "reason": "reason",
    "status": "status",
    "starting_after": "cursor",
}
"""By Stripe's name of a parameter: ours."""
_WORDS: Words = {
    402: (ErrorKind.CONFLICT, "The vendor took the arguments and yet could not do this; read the payment first."),
    403: (
        ErrorKind.FORBIDDEN,
        "The connection's key lacks the permission for this at the vendor; an operator can extend a restricted key.",
    ),
    409: (ErrorKind.CONFLICT, "The vendor was changing the same thing at that moment; read it again, then try again."),
    424: (ErrorKind.UNAVAILABLE, "A bank or network behind the vendor cannot be reached; try again later."),
}
_KEPT_FAILURE = (
    "The vendor keeps the failure of the first attempt and repeats it; look for the refund before a new call."
)

_NO_USE = "The vendor failed and says that asking again is no use; look at what is there before a new call."


def judge(reply: Reply) -> AdapterError | None:
    """The error that an answer is; None for a 2xx."""
    if 200 <= reply.status < 300:
        return None
    meaning = _meaning(part(mapping(reply.value), "error"), reply.status) if reply.status < 500 else None
    if meaning is not None:
        wait = _wait(reply) if meaning.kind is ErrorKind.RATE_LIMITED else None
        return reply.error(meaning.kind, meaning.message, happened=meaning.happened, wait=wait)
    if reply.status >= 500 and (words := _final(reply.headers)):
        return reply.error(ErrorKind.UNAVAILABLE, words)
    error = by_status(reply, _WORDS)
    if error is not None and reply.status == 429:
        error.retry_after_seconds = _wait(reply)
    return error


def _final(headers: Mapping[str, str]) -> str:
    """Why a failure will stay one, however often it is asked for; empty when it may pass."""
    if headers.get("Idempotent-Replayed") == "true":
        return _KEPT_FAILURE
    return _NO_USE if headers.get("Stripe-Should-Retry") == "false" else ""


def _wait(reply: Reply) -> float:
    return WAIT_SECONDS if reply.retry_after_seconds is None else reply.retry_after_seconds


def _meaning(error: Mapping[str, Any], status: int) -> Meaning | None:
    """By its code; else by its type; else, of a 400, by the argument that it is about."""
    kind, code = word(error, "type"), word(error, "code")
    if code in _CODES:
        return _CODES[code]
    if kind == "idempotency_error":
        return _REUSED_KEY
    if kind == "card_error":
        return _LATER if {code, word(error, "decline_code")} & _PASSING else _DECLINED
    name = _ARGUMENTS.get(word(error, "param").partition("[")[0])
    if status == 400 and kind == "invalid_request_error" and (name or code.startswith("parameter")):
        what = f"`{name}`" if name else "one of the arguments"
        return Meaning(ErrorKind.INVALID, f"The vendor does not take {what} as it is; check it and try again.")
    return None
