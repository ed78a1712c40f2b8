"""`vault:MOUNT/PATH#FIELD`: one field of a secret in a Vault or an OpenBao."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from adapters.base import Clock, Fault, Secret
from gateway.clients.vault import VaultClient
from gateway.clients.vault_answers import SecretFields, SecretPlace, Trouble, VaultFailed
from gateway.credentials.vault_cache import Held, Lifetimes, SecretCache
from gateway.credentials.vault_check import VaultReport, examine
from gateway.credentials.vault_login import Login
from gateway.credentials.vault_places import Places, VaultPlace
from gateway.errors import Reason, Refusal
from gateway.references import BadReference
from gateway.settings.vault import VaultSettings


class VaultStatus(NamedTuple):
    """For metrics and `health`: whether a server answered the last request, why not, and the token's time."""

    is_up: bool
    last_error: str
    """The name of a `Trouble` in lower case; empty when all is well."""
    token_seconds_left: float | None
    """None when there is no token or it does not end."""


class VaultSource:
    """Resolves by one login for all tenants. What it has read it uses for a while.

    The audit line tells its failures apart: `credential_missing` is "no such secret" (404); the reason
    `credential_unavailable` with the fault `refused` is "the server does not let us" (403, a refused login), with
    `not_loaded` "our own login's files are missing", and with `timeout`, `reset`, `malformed` or `error` it is a
    server that cannot answer.
    """

    def __init__(
        self, settings: VaultSettings, client: VaultClient, *, clock: Clock, chance: Callable[[], float]
    ) -> None:
        """The client becomes this source's own, to close. `chance` gives numbers from 0 to 1."""
        lifetimes = Lifetimes(
            cache_seconds=settings.cache_seconds,
            max_stale_seconds=settings.max_stale_seconds,
            wait_seconds=settings.timeout_ms / 1000,
        )
        self._client = client
        self._places = Places(settings)
        self._login = Login(settings.auth, client, clock=clock, chance=chance)
        self._cache = SecretCache(self._read, lifetimes, monotonic=clock.monotonic, chance=chance)
        self._trouble: Trouble | None = None

    async def start(self) -> None:
        """Log in, if a server can be asked now; otherwise the first call will. Raises nothing."""
        try:
            await self._login.token()
        except VaultFailed as failed:
            self._trouble = failed.trouble

    async def stop(self) -> None:
        """Forget every secret and the token, and close all connections."""
        await self._cache.close()
        await self._login.stop()
        self._client.close()

    def status(self) -> VaultStatus:
        """How it stands, without asking anybody."""
        trouble = self._trouble
        is_up = trouble is None or not trouble.may_be_stale
        return VaultStatus(is_up, trouble.name.lower() if trouble else "", self._login.seconds_left())

    async def resolve(self, tenant: str, name: str) -> Secret:
        """The field's value, from a server or from what was read a while ago."""
        place = self._place(tenant, name)
        try:
            held = await self._cache.get(place.secret, place.field)
        except VaultFailed as failed:
            trouble = failed.trouble
        else:
            return _secret_of(held, place.field)
        raise _refusal_of(trouble)

    async def check(self, references: Iterable[tuple[str, str]]) -> VaultReport:
        """What is wrong with these references; each is a tenant and a whole reference. Those of other schemes pass.

        What was read for it is in the cache afterwards.
        """
        return await examine(references, self._places, self._cache, self._engine_version)

    def _place(self, tenant: str, name: str) -> VaultPlace:
        try:
            place = self._places.find(tenant, name)
        except BadReference:
            place = None
        if place is None:
            message = "The gateway's settings know no place for the connection's credential; the operator can add it."
            raise Refusal(Reason.CREDENTIAL_NOT_ALLOWED, message)
        return place

    async def _read(self, place: SecretPlace) -> SecretFields:
        """The secret. A token that has died is replaced once, and the read done once more."""
        try:
            fields = await self._read_once_more(place)
        except VaultFailed as failed:
            self._trouble = failed.trouble if failed.trouble.fault is not None else None
            raise
        self._trouble = None
        return fields

    async def _read_once_more(self, place: SecretPlace) -> SecretFields:
        token = await self._login.token()
        try:
            return await self._client.read(token, place)
        except VaultFailed as failed:
            if failed.trouble is not Trouble.DENIED:
                raise
            other = await self._other_token(token)
            if other is None:
                raise
        try:
            return await self._client.read(other, place)
        except VaultFailed as failed:
            if failed.trouble is Trouble.DENIED:
                self._login.was_in_vain()
            raise

    async def _other_token(self, denied: str) -> str | None:
        """Another token, if the no was for this one. A server has said no: when none can say what for, it stands, lest
        what was taken away is used as if nobody had answered.
        """
        try:
            return await self._login.token_instead_of(denied)
        except VaultFailed as failed:
            if failed.trouble.may_be_stale:
                return None
            raise

    async def _engine_version(self, place: SecretPlace) -> int | None:
        return await self._client.engine_version(await self._login.token(), place.namespace, place.mount)


def _secret_of(held: Held, field: str) -> Secret:
    value = held.values.get(field)
    if value is None or value == "":
        raise _missing()
    if not isinstance(value, str) or not _is_text(value):
        message = "The connection's credential cannot be used: it is not text."
        raise Refusal(Reason.CREDENTIAL_UNAVAILABLE, message, fault=Fault.MALFORMED)
    return Secret(value, held.derived(field))


def _is_text(value: str) -> bool:
    """Whether it can be sent: JSON can hold lone surrogates."""
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def _refusal_of(trouble: Trouble) -> Refusal:
    if trouble.fault is None:
        return _missing()
    if trouble.may_be_stale:
        message = "The connection's credential cannot be read now; try again later."
        return Refusal(Reason.CREDENTIAL_UNAVAILABLE, message, fault=trouble.fault)
    message = "The gateway may not read the connection's credential; the operator can change that."
    return Refusal(Reason.CREDENTIAL_UNAVAILABLE, message, fault=trouble.fault)


def _missing() -> Refusal:
    return Refusal(Reason.CREDENTIAL_MISSING, "The connection's credential is not there.")
