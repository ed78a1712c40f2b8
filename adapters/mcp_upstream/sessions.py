"""Conversations that are kept: one for each account, credential and principal that a server is told of.

A credential that was replaced opens a new one. Where the server is told who calls, nobody shares one with another
principal: a server may well look at who calls only when it is opened.
"""

import asyncio
import base64
import binascii
import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import orjson

from adapters.base import AdapterError, Clock, ErrorKind, Happened, Invocation, Secret, Target
from adapters.mcp_upstream import failures, places
from adapters.mcp_upstream.base import Session
from adapters.mcp_upstream.http import HttpWire, Place, caller
from adapters.mcp_upstream.launching import Command, start
from adapters.mcp_upstream.session import Conversation
from adapters.mcp_upstream.stdio import StdioWire
from adapters.transport.authorisation import needs_authorisation
from adapters.transport.client import Transport
from adapters.transport.urls import UrlProblem, canonical_url

IDLE_SECONDS = 300.0
SWEEP_SECONDS = 30.0
MAX_SESSIONS = 256
MAX_BACKOFF_SECONDS = 60.0
STEADY_SECONDS = 60.0
"""A process that ran for so long is started again without a pause."""
CLOSE_SECONDS = 10.0
_WHO = ("sub", "tenant", "agent", "principal_kind")
"""The claims of an assertion that are the same in all calls of one principal."""

Key = tuple[str, ...]


@dataclass(slots=True)
class _Kept:
    """One conversation, or the task that opens it."""

    opening: asyncio.Task[Conversation]
    used_at: float

    @property
    def conversation(self) -> Conversation | None:
        """The conversation, once it is open."""
        is_open = self.opening.done() and not self.opening.cancelled() and self.opening.exception() is None
        return self.opening.result() if is_open else None

    @property
    def is_usable(self) -> bool:
        """Whether it is being opened, or open."""
        conversation = self.conversation
        return not self.opening.done() if conversation is None else conversation.is_open

    @property
    def is_busy(self) -> bool:
        """Whether somebody uses it now."""
        conversation = self.conversation
        return not self.opening.done() if conversation is None else conversation.running > 0


@dataclass(slots=True)
class _Restarts:
    """When a process may be started again that ends again and again."""

    failures: int = 0
    not_before: float = 0.0
    started_at: float = field(default=float("-inf"))


