"""What is kept of an account's access token in the store, sealed, and the lease of whoever asks for another one."""

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import orjson

from adapters.base import AdapterError, Clock, ErrorKind, Fault, Happened
from gateway.store import tokens
from gateway.store.columns import moment_of
from gateway.store.database import Database
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.sealing import Seal, SealBroken, SealDown

LEASE_SECONDS = 30.0
"""Longer than asking a vendor, and reading and writing a credential, can take. A killed replica's lasts so long."""
MOST_FORMER = 6
"""How many credentials before the newest are known to be the same account's."""


class Place(NamedTuple):
    """Where an account's token is: the connection of a tenant, and what it names as its credential now."""

    tenant: str
    connection: str
    reference: str
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An access token, what it was given for, and what the vendor gave in the credential's place."""

    token: str = field(default="", repr=False)
    expires_at: float = 0.0
    of: tuple[str, ...] = ()
    """Digests of the credentials that are one authorisation with the one it was given for, newest first."""
    replaces: str = ""
    """Digest of what the reference gave when the vendor gave `credential` instead; empty when it never did."""
    credential: str = field(default="", repr=False)
    is_owed: bool = False
    """`credential` is to be written where the reference leads."""
    version: int = 0

    def newest(self, source: str) -> str:
        """The credential to use when the reference gives this one."""
        return self.credential if self.credential and self.replaces == digest(source) else source


def digest(credential: str) -> str:
    """Tells credentials apart and nothing of them; kept sealed all the same."""
    return hashlib.sha256(credential.encode()).hexdigest()


class TokenRows:
    """The rows of all accounts. Every method raises `AdapterError` (unavailable) when the store or the seal is away."""

    def __init__(self, database: Database, seal: Seal, *, clock: Clock, new_holder: Callable[[], str]) -> None:
        """`new_holder` names who holds a lease, differently each time and in each replica."""
        self._database = database
        self._seal = seal
        self._clock = clock
        self._new_holder = new_holder

    async def look(self, place: Place) -> Kept:
        """What is kept now; nothing when there is no row, or it cannot be opened by any key that there is."""
        with _unavailable():
            async with self._database.tenant(place.tenant, is_read=True) as session:
                row = await tokens.find(session, place.connection)
            return await self._opened(place, row)

    async def take(self, place: Place) -> "Lease | None":
        """The lease, with what is kept; None while somebody else holds it."""
        holder, now = self._new_holder(), self._clock.now()
        until = moment_of(now + LEASE_SECONDS)
        with _unavailable():
            async with self._database.tenant(place.tenant) as session:
                row = await tokens.take(session, place.connection, holder, now=moment_of(now), until=until)
            if row is None:
                return None
            try:
                # Whoever cannot seal must not ask a vendor: what comes back could not be kept.
                await self._seal.seal(place.tenant, _of(place), b"")
                return Lease(holder, await self._opened(place, row))
            except BaseException:
                await self.release(place, holder)
                raise

    async def release(self, place: Place, holder: str) -> None:
        """The lease is over; by itself, when the store is away."""
        with contextlib.suppress(StoreDown, StoreRefused):
            async with self._database.tenant(place.tenant) as session:
                await tokens.release(session, place.connection, holder)

    async def keep(self, place: Place, kept: Kept) -> Kept | None:
        """The same as it is kept from now on; None when somebody else kept something meanwhile, which stays."""
        value = {"token": kept.token, "of": kept.of, "replaces": kept.replaces, "credential": kept.credential}
        with _unavailable():
            sealed = await self._seal.seal(place.tenant, _of(place), orjson.dumps(value))
            content = tokens.Content(sealed=sealed, expires_at=moment_of(kept.expires_at), is_owed=kept.is_owed)
            async with self._database.tenant(place.tenant) as session:
                is_kept = await tokens.keep(session, place.connection, content, after=kept.version)
        return replace(kept, version=kept.version + 1) if is_kept else None

    async def _opened(self, place: Place, row: tokens.TokenRow | None) -> Kept:
        if row is None or row.sealed is None or row.expires_at is None:
            return Kept(version=0 if row is None else row.version)
        try:
            value = orjson.loads(await self._seal.open(place.tenant, _of(place), row.sealed))
        except SealDown:
            raise
        except SealBroken:  # no key opens it any more: the account has to be authorised anew, or its token asked for
            return Kept(version=row.version)
        return Kept(
            token=value["token"],
            of=tuple(value["of"]),
            replaces=value["replaces"],
            credential=value["credential"],
            expires_at=row.expires_at.timestamp(),
            is_owed=row.is_owed,
            version=row.version,
        )


class Lease(NamedTuple):
    """The right to ask for a token, and what was kept when it was taken."""

    holder: str
    kept: Kept


def _of(place: Place) -> str:
    return f"access_tokens/{place.connection}"


@contextlib.contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    except (StoreDown, StoreRefused, SealBroken) as error:
        message = "The gateway cannot look after the connection's access token now; try again later."
        fault = error.fault if isinstance(error, StoreDown) else Fault.ERROR
        raise AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=fault) from error
