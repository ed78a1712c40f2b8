"""What people do about unknown outcomes: look at them, and say what became of one."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from adapters.base import Happened
from gateway.audit.base import LineKind
from gateway.audit.deeds import Deeds
from gateway.call import CallerKind, Decision, DecisionEffect, Principal
from gateway.errors import Refused, RefusedKind
from gateway.resolution.intent import Told, read_intent
from gateway.resolution.settling import Settling, tell_of
from gateway.resolution.vendors import Vendors
from gateway.store import unknowns
from gateway.store.database import Database
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.unknowns import After, Unknown

LIST = "calls.list"
RESOLVE = "calls.resolve"
"""The actions that `May` is asked about."""
SCOPE = "calls:resolve"
"""Lets a person do both."""
PAGE_SIZE = 100
MOST_REASON = 300
"""Characters: as many as a line keeps of what a person says."""

May = Callable[[Principal, str, Mapping[str, str]], Awaitable[Decision]]
"""Whether a principal may do this (`calls.list`, `calls.resolve`), with what is known of the call it is about:
`call_id`, `agent`, `tool`, `connection`; nothing of it for a list. Raises `Refusal` when nobody can say.
"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An unknown outcome as a person sees it."""

    unknown: Unknown
    told: Told
    is_askable: bool
    """Whether the gateway can ask the vendor itself."""


async def may_by_scope(principal: Principal, _action: str, _about: Mapping[str, str]) -> Decision:
    """Whoever holds the scope `calls:resolve` may do both."""
    effect = DecisionEffect.ALLOW if SCOPE in principal.scopes else DecisionEffect.DENY
    return Decision(effect=effect, reasons=(), obligations=(), revision="")


class Desk:
    """Where they do it. Each sees the calls of their own tenant alone."""

    def __init__(self, database: Database, vendors: Vendors, settling: Settling, deeds: Deeds, may: May) -> None:
        self._database = database
        self._vendors = vendors
        self._settling = settling
        self._deeds = deeds
        self._may = may

    async def unresolved(self, principal: Principal, *, token: str, size: int) -> tuple[list[Shown], str]:
        """A page of them, oldest first, and the token of the next page; empty when this is the last.

        Raises `Refused`.
        """
        after = _after(token) if token else None
        if principal.kind is CallerKind.AGENT or not await self._allowed(principal, LIST, {}):
            raise Refused(RefusedKind.FORBIDDEN, "You may not see which outcomes are unknown; ask an operator.")
        most = min(size or PAGE_SIZE, PAGE_SIZE)
        try:
            async with self._database.tenant(principal.tenant, is_read=True) as session:
                found = await unknowns.page(session, after=after, most=most + 1)
        except (StoreDown, StoreRefused) as failure:
            raise _store_down() from failure
        shown = [self._shown(principal.tenant, one) for one in found[:most]]
        return shown, _token(found[most - 1]) if len(found) > most else ""

    async def resolve(self, principal: Principal, call_id: str, happened: Happened, reason: str) -> Shown:
        """What this person says became of the effect is what holds from now on; the line is on stable storage.

        Raises `Refused`; the attempt of somebody who may not leaves a line too.
        """
        if not reason.strip():
            raise Refused(RefusedKind.INVALID, "Say how you know what became of it; the reason is kept in the audit.")
        unknown = await self._find(principal.tenant, call_id)
        told = Told() if unknown is None else read_intent(unknown.intent)
        about = {"call_id": call_id, "agent": told.agent, "tool": told.tool, "connection": told.connection}
        # Asked also when there is no such call: whoever may not resolve learns nothing of which there are.
        if principal.kind is not CallerKind.HUMAN or not await self._allowed(principal, RESOLVE, about):
            await self._forbid(principal, unknown, told, reason)
        if unknown is None:
            raise _not_there()
        if not await self._settling.settle(unknown, happened, by=principal, note=reason):
            raise Refused(RefusedKind.CONFLICT, "This outcome was settled meanwhile. List the calls again.")
        return self._shown(principal.tenant, unknown)

    async def _find(self, tenant: str, call_id: str) -> Unknown | None:
        try:
            async with self._database.tenant(tenant, is_read=True) as session:
                return await unknowns.find(session, call_id)
        except (StoreDown, StoreRefused) as failure:
            raise _store_down() from failure

    async def _allowed(self, principal: Principal, action: str, about: Mapping[str, str]) -> bool:
        """Anything but an allow is a no."""
        return (await self._may(principal, action, about)).effect is DecisionEffect.ALLOW

    async def _forbid(self, principal: Principal, unknown: Unknown | None, told: Told, reason: str) -> NoReturn:
        async with self._deeds.of(LineKind.RESOLUTION, principal, what=told.tool, note=reason) as deed:
            if unknown is not None:
                tell_of(deed, unknown)
            raise Refused(RefusedKind.FORBIDDEN, f"You may not settle this: it takes a person with the scope {SCOPE}.")
        raise AssertionError("a deed lets what is raised inside go its way")

    def _shown(self, tenant: str, unknown: Unknown) -> Shown:
        is_askable = self._vendors.can_ask(tenant, unknown)
        return Shown(unknown=unknown, told=read_intent(unknown.intent), is_askable=is_askable)


def _token(last: Unknown) -> str:
    return f"{(last.claimed_at - _EPOCH) // _MICROSECOND}.{last.call_id}"


def _after(token: str) -> After:
    microseconds, _, call_id = token.partition(".")
    try:
        return _EPOCH + int(microseconds) * _MICROSECOND, call_id
    except (ValueError, OverflowError) as error:
        message = "This is no page token. Use one that a page of this list ended with."
        raise Refused(RefusedKind.INVALID, message) from error


def _not_there() -> Refused:
    message = "No call of this id has an unknown outcome; it may have been settled meanwhile. List the calls again."
    return Refused(RefusedKind.NOT_FOUND, message)


def _store_down() -> Refused:
    return Refused(RefusedKind.UNAVAILABLE, "The store does not answer now. Try again later.")
