"""A conversation with one server over whatever wire: requests, their ids, ends and errors."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from adapters.base import AdapterError, Clock, ErrorKind, Fault, Happened
from adapters.mcp_upstream import failures, mirrored, rpc
from adapters.mcp_upstream.base import Progress, Server
from adapters.mcp_upstream.following import Following
from adapters.mcp_upstream.handshake import ENVELOPE, STATELESS, Agreed, agree
from adapters.mcp_upstream.rpc import Answer, Ask, Ids, Notice, NotRpc
from adapters.mcp_upstream.wire import Asking, Forgotten, Hears, Wire

MAX_PAGES = 100
MAX_TOOLS = 2000
MAX_LIST_BYTES = 16 * 1024 * 1024
MAX_CURSOR = 4096
CALL = "tools/call"
OPEN_SECONDS = 30.0
"""The longest that a server may take until both have agreed."""
MAX_REPLIES = 64
"""So many questions of a server are answered while one of ours runs; those beyond are passed over."""
MAX_RUNNING = 64
"""Requests on their way at once."""
_NOBODY = Server(name="", version="", protocol="")


class Conversation:
    """`Session` over one wire. Opened once, and once more whenever its server has forgotten it."""

    def __init__(self, make_wire: Callable[[Hears], Wire], clock: Clock, random_bits: Callable[[int], int]) -> None:
        self._wire = make_wire(self._hear)
        self._clock = clock
        self._ids = Ids(random_bits)
        self._following = Following(clock)
        self._is_agreed = False
        """Nobody broke off in the middle of an opening."""
        self._is_stateless = False
        self._mirrored: Mapping[str, mirrored.Headers] = {}
        self._replies_left = MAX_REPLIES
        self._reopening = asyncio.Lock()
        self._openings = 0
        self.server = _NOBODY
        self.tools_changed = 0
        self.refused_asks = 0
        """How often the server asked for what it may not have: sampling, elicitation, roots."""
        self.running = 0
        """How many requests are on their way."""

    @property
    def is_open(self) -> bool:
        """Whether it can still be used."""
        return self._wire.is_open

    async def open(self) -> None:
        """Agree with the server. Raises `AdapterError`: nothing was called."""
        deadline = self._clock.monotonic() + OPEN_SECONDS
        self._wire.begin()
        self._is_agreed = self._is_stateless = False
        try:
            agreed = await self._agreed(deadline)
        except Forgotten:
            raise failures.broken_off(has_effect=False) from None
        self._is_stateless, self.server = agreed.is_stateless, agreed.server
        self._wire.agreed(agreed.server.protocol, is_modern=agreed.is_stateless)
        if not agreed.is_stateless:
            await self._wire.told(rpc.notification("notifications/initialized"), deadline)
        self._openings += 1
        self._is_agreed = True

    async def tools(self, deadline: float) -> Sequence[Mapping[str, Any]]:
        """See `Session.tools`. Over HTTP, the stateless revision wants tools left out that no client can call."""
        pages = _Pages()
        while True:
            params = {"cursor": pages.cursor} if pages.cursor else {}
            answer = await self._ask("tools/list", params, deadline)
            if not pages.take(_result(answer, has_effect=False), answer.bytes):
                break
        if not self._is_stateless or not self._wire.is_request_scoped:
            return pages.tools
        return self._callable(pages.tools)

    async def call(
        self, name: str, arguments: Mapping[str, Any], deadline: float, progress: Progress, *, has_effect: bool
    ) -> Mapping[str, Any]:
        """See `Session.call`."""
        params = {"name": name, "arguments": arguments}
        answer = await self._ask(CALL, params, deadline, progress, has_effect=has_effect)
        return _result(answer, has_effect=has_effect)

    async def close(self) -> None:
        """End it."""
        await self._wire.close()

    async def _agreed(self, deadline: float) -> Agreed:
        async def asks(method: str, params: Mapping[str, Any]) -> Answer:
            return await self._sent(method, params, deadline)

        async def asks_stateless(method: str, params: Mapping[str, Any]) -> Answer:
            self._is_stateless = True
            self._wire.agreed(STATELESS, is_modern=True)
            return await self._sent(method, params, deadline)

        return await agree(asks, asks_stateless)

    async def _ask(
        self,
        method: str,
        params: Mapping[str, Any],
        deadline: float,
        progress: Progress | None = None,
        *,
        has_effect: bool = False,
    ) -> Answer:
        """The answer. A session that is forgotten is opened anew, and asked once more if the same server answers; but a
        call is not made again by itself.
        """
        if self.running >= MAX_RUNNING:
            message = "Too many calls of this upstream server run at once; try again when one of them is over."
            raise AdapterError(ErrorKind.RATE_LIMITED, message, happened=Happened.NO)
        openings = self._openings
        with suppress(Forgotten):
            if self._is_agreed:
                return await self._sent(method, params, deadline, progress, has_effect=has_effect)
        await self._reopened(openings, deadline)
        if method == CALL:  # what answers now may have another tool of this name: whoever calls has to look first
            raise failures.not_now("The upstream server was started anew; call again.")
        try:
            return await self._sent(method, params, deadline, progress, has_effect=has_effect)
        except Forgotten:
            raise failures.not_now(
                "The upstream server forgets its sessions at once; its operator has to look."
            ) from None

    async def _reopened(self, openings: int, deadline: float) -> None:
        """Whoever comes first opens it for all. What was known of the server's tools is known no more."""
        before = self.server
        try:
            async with asyncio.timeout(deadline - self._clock.monotonic()), self._reopening:
                if self._openings == openings or not self._is_agreed:
                    self.tools_changed += 1
                    await self.open()
        except TimeoutError as error:
            raise failures.too_late(Happened.NO) from error
        except AdapterError as error:
            raise failures.again(error) from error
        if self.server != before:
            raise failures.not_now("The upstream server was started anew as another one; call again.")

    async def _sent(
        self,
        method: str,
        params: Mapping[str, Any],
        deadline: float,
        progress: Progress | None = None,
        *,
        has_effect: bool = False,
    ) -> Answer:
        one = self._ids.next()
        self.running += 1
        if progress is not None:
            self._following.begin(one, progress)
        try:
            answer = await self._wire.ask(self._asking(one, method, params, deadline, has_effect=has_effect))
            return _begun(answer) if self._following.has_begun(one) else answer
        except asyncio.CancelledError:
            self._abandon(one, method)
            raise
        except AdapterError as error:
            if error.kind is ErrorKind.DEADLINE:
                self._abandon(one, method)
            raise
        finally:
            self.running -= 1
            self._following.end(one)
            self._ids.done(one)
            self._replies_left = MAX_REPLIES

    def _asking(self, one: int, method: str, params: Mapping[str, Any], deadline: float, *, has_effect: bool) -> Asking:
        meta: dict[str, Any] = {"progressToken": one} if method == CALL else {}
        headers: dict[str, str] = {}
        if self._is_stateless:
            meta |= ENVELOPE
            headers = mirrored.standard(method, params)
            if method == CALL:
                wanted = self._mirrored.get(params["name"], {})
                headers |= mirrored.mirrored(wanted, params["arguments"])
        try:
            body = rpc.request(one, method, {**params, "_meta": meta} if meta else params)
        except NotRpc as error:
            message = "The arguments cannot be said in JSON; nothing was sent."
            raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO) from error
        changes = self.tools_changed
        return Asking(
            id=one,
            method=method,
            body=body,
            deadline=deadline,
            has_effect=has_effect,
            headers=headers,
            is_meant=lambda: method != CALL or self.tools_changed == changes,
        )

    def _abandon(self, one: int, method: str) -> None:
        """Tell the server that nobody waits any more. A handshake is not cancelled, says the specification."""
        if method not in ("initialize", "server/discover"):
            self._wire.tell(rpc.notification("notifications/cancelled", {"requestId": one}))

    def _hear(self, message: Notice | Ask) -> None:
        if isinstance(message, Ask):
            self._reply(message)
        elif message.method == "notifications/progress":
            self._following.hear(message)
        elif message.method == "notifications/tools/list_changed":
            self.tools_changed += 1

    def _reply(self, ask: Ask) -> None:
        if ask.method != "ping":
            self.refused_asks += 1
        if self._replies_left > 0:
            self._replies_left -= 1
            self._wire.tell(rpc.reply(ask))

    def _callable(self, tools: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        found, kept = {}, []
        for tool in tools:
            try:
                found[str(tool.get("name"))] = mirrored.wanted(tool)
            except mirrored.NotAllowed:
                continue
            kept.append(tool)
        self._mirrored = found
        return kept


class _Pages:
    """The list of tools, page by page."""

    def __init__(self) -> None:
        self.tools: list[Mapping[str, Any]] = []
        self.cursor = ""
        self._cursors: set[str] = set()
        self._bytes = 0
        self._pages = 0

    def take(self, page: Mapping[str, Any], size: int) -> bool:
        """Whether another page is to come. Raises `AdapterError`: malformed, too_large."""
        tools, cursor = page.get("tools"), page.get("nextCursor")
        if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
            raise failures.unreadable(has_effect=False)
        self.tools += tools
        self._bytes += size
        self._pages += 1
        if len(self.tools) > MAX_TOOLS or self._bytes > MAX_LIST_BYTES or (cursor and self._pages >= MAX_PAGES):
            message = "The upstream server lists more tools than are read; its operator has to look."
            raise AdapterError(ErrorKind.TOO_LARGE, message, happened=Happened.NO)
        if cursor is None or cursor == "":
            return False
        if not isinstance(cursor, str) or len(cursor) > MAX_CURSOR or cursor in self._cursors:
            raise _circling()
        self._cursors.add(cursor)
        self.cursor = cursor
        return True


def _circling() -> AdapterError:
    message = "The upstream server's list of tools has no end, or cannot be read; its operator has to look."
    return AdapterError(ErrorKind.MALFORMED, message, happened=Happened.NO, fault=Fault.MALFORMED)


def _begun(answer: Answer) -> Answer:
    """The answer to a call whose progress was told."""
    return answer if answer.error is None else replace(answer, error=replace(answer.error, has_begun=True))


def _result(answer: Answer, *, has_effect: bool) -> Mapping[str, Any]:
    if answer.result is not None:
        return answer.result
    assert answer.error is not None
    raise failures.rpc_failure(answer.error, has_effect=has_effect)