class UpstreamSessions:
    """`Sessions` over streamable HTTP and stdio. Its transport is its own, and closed by it."""

    def __init__(
        self,
        *,
        transport: Transport,
        clock: Clock,
        commands: Mapping[str, Command],
        random_bits: Callable[[int], int] = secrets.randbits,
    ) -> None:
        """`commands` are those of the settings, by name. `random_bits` gives unpredictable bits."""
        self._transport = transport
        self._clock = clock
        self._commands = commands
        self._random_bits = random_bits
        self._key = random_bits(256).to_bytes(32, "big")
        self._kept: dict[Key, _Kept] = {}
        self._restarts: dict[Key, _Restarts] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._is_closed = False

    def target_problems(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection; empty when all is well."""
        return places.target_problems(target, self._commands)

    @property
    def open_circuits(self) -> int:
        """How many servers are left alone for the moment, processes that end again and again among them."""
        now = self._clock.monotonic()
        return self._transport.open_circuits + sum(one.not_before > now for one in self._restarts.values())

    async def of(self, invocation: Invocation) -> Session:
        """See `Sessions.of`. What the session then does in this task proves itself by this invocation."""
        if self._is_closed:
            raise failures.not_now("The gateway is about to stop.")
        key = await self._key_of(invocation)
        kept = self._kept.get(key)
        if kept is None or not kept.is_usable:
            kept = self._opened(key, invocation)
        kept.used_at = self._clock.monotonic()
        return await self._waited(kept, invocation.deadline)

    async def close(self) -> None:
        """See `Sessions.close`."""
        self._is_closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for key in (*self._kept,):
            self._end(key)
        if self._ending:
            await asyncio.wait((*self._ending,), timeout=CLOSE_SECONDS)
        await self._transport.close()

    async def _key_of(self, invocation: Invocation) -> Key:
        """What a session is kept under: no secret, and nothing that a secret could be guessed by."""
        target, credential = invocation.target, invocation.credential
        where = str(target.options.get("url") or target.options.get("stdio"))
        if "stdio" in target.options:
            if credential is not None:
                raise needs_authorisation(
                    "A server that is a process takes no credential; its operator has to drop it."
                )
            caller.set(None)
            return ("stdio", target.account or target.name, where)
        caller.set(invocation.assertion if target.audience else None)
        lent = "" if credential is None else self._digest(credential.reveal())
        who = self._digest(_who((await invocation.assertion()).reveal())) if target.audience else ""
        return ("url", target.account or target.name, where, *target.hosts, target.audience, lent, who)

    def _digest(self, text: str) -> str:
        return hashlib.blake2b(text.encode(), key=self._key, digest_size=32).hexdigest()

    def _opened(self, key: Key, invocation: Invocation) -> _Kept:
        """Begins to open it, once for all who want it. Whoever leaves breaks nothing off."""
        self._end(key)
        self._make_room()
        make = partial(self._over_stdio, key) if key[0] == "stdio" else self._over_http
        credential = Secret(invocation.credential.reveal()) if invocation.credential is not None else None
        loop = asyncio.get_running_loop()
        opening = loop.create_task(make(invocation.target, credential))
        opening.add_done_callback(_heard)
        kept = self._kept[key] = _Kept(opening, self._clock.monotonic())
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = loop.create_task(self._sweep())
        return kept

    async def _waited(self, kept: _Kept, deadline: float) -> Conversation:
        remaining = max(deadline - self._clock.monotonic(), 0.0)
        await asyncio.wait((kept.opening,), timeout=remaining)
        if not kept.opening.done():
            raise failures.too_late(Happened.NO)
        if kept.opening.cancelled():
            raise failures.not_now("The upstream server is being let go of; try again.")
        error = kept.opening.exception()
        if isinstance(error, AdapterError):
            raise failures.again(error) from error
        return kept.opening.result()

    async def _over_http(self, target: Target, credential: Secret | None) -> Conversation:
        try:
            url = canonical_url(str(target.options.get("url")))
        except UrlProblem as problem:
            message = "The connection does not say where its server is; its operator has to."
            raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO) from problem
        place = Place(url=url, target=target, credential=credential)
        wire = partial(HttpWire, self._transport, self._clock, place)
        return await _talking(Conversation(wire, self._clock, self._random_bits))

    async def _over_stdio(self, key: Key, target: Target, _credential: Secret | None) -> Conversation:
        command = places.command_of(target, self._commands)
        if command is None:
            raise failures.not_now("The settings name no such command for this connection; its operator has to look.")
        restarts = self._restarts.setdefault(key, _Restarts())
        self._check_backoff(restarts)
        process = await start(command)
        wire = partial(StdioWire, process, self._clock)
        return await _talking(Conversation(wire, self._clock, self._random_bits))

    def _check_backoff(self, restarts: _Restarts) -> None:
        """Each start counts as a failure until it has lasted. The first one may be repeated at once."""
        now = self._clock.monotonic()
        if restarts.not_before > now:
            message = "The upstream server ends again and again and is left alone for a moment; try again later."
            raise failures.not_now(message, restarts.not_before - now)
        is_steady = now - restarts.started_at >= STEADY_SECONDS
        restarts.failures = 0 if is_steady else restarts.failures + 1
        restarts.started_at = now
        restarts.not_before = (
            now + min(2.0 ** (restarts.failures - 1), MAX_BACKOFF_SECONDS) if restarts.failures else 0.0
        )

    def _make_room(self) -> None:
        """Raises `AdapterError` when every session is in use."""
        if len(self._kept) < MAX_SESSIONS:
            return
        idle = [key for key, kept in self._kept.items() if not kept.is_busy]
        if not idle:
            raise failures.not_now("Too many upstream servers are in use at once; try again later.")
        self._end(min(idle, key=lambda key: self._kept[key].used_at))

    async def _sweep(self) -> None:
        """Ends what nobody has used for a while, until nothing is left."""
        while self._kept:
            await self._clock.sleep(SWEEP_SECONDS)
            now = self._clock.monotonic()
            for key, kept in (*self._kept.items(),):
                if not kept.is_usable or (not kept.is_busy and now - kept.used_at >= IDLE_SECONDS):
                    self._end(key)

    def _end(self, key: Key) -> None:
        """Lets go of it without waiting."""
        kept = self._kept.pop(key, None)
        if kept is None:
            return
        task = asyncio.get_running_loop().create_task(_ended(kept))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


async def _talking(conversation: Conversation) -> Conversation:
    try:
        await conversation.open()
    except BaseException:
        await conversation.close()
        raise
    return conversation


async def _ended(kept: _Kept) -> None:
    kept.opening.cancel()
    await asyncio.wait((kept.opening,))
    conversation = kept.conversation
    if conversation is not None:
        await conversation.close()


def _heard(opening: asyncio.Task[Conversation]) -> None:
    """Nobody may be left to hear how it ended."""
    if not opening.cancelled():
        opening.exception()


def _who(assertion: str) -> str:
    """Whom an assertion of ours is about, whatever the call; the whole of it when that cannot be read."""
    try:
        payload = assertion.split(".")[1]
        claims = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return repr([claims[name] for name in _WHO])
    except (IndexError, KeyError, TypeError, ValueError, binascii.Error):
        return assertion
