"""What a Vault or OpenBao answers, and the closed set of ways in which it does not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, NamedTuple

import orjson

from adapters.base import Fault

LEASE_ID_CHARACTERS = 512


class Trouble(Enum):
    """Why there is no answer: what to say, how it failed, and whether what was read before may still be used."""

    UNREACHABLE = ("no server can be reached", Fault.RESET, True)
    UNTRUSTED = ("the server's certificate is not to be trusted", Fault.RESET, True)
    RESET = ("the connection broke", Fault.RESET, True)
    TIMEOUT = ("the server did not answer in time", Fault.TIMEOUT, True)
    MALFORMED = ("the answer cannot be read", Fault.MALFORMED, True)
    BUSY = ("the server takes no more requests now", Fault.ERROR, True)
    SEALED = ("the server is sealed, not set up or without a leader", Fault.ERROR, True)
    FAILED = ("the server failed", Fault.ERROR, True)
    DENIED = ("the server does not allow it", Fault.REFUSED, False)
    LOGIN_DENIED = (
        "the server does not accept the login; check its role and its secret",
        Fault.REFUSED,
        False,
    )
    NO_PROOF = ("the files that the gateway logs in with cannot be read", Fault.NOT_LOADED, False)
    REJECTED = ("the server does not understand the request", Fault.ERROR, False)
    ABSENT = ("there is no such thing", None, False)
    DELETED = ("it was deleted", None, False)

    def __init__(self, sentence: str, fault: Fault | None, may_be_stale: bool) -> None:
        self.sentence = sentence
        self.fault = fault
        self.may_be_stale = may_be_stale
        """Nobody said that the credential was taken away."""


class VaultFailed(Exception):  # noqa: N818 - named for what it is
    """The server did not give what was asked for. The text is one sentence for operators."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.sentence)
        self.trouble = trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultToken:
    """What a login yields."""

    value: str = field(repr=False)
    seconds: float
    """How long it lasts from now on; 0 when it never ends."""
    is_renewable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretPlace:
    """One secret of a KV engine."""

    namespace: str
    mount: str
    version: Literal[1, 2]
    path: str


class SecretFields(NamedTuple):
    """All that one secret holds. `seconds` is how long the server suggests to use it; 0 when it does not say.
    `version` is what a write is checked against; 0 when the engine counts none.
    """

    values: Mapping[str, Any]
    seconds: float
    version: int = 0

    def __repr__(self) -> str:
        return "SecretFields(…)"


class Lease(NamedTuple):
    """A credential that the server made, and takes back when so many seconds are over or when it is asked to."""

    id: str
    values: Mapping[str, Any]
    seconds: float
    """How long it lasts from now on; 0 when it never ends."""
    is_renewable: bool

    def __repr__(self) -> str:
        return f"Lease({self.id!r}, …)"


_STATUSES = {
    401: Trouble.DENIED,
    403: Trouble.DENIED,
    412: Trouble.FAILED,  # this server has not caught up yet
    429: Trouble.BUSY,
    472: Trouble.SEALED,
    473: Trouble.SEALED,
    501: Trouble.SEALED,
    503: Trouble.SEALED,
}


def trouble_of_status(status: int, body: bytes) -> Trouble:
    """What any status but 200 and 204 means."""
    if status == 404:
        return Trouble.DELETED if _tells_of_deletion(body) else Trouble.ABSENT
    if status in _STATUSES:
        return _STATUSES[status]
    if status >= 500:
        return Trouble.FAILED
    if status >= 400:
        return Trouble.REJECTED
    return Trouble.SEALED if status in (307, 308) else Trouble.MALFORMED  # a standby points at its leader


def _tells_of_deletion(body: bytes) -> bool:
    """Whether a 404 is about a version that was deleted or destroyed."""
    try:
        metadata = mapping_in(mapping_in(json_in(body).get("data")).get("metadata"))
    except VaultFailed:
        return False
    return bool(metadata.get("deletion_time")) or metadata.get("destroyed") is True


def json_in(body: bytes) -> Mapping[str, Any]:
    """The object in a body. Raises `VaultFailed`."""
    try:
        return mapping_in(orjson.loads(body))
    except orjson.JSONDecodeError:
        pass  # not chained: the error holds the body
    raise VaultFailed(Trouble.MALFORMED)


def mapping_in(value: Any) -> Mapping[str, Any]:
    """The value, when it is an object. Raises `VaultFailed`."""
    if not isinstance(value, dict):
        raise VaultFailed(Trouble.MALFORMED)
    return value


def token_in(answer: Mapping[str, Any]) -> VaultToken:
    """The token in the answer to a login or a renewal. Raises `VaultFailed`."""
    auth = mapping_in(answer.get("auth"))
    token = auth.get("client_token")
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
        raise VaultFailed(Trouble.MALFORMED)
    seconds = seconds_in(auth.get("lease_duration"))
    return VaultToken(value=token, seconds=seconds, is_renewable=auth.get("renewable") is True)


def lease_in(answer: Mapping[str, Any]) -> Lease:
    """The lease in the answer to whoever asked for a credential, or for more of its time. Raises `VaultFailed`."""
    lease_id = answer.get("lease_id")
    if not isinstance(lease_id, str) or not 0 < len(lease_id) <= LEASE_ID_CHARACTERS or not lease_id.isprintable():
        raise VaultFailed(Trouble.MALFORMED)
    return Lease(
        id=lease_id,
        values=mapping_in(answer.get("data") or {}),
        seconds=seconds_in(answer.get("lease_duration")),
        is_renewable=answer.get("renewable") is True,
    )


def fields_in(answer: Mapping[str, Any]) -> SecretFields:
    """The newest version of a secret of KV version 2. Raises `VaultFailed`."""
    data = mapping_in(answer.get("data"))
    version = mapping_in(data.get("metadata") or {}).get("version")
    return SecretFields(mapping_in(data.get("data")), 0.0, _counted(version))


def text_in(answer: Mapping[str, Any], name: str) -> str:
    """A text among the data of an answer. Raises `VaultFailed`."""
    value = mapping_in(answer.get("data")).get(name)
    if not isinstance(value, str) or not value:
        raise VaultFailed(Trouble.MALFORMED)
    return value


def seconds_in(value: Any) -> float:
    """A length of time as servers give it; 0 when there is none."""
    return float(_counted(value))


def _counted(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
