"""Another access token for an account: asked for by one replica at a time, and kept for all before it is used.

The order is what keeps a credential from being lost. Whoever holds the lease reads the credential anew, for another
replica may have put one in its place. What the vendor gives in its place is kept sealed in the store first, then
written where the reference leads, and only then is its access token used.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from adapters.base import AdapterError, Clock, ErrorKind, Exchange, Fault, Grant, Happened, Secret
from gateway.credentials.token_rows import MOST_FORMER, Kept, Lease, Place, TokenRows, digest
from gateway.errors import Reason, Refusal

SPARE_SECONDS = 60.0
"""A token that is good for less than this is not used any more."""
EXCHANGE_SECONDS = 20.0
"""How long a vendor is waited for. The lease lasts longer."""
TURN_SECONDS = 60.0
"""How long another replica is waited for."""
_FIRST_LOOK_SECONDS, _LAST_LOOK_SECONDS = 0.05, 0.5
_ROUNDS = 3
"""How often the account may be authorised anew while a token is asked for."""
_TRIES = 3
_AGAIN_SECONDS = 0.2


class Credentials(Protocol):
    """Who reads and writes what a reference leads to; see `Resolver`."""

    async def again(self, tenant: str, reference: str, hosts: tuple[str, ...]) -> Secret | None:
        """The credential as it is now; None when it is made anew for every call. Raises `Refusal`."""
        ...

    def may_replace(self, reference: str) -> bool:
        """Whether it is somewhere that can be written."""
        ...

    async def replace(self, tenant: str, reference: str, hosts: tuple[str, ...], change: tuple[Secret, str]) -> bool:
        """Another in its place, if it is still the first of `change`; False when it is not. Raises `Refusal`."""
        ...


OnEvent = Callable[[str, Mapping[str, str]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a call needs."""

    place: Place
    lent: str = field(repr=False)
    """The credential that the call was lent; it may have been read a while ago."""
    refused: str = field(repr=False)
    """The access token that the vendor has just refused, if any."""
    exchange: Exchange = field(repr=False)


