"""A vendor's HTTP API that speaks JSON.

An adapter says what is particular to its vendor (`Vendor`) and asks (`Api.ask`). What all have in common is here: proof
of who asks, pauses that the vendor wanted, and that an answer is judged before it is used.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from adapters.base import (
    AdapterError,
    Clock,
    ErrorKind,
    Happened,
    Invocation,
    Operation,
    Pauses,
    Target,
    TokenStore,
)
from adapters.transport.authorisation import Authorises
from adapters.transport.base_urls import target_problems
from adapters.transport.calls import Call, body_of, checked_headers, url_of
from adapters.transport.client import Transport
from adapters.transport.messages import Request, Response
from adapters.transport.replies import Reply, clamped, judge_by_status, read_reply

USER_AGENT = "tollhouse/0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A vendor wants to be left alone for so long: the whole account, or the part of it that `name` is for."""

    seconds: float
    name: str = ""
    is_of_call: bool = False
    """It is the part that the call itself counts to (the `limit` of `Api.ask`), whatever it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """What is particular to one vendor's API."""

    base_url: str
    """Where it is when a connection's options name no `base_url`."""
    authorises: Authorises
    judge: Callable[[Reply], AdapterError | None] = judge_by_status
    """The error that an answer is; None when all is well. Asked of every answer, whatever its status."""
    pauses: Callable[[Reply, float], Iterable[Pause]] = lambda _reply, _now: ()
    """What an answer's headers say of when to ask again; the second argument is now, in seconds since the epoch."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """In every request."""
    reads: Callable[[Response], Reply] = read_reply
    """What is made of an answer, whatever its status, before it is judged."""


class Api:
    """Asks one vendor."""

    def __init__(self, vendor: Vendor, transport: Transport, clock: Clock, pauses: Pauses) -> None:
        self._vendor = vendor
        self._transport = transport
        self._clock = clock
        self._pauses = pauses

    async def ask(self, invocation: Invocation, call: Call, *, limit: str = "") -> Reply:
        """The answer, when it is a good one. `limit` names the part of the vendor's limits that the call counts to.

        Raises `AdapterError`: what the vendor's answer means, `rate_limited` at once while the vendor wants to be
        left alone, `too_large` and `malformed` for an answer that cannot be used.
        """
        await self._check_pauses(invocation, limit)
        headers = await self._vendor.authorises.headers(invocation)
        try:
            return await self._asked(invocation, call, headers, limit)
        except AdapterError as error:
            if error.kind is not ErrorKind.NEEDS_AUTHORISATION or error.happened is not Happened.NO:
                raise
            renewed = await self._vendor.authorises.renewed(invocation, headers)
            if renewed is None:
                raise
        return await self._asked(invocation, call, renewed, limit)

    async def _asked(self, invocation: Invocation, call: Call, proof: Mapping[str, str], limit: str) -> Reply:
        response = await self._transport.send(self._request(invocation, call, proof))
        reply = self._vendor.reads(response)
        await self._note(invocation, reply, limit)
        error = self._vendor.judge(reply)
        if error is not None:
            raise error
        return reply

    def _request(self, invocation: Invocation, call: Call, proof: Mapping[str, str]) -> Request:
        body, kind = body_of(call)
        return Request(
            method=call.method,
            url=url_of(invocation.target, self._vendor.base_url, call),
            headers={
                "Accept": "application/json",
                "User-Agent": USER_AGENT,
                **kind,
                **self._vendor.headers,
                **checked_headers(call.headers),
                **proof,
            },
            body=body,
            deadline=invocation.deadline,
            circuit=invocation.target.account or invocation.target.name,
            max_bytes=call.max_bytes,
            hosts=invocation.target.hosts,
            is_read=call.is_read,
            follows=False,
            has_native_key=call.has_native_key,
        )

    async def _check_pauses(self, invocation: Invocation, limit: str) -> None:
        wait = await self._pauses.seconds_left([_pause_name(invocation, name) for name in {"", limit}])
        if wait > 0:
            message = "The vendor wants fewer calls of this account, so it was not asked; wait before the next one."
            raise AdapterError(ErrorKind.RATE_LIMITED, message, happened=Happened.NO, retry_after_seconds=wait)

    async def _note(self, invocation: Invocation, reply: Reply, limit: str) -> None:
        if reply.status == 429 and reply.retry_after_seconds:
            await self._pauses.pause(_pause_name(invocation, limit), reply.retry_after_seconds)
        for pause in self._vendor.pauses(reply, self._clock.now()):
            name = limit if pause.is_of_call else pause.name
            await self._pauses.pause(_pause_name(invocation, name), clamped(pause.seconds) or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiParts:
    """What an adapter of a JSON API is handed. Its transport is its own, and closed by it."""

    clock: Clock
    transport: Transport
    pauses: Pauses
    tokens: TokenStore


class ApiAdapter:
    """What adapters of JSON APIs have in common. Each says its name and its operations."""

    name: str
    operations: Mapping[str, Operation]

    def __init__(self, vendor: Vendor, parts: ApiParts, *, options: Iterable[str] = ()) -> None:
        """`options` are those of a connection beside `base_url`."""
        self._vendor = vendor
        self._transport = parts.transport
        self._options = tuple(options)
        self.api = Api(vendor, parts.transport, parts.clock, parts.pauses)

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection; empty when all is well."""
        return target_problems(target, self._vendor.base_url, self._options)

    @property
    def open_circuits(self) -> int:
        """How many of the vendor's servers are left alone for the moment."""
        return self._transport.open_circuits

    async def close(self) -> None:
        """Let go of connections."""
        await self._transport.close()


def _pause_name(invocation: Invocation, limit: str) -> str:
    return f"{invocation.target.account or invocation.target.name} {limit}"
