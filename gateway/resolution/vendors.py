"""Asking a vendor what became of an effect. Nothing here settles anything."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from adapters.base import AdapterError, Clock, Finding, Invocation, Secret
from gateway.credentials.resolver import Resolver
from gateway.errors import Refusal
from gateway.invocation import is_cancelled
from gateway.resolution.intent import read_intent
from gateway.resolution.tools import Find, Vendor
from gateway.store.sealing import Seal, SealBroken, SealDown
from gateway.store.unknowns import ARGUMENTS_PLACE, Unknown, account_of

_SLACK_SECONDS = 0.25
"""How much longer than its deadline an adapter may take to give up by itself before it is cancelled."""

_EARLIER_SECONDS = 60.0
"""How far the clocks of gateways and vendors may be apart: nothing that a vendor holds may look too old."""


class Answered(NamedTuple):
    """What was found out; when nothing was, why, in a word or two for the log."""

    finding: Finding
    why: str = ""


class _Unasked(Exception):  # noqa: N818 - it never leaves this module
    """Nobody could be asked."""


class Vendors:
    """Asks them, each within so many seconds. `credentials` gives the resolver of the moment."""

    def __init__(
        self, find: Find, *, credentials: Callable[[], Resolver], seal: Seal, clock: Clock, ask_seconds: float
    ) -> None:
        self._find = find
        self._credentials = credentials
        self._seal = seal
        self._clock = clock
        self._seconds = ask_seconds

    def can_ask(self, tenant: str, unknown: Unknown) -> bool:
        """Whether somebody can be asked about it: the very account that was to do it, and with what it was given."""
        return unknown.arguments is not None and self._vendor(tenant, unknown) is not None

    async def ask(self, tenant: str, unknown: Unknown) -> Answered:
        """What the vendor says. Whatever goes wrong on the way leaves it unknown."""
        try:
            return await self._asked(tenant, unknown)
        except _Unasked as unasked:
            return Answered(Finding.STILL_UNKNOWN, str(unasked))
        except Refusal as refusal:
            return Answered(Finding.STILL_UNKNOWN, refusal.reason.value)
        except AdapterError as error:
            return Answered(Finding.STILL_UNKNOWN, f"vendor_{error.kind.value}")
        except TimeoutError:
            return Answered(Finding.STILL_UNKNOWN, "vendor_deadline")
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # an adapter must raise AdapterError alone; a Rust panic is no Exception
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            return Answered(Finding.STILL_UNKNOWN, "adapter_failed")

    async def _asked(self, tenant: str, unknown: Unknown) -> Answered:
        vendor = self._vendor(tenant, unknown)
        if vendor is None or unknown.arguments is None:
            raise _Unasked("nobody_to_ask")
        arguments = await self._opened(tenant, unknown)
        deadline = self._clock.monotonic() + self._seconds
        async with asyncio.timeout(self._seconds + _SLACK_SECONDS):
            return await self._answered(vendor, unknown, arguments, deadline)

    async def _answered(
        self, vendor: Vendor, unknown: Unknown, arguments: Mapping[str, Any], deadline: float
    ) -> Answered:
        connection, reconcile = vendor.connection, vendor.operation.reconcile
        assert reconcile is not None

        learned: list[Secret] = []

        async def asked(credential: Secret | None) -> Answered:
            found = await reconcile(
                Invocation(
                    arguments=arguments,
                    target=connection.target,
                    credential=credential,
                    deadline=deadline,
                    effect_id=unknown.effect_id,
                    learn=learned.append,
                    since=unknown.claimed_at.timestamp() - _EARLIER_SECONDS,
                )
            )
            # A word that only looks like a finding settles nothing.
            return Answered(found) if isinstance(found, Finding) else Answered(Finding.STILL_UNKNOWN, "adapter_failed")

        if not connection.credential:
            return await asked(None)
        lent = await self._credentials().lend(
            connection.tenant, connection.credential, connection.target.hosts, seconds=self._seconds
        )
        try:
            return await asked(lent.secrets[0])
        finally:
            lent.end()
            for secret in learned:
                secret.drop()

    def _vendor(self, tenant: str, unknown: Unknown) -> Vendor | None:
        """Who can be asked. A row of the registry that was changed to another account, adapter or operation cannot:
        its vendor would truly say that nothing was done.
        """
        told = read_intent(unknown.intent)
        vendor = self._find(tenant, told.tool)
        if vendor is None or vendor.operation.reconcile is None:
            return None
        return vendor if told.account == account_of(vendor.tool.binding, vendor.connection) else None

    async def _opened(self, tenant: str, unknown: Unknown) -> Mapping[str, Any]:
        """The prepared arguments: exactly those that were used. Raises `_Unasked`."""
        assert unknown.arguments is not None
        try:
            canonical = await self._seal.open(tenant, ARGUMENTS_PLACE + unknown.key, unknown.arguments)
        except SealDown as broken:
            raise _Unasked("seal_down") from broken
        except SealBroken as broken:
            raise _Unasked("seal_broken") from broken
        if f"sha256:{hashlib.sha256(canonical).hexdigest()}" != unknown.arguments_digest:
            raise _Unasked("arguments_changed")
        arguments: Mapping[str, Any] = orjson.loads(canonical)
        return arguments
