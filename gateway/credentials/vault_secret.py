"""What a vault gave, or did not give, as a call gets it: secrets, or a refusal that names none."""

from typing import Any

import orjson

from adapters.base import Fault, Secret
from gateway.clients.vault_answers import Trouble
from gateway.credentials.vault_cache import Held
from gateway.errors import Reason, Refusal

_DOCUMENT = ""
"""Under this name, which no field has, the forms of a whole document are kept."""


def secrets_of(held: Held, field: str) -> tuple[Secret, ...]:
    """What the adapter gets, then all else that must not be found in what leaves. Raises `Refusal`."""
    if field:
        return (secret_of(held, field),)
    texts = {name: value for name, value in held.values.items() if isinstance(value, str) and value}
    if not texts:
        raise missing()
    fields = tuple(secret_of(held, name) for name in sorted(texts))
    document = orjson.dumps(texts, option=orjson.OPT_SORT_KEYS).decode()
    return (Secret(document, held.derived(_DOCUMENT)), *fields)


def secret_of(held: Held, field: str) -> Secret:
    """The field's value. Raises `Refusal` when it is no text."""
    value: Any = held.values.get(field)
    if value is None or value == "":
        raise missing()
    if not isinstance(value, str) or not _is_text(value):
        message = "The connection's credential cannot be used: it is not text."
        raise Refusal(Reason.CREDENTIAL_UNAVAILABLE, message, fault=Fault.MALFORMED)
    return Secret(value, held.derived(field))


def _is_text(value: str) -> bool:
    """Whether it can be sent: JSON can hold lone surrogates."""
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def refusal_of(trouble: Trouble) -> Refusal:
    """What a call is told when the vault gave nothing."""
    if trouble.fault is None:
        return missing()
    if trouble.may_be_stale:
        message = "The connection's credential cannot be read now; try again later."
        return Refusal(Reason.CREDENTIAL_UNAVAILABLE, message, fault=trouble.fault)
    message = "The gateway may not read the connection's credential; the operator can change that."
    return Refusal(Reason.CREDENTIAL_UNAVAILABLE, message, fault=trouble.fault)


def missing() -> Refusal:
    """There is no such credential."""
    return Refusal(Reason.CREDENTIAL_MISSING, "The connection's credential is not there.")


def not_known() -> Refusal:
    """The settings do not say where it would be."""
    message = "The gateway's settings know no place for the connection's credential; the operator can add it."
    return Refusal(Reason.CREDENTIAL_NOT_ALLOWED, message)
