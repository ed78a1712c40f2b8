"""`vault:MOUNT/PATH#FIELD`: one field of a secret in a Vault or an OpenBao. And the one login for all that is asked
of it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from adapters.base import Clock, Secret
from gateway.clients.vault import VaultClient
from gateway.clients.vault_answers import SecretFields, SecretPlace, VaultFailed
from gateway.credentials.base import Lent
from gateway.credentials.vault_cache import Lifetimes, SecretCache
from gateway.credentials.vault_check import VaultReport, examine
from gateway.credentials.vault_dynamic import DynamicLender
from gateway.credentials.vault_dynamic_check import examine_dynamic
from gateway.credentials.vault_leases import LeaseCounts, Leases
from gateway.credentials.vault_login import Login
from gateway.credentials.vault_places import Places, VaultPlace
from gateway.credentials.vault_replacing import replaced
from gateway.credentials.vault_secret import not_known, refusal_of, secret_of
from gateway.credentials.vault_session import VaultSession
from gateway.references import BadReference
from gateway.settings.vault import VaultSettings


class VaultStatus(NamedTuple):
    """For metrics and `health`: whether a server answered the last request, why not, and the token's time."""

    is_up: bool
    last_error: str
    """The name of a `Trouble` in lower case; empty when all is well."""
    token_seconds_left: float | None
    """None when there is no token or it does not end."""
    leases: LeaseCounts


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
        self.session = VaultSession(self._login)
        """Asks with this source's token, also for what is no credential."""
        self._dynamic = None
        if settings.dynamic is not None:
            leases = Leases(
                settings.dynamic,
                self.session,
                client,
                clock=clock,
                wait_seconds=settings.timeout_ms / 1000,
                is_current=self._login.holds,
            )
            self._dynamic = DynamicLender(settings, leases)

    async def start(self) -> None:
        """Log in, if a server can be asked now; otherwise the first call will. Raises nothing."""
        try:
            await self._login.token()
        except VaultFailed as failed:
            self.session.trouble = failed.trouble

    async def stop(self) -> None:
        """Give back every lease, forget every secret and the token, and close all connections."""
        await self._cache.close()
        if self._dynamic is not None:
            await self._dynamic.close()
        await self._login.stop()
        self._client.close()

    def status(self) -> VaultStatus:
        """How it stands, without asking anybody."""
        trouble = self.session.trouble
        is_up = trouble is None or not trouble.may_be_stale
        leases = self._dynamic.counts() if self._dynamic is not None else LeaseCounts(0, 0)
        return VaultStatus(is_up, trouble.name.lower() if trouble else "", self._login.seconds_left(), leases)

    async def resolve(self, tenant: str, name: str) -> Secret:
        """The field's value, from a server or from what was read a while ago."""
        place = self._place(tenant, name)
        try:
            held = await self._cache.get(place.secret, place.field)
        except VaultFailed as failed:
            trouble = failed.trouble
        else:
            return secret_of(held, place.field)
        raise refusal_of(trouble)

    async def again(self, tenant: str, name: str) -> Secret:
        """The field's value as a server has it now."""
        place = self._place(tenant, name)
        try:
            held = await self._cache.again(place.secret)
        except VaultFailed as failed:
            trouble = failed.trouble
        else:
            return secret_of(held, place.field)
        raise refusal_of(trouble)

    async def replace(self, tenant: str, name: str, old: Secret, new: str) -> bool:
        """Another value of the field, if it still is the old one; all other fields stay. KV version 1 has no
        check-and-set: there, what somebody else writes between our reading and our writing is lost.
        """
        place = self._place(tenant, name)
        try:
            return await replaced(self._read_anew, self._write, place, (old.reveal(), new))
        except VaultFailed as failed:
            trouble = failed.trouble
        raise refusal_of(trouble)

    async def lend(self, tenant: str, name: str, seconds: float) -> Lent:
        """A credential that a server makes, for the references of `vault-dynamic:` (see `DynamicLender`)."""
        if self._dynamic is None:
            raise not_known()
        return await self._dynamic.lend(tenant, name, seconds)

    async def check(self, references: Iterable[tuple[str, str]]) -> VaultReport:
        """What is wrong with these references; each is a tenant and a whole reference. Those of other schemes pass.

        No lease is taken for it. What was read for it is in the cache afterwards.
        """
        every = tuple(references)
        kept = await examine(every, self._places, self._cache, self._engine_version)
        made = await examine_dynamic(every, self._dynamic, self._capabilities)
        return VaultReport(kept.problems + made.problems, kept.warnings + made.warnings)

    def _place(self, tenant: str, name: str) -> VaultPlace:
        try:
            place = self._places.find(tenant, name)
        except BadReference:
            place = None
        if place is None:
            raise not_known()
        return place

    async def _read(self, place: SecretPlace) -> SecretFields:
        return await self.session.ask(lambda token: self._client.read(token, place))

    async def _write(self, place: SecretPlace, fields: SecretFields) -> None:
        write = self._client.write
        await self.session.ask(lambda token: write(token, place, fields.values, after=fields.version))
        self._cache.put(place, fields)

    async def _read_anew(self, place: SecretPlace) -> SecretFields:
        fields = await self._read(place)
        self._cache.put(place, fields)
        return fields

    async def _capabilities(self, namespace: str, paths: Sequence[str]) -> Mapping[str, frozenset[str]]:
        return await self.session.ask(lambda token: self._client.capabilities(token, namespace, paths))

    async def _engine_version(self, place: SecretPlace) -> int | None:
        return await self._client.engine_version(await self._login.token(), place.namespace, place.mount)