class Renewal:
    """Asks vendors for access tokens. Use it on one loop, for one account once at a time."""

    def __init__(
        self, rows: TokenRows, credentials: Callable[[], Credentials], *, clock: Clock, on_event: OnEvent
    ) -> None:
        """`credentials` are those that the settings of the moment allow."""
        self._rows = rows
        self._credentials = credentials
        self._clock = clock
        self._on_event = on_event
        self._unsaved: dict[tuple[str, str], Kept] = {}
        """What neither the store nor the reference's place would take: all that there is of it."""

    async def token(self, wish: Wish) -> Kept:
        """An access token that the vendor has not refused. Raises `AdapterError`."""
        found = await self._rows.look(wish.place)
        if self.fits(found, wish):
            return found
        turn = await self._turn(wish)
        if isinstance(turn, Kept):
            return turn
        try:
            return await self._renewed(wish, turn.kept)
        finally:
            await self._rows.release(wish.place, turn.holder)

    def fits(self, kept: Kept, wish: Wish, source: str | None = None) -> bool:
        """Whether it is the token of this authorisation, still good, and not the one that was refused."""
        of = digest(wish.lent if source is None else source)
        is_good = kept.expires_at - self._clock.now() > SPARE_SECONDS
        return is_good and of in kept.of and kept.token != wish.refused

    async def settle(self, place: Place) -> bool:
        """Write what is owed where the reference leads. Whether nothing is owed any more. Raises `AdapterError`."""
        lease = await self._rows.take(place)
        if lease is None:
            return False
        try:
            source = await self._source(place)
            return source is None or not lease.kept.is_owed or await self._is_settled(place, lease.kept, source)
        finally:
            await self._rows.release(place, lease.holder)

    async def _is_settled(self, place: Place, kept: Kept, source: str) -> bool:
        if kept.newest(source) != source and await self._written(place, kept, source) is None:
            return False
        # It is there, or somebody has authorised the account anew and nobody wants it any more.
        return await self._rows.keep(place, replace(kept, is_owed=False)) is not None

    async def _turn(self, wish: Wish) -> Lease | Kept:
        """The lease, or the token that another replica got meanwhile."""
        give_up_at, pause = self._clock.monotonic() + TURN_SECONDS, _FIRST_LOOK_SECONDS
        while (lease := await self._rows.take(wish.place)) is None:
            if self._clock.monotonic() >= give_up_at:
                raise _unavailable("Another gateway asks for the connection's access token; try again later.")
            await self._clock.sleep(pause)
            pause = min(pause * 1.5, _LAST_LOOK_SECONDS)
            found = await self._rows.look(wish.place)
            if self.fits(found, wish):
                return found
        return lease

    async def _renewed(self, wish: Wish, kept: Kept) -> Kept:
        """Under the lease."""
        for _ in range(_ROUNDS):
            source = await self._source(wish.place)
            source = wish.lent if source is None else source
            found: Kept | None = await self._found_again(wish.place, kept, source)
            if found is not None and self.fits(found, wish, source):
                return found
            if found is not None and (safe := await self._asked(wish, found, source)) is not None:
                return safe
            kept = await self._rows.look(wish.place)
        raise _unavailable("The connection is authorised anew at this moment; try again.")

    async def _found_again(self, place: Place, kept: Kept, source: str) -> Kept | None:
        """What is kept, or what could not be kept the last time and is now; None when the account was authorised anew.

        Raises `AdapterError` when it can still not be kept.
        """
        lost = self._unsaved.get(place[:2])
        if lost is None or lost.version != kept.version or lost.newest(source) == source:
            self._unsaved.pop(place[:2], None)
            return kept
        return await self._safe(place, lost, source)

    async def _asked(self, wish: Wish, kept: Kept, source: str) -> Kept | None:
        """What the vendor gave, safely kept; None when the account was authorised anew meanwhile."""
        used = kept.newest(source)
        grant = await _granted(wish.exchange, used)
        may_write = self._credentials().may_replace(wish.place.reference)
        after = following(kept, grant, source=source, used=used, is_owed=may_write)
        if grant.credential is None:
            return await self._saved(wish.place, after) or after  # nothing is lost with it but a question
        self._tell("credential_rotated", wish.place)
        return await self._safe(wish.place, after, source)

    async def _safe(self, place: Place, after: Kept, source: str) -> Kept | None:
        """The credential is in the store, or where the reference leads, or in both. Raises `AdapterError` else."""
        saved = await self._saved(place, after, is_forced=True)
        kept = after if saved is None else saved
        written = await self._written(place, kept, source) if kept.is_owed else None
        if written is False:
            self._unsaved.pop(place[:2], None)
            await self._saved(place, replace(kept, is_owed=False, of=(), credential="", replaces=""))
            return None
        if written:
            paid = replace(kept, is_owed=False)
            saved = await self._saved(place, paid) or paid
        if saved is None:
            self._unsaved[place[:2]] = after
            raise _unavailable("The gateway cannot keep the connection's new credential now; try again later.")
        self._unsaved.pop(place[:2], None)
        return saved

    async def _saved(self, place: Place, kept: Kept, *, is_forced: bool = False) -> Kept | None:
        """The same as it is in the store; None when the store is away, or holds something newer that is not `forced`
        out: of two credentials that a vendor gave, the one that came last is good.
        """
        for count in range(_TRIES):
            try:
                saved = await self._rows.keep(place, kept)
                if saved is not None or not is_forced:
                    return saved
                kept = replace(kept, version=(await self._rows.look(place)).version)
            except AdapterError:
                if count + 1 < _TRIES:
                    await self._clock.sleep(_AGAIN_SECONDS * 2**count)
        return None

    async def _written(self, place: Place, kept: Kept, source: str) -> bool | None:
        """Whether it is where the reference leads; False when something newer is, None when nobody knows."""
        change = (Secret(source), kept.credential)
        try:
            return await self._credentials().replace(place.tenant, place.reference, place.hosts, change)
        except Refusal as refusal:
            self._tell("credential_not_written", place, why=refusal.reason.value)
            return None

    async def _source(self, place: Place) -> str | None:
        """What the reference gives now; None when it is made anew for every call."""
        with refusals_mapped():
            secret = await self._credentials().again(place.tenant, place.reference, place.hosts)
        return None if secret is None else secret.reveal()

    def _tell(self, event: str, place: Place, **more: str) -> None:
        self._on_event(event, {"tenant": place.tenant, "connection": place.connection, **more})


def following(kept: Kept, grant: Grant, *, source: str, used: str, is_owed: bool) -> Kept:
    """What is to be kept after a grant for the credential that was `used`, when the reference gives `source`."""
    is_same = digest(source) in kept.of
    told = [digest(one) for one in (grant.credential, used, source) if one is not None]
    of = tuple(dict.fromkeys([*told, *(kept.of if is_same else ())]))[:MOST_FORMER]
    after = replace(kept, token=grant.access_token, expires_at=grant.expires_at, of=of)
    if grant.credential is not None:
        return replace(after, replaces=digest(source), credential=grant.credential, is_owed=is_owed)
    if used == source:  # whatever was kept is of another authorisation, or long where the reference leads
        return replace(after, is_owed=False)
    return after


async def _granted(exchange: Exchange, credential: str) -> Grant:
    """What the vendor gives. Raises `AdapterError`."""
    try:
        async with asyncio.timeout(EXCHANGE_SECONDS):
            return await exchange(Secret(credential))
    except TimeoutError as error:
        raise _unavailable("The vendor did not give an access token in time; try again later.") from error


_KINDS = {
    Reason.CREDENTIAL_MISSING: ErrorKind.NEEDS_AUTHORISATION,
    Reason.CREDENTIAL_NOT_ALLOWED: ErrorKind.FORBIDDEN,
}


@contextlib.contextmanager
def refusals_mapped() -> Iterator[None]:
    """What keeps the gateway from a credential, as an adapter's error: that is what whoever asks for a token gets."""
    try:
        yield
    except Refusal as refusal:
        kind = _KINDS.get(refusal.reason, ErrorKind.UNAVAILABLE)
        raise AdapterError(kind, refusal.message, happened=Happened.NO, fault=refusal.fault) from refusal


def _unavailable(message: str) -> AdapterError:
    return AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=Fault.TIMEOUT)
