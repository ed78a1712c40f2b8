"""Calls as handles: one that takes long goes on without its caller, and is found again by its id or its key."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from adapters.base import Clock
from gateway.admission import Admission, Overloaded
from gateway.call import Answer, Explanation, Principal, Request
from gateway.handles.asking import Asking
from gateway.handles.base import Parked, Seen, Stop
from gateway.handles.kept import KeptCalls
from gateway.handles.running import Here, Running
from gateway.handles.stopping import Stopping
from gateway.handles.watching import Watching
from gateway.idempotency.base import Tenants
from gateway.parts import Announcement, Calls
from gateway.settings.handles import HandleSettings
from gateway.store.failures import StoreDown, StoreRefused

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class HandleParts:
    """What handles are made of. `app.py` chooses each."""

    calls: Calls
    """What carries calls out."""
    kept: KeptCalls
    keys: Tenants
    parked: Parked
    admission: Admission
    clock: Clock
    settings: HandleSettings


class _TooMany(Exception):  # noqa: N818 - not an error: the call is waited for
    """The agent has as many handles at work as it may."""


class Handles:
    """`Calls` that can be asked for, followed and stopped while they are at work, and after it."""

    def __init__(self, parts: HandleParts) -> None:
        self._calls = parts.calls
        self._kept = parts.kept
        self._room = parts.admission.room
        self._most_running = parts.settings.most_running
        self._here = Here(parts.clock.monotonic)
        self._asking = Asking(self._here, parts.kept, parts.keys, parts.parked)
        self._stopping = Stopping(self._here, parts.kept, self._asking, parts.parked, parts.clock)
        self._watching = Watching(self._here, self._asking, most=parts.settings.most_watchers)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._by_agent: Counter[tuple[str, str]] = Counter()
        self._by_tenant: Counter[str] = Counter()

    @property
    def running(self) -> int:
        """How many calls go on without their caller."""
        return self._by_tenant.total()

    @property
    def owed(self) -> int:
        """How many ends the store has not heard of."""
        return self._kept.owed

    @property
    def watchers(self) -> int:
        """How many follow a call now."""
        return self._watching.open

    def call(self, principal: Principal, request: Request, announcement: Announcement) -> Awaitable[Answer]:
        """`Pipeline.call`; with `yield_after_ms` what is pending instead, when the call takes longer than that.

        Its caller may leave then, and its deadline is none of the call's.
        """
        if not request.yield_after_ms:
            running = Running(self._here, principal, request, announcement)
            return self._carried_out(running, self._calls.call(principal, request, running))
        whole = replace(request, timeout_seconds=None)
        return self._yielding(Running(self._here, principal, whole, announcement))

    def explain(self, principal: Principal, request: Request, announcement: Announcement) -> Awaitable[Explanation]:
        """`Pipeline.explain`."""
        return self._calls.explain(principal, request, announcement)

    async def attend(
        self,
        principal: Principal,
        request: Request,
        announcement: Announcement,
        work: Callable[[Running], Awaitable[Answer]],
    ) -> Answer:
        """The answer of a call that comes by no surface, and is carried out by `work`: it can be asked for, followed
        and stopped as any other. What is given to `work` is to be announced to.
        """
        running = Running(self._here, principal, request, announcement)
        self._by_tenant[principal.tenant] += 1
        try:
            return await self._carried_out(running, work(running))
        finally:
            _less(self._by_tenant, principal.tenant)

    async def get(self, principal: Principal, call_id: str) -> Seen:
        """The call of this id. Raises `Refusal(store_unavailable)`."""
        return await self._asking.of_id(principal, call_id)

    async def get_by_key(self, principal: Principal, tool: str, key: str) -> Seen:
        """The call that was made with this key. Raises `Refusal(store_unavailable)`."""
        return await self._asking.of_key(principal, tool, key)

    def watch(self, principal: Principal, call_id: str) -> AsyncGenerator[Seen, None]:
        """The call as it stands and changes (see `Watching.watch`)."""
        return self._watching.watch(principal, call_id)

    async def cancel(self, principal: Principal, call_id: str) -> Stop:
        """Stop the call. Raises `Refusal(store_unavailable)`."""
        return await self._stopping.cancel(principal, call_id)

    async def tick(self) -> None:
        """Stop what others want stopped, and tell the store what it is owed. Call it every second. Never raises:
        what could not be done is done at a later one.
        """
        busy = tuple(self._by_tenant)
        with contextlib.suppress(StoreDown, StoreRefused):
            for call_id in await self._kept.asked_to_cancel(busy):
                if (running := self._here.by_id.get(call_id)) is not None:
                    running.ask()
        with contextlib.suppress(StoreDown, StoreRefused):
            await self._kept.mend(busy)

    def drain(self) -> None:
        """Nobody follows a call any more; those at work go on."""
        self._watching.end()

    async def stop(self, *, seconds: float) -> None:
        """Returns once what is at work has ended and the store knows of it, or so many seconds are over."""
        self.drain()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        with contextlib.suppress(StoreDown, StoreRefused):
            await self._kept.mend(())

    async def _carried_out(self, running: Running, work: Awaitable[Answer]) -> Answer:
        answer: Answer | None = None
        try:
            answer = await work
        except asyncio.CancelledError:
            if not running.is_taken_back():
                raise
            answer = running.cut_off()
        else:
            running.is_taken_back()  # of a cancellation that something on the way swallowed
        finally:
            if running.call_id:
                running.over(answer or running.cut_off())
                self._let_go(running)
        return answer

    def _let_go(self, running: Running) -> None:
        """The call has ended. Whoever has a row goes on to be remembered until that says so."""
        if running.is_kept:
            return
        running.forget()
        if running.has_caller_left:
            self._own(self._keep_late(running))

    async def _keep_late(self, running: Running) -> None:
        """A write whose caller left while it went on: how it ended waits for whoever asks."""
        with contextlib.suppress(StoreDown, StoreRefused):
            await self._kept.open(running)
            await self._kept.finish(running, _nothing)

    async def _yielding(self, running: Running) -> Answer:
        work = self._calls.call(running.principal, running.request, running)
        task = self._own(self._carried_out(running, work))
        try:
            await asyncio.wait((task,), timeout=running.request.yield_after_ms / 1000)
            if not task.done() and running.call_id and await self._is_handed_over(running, task):
                return task.result() if task.done() else running.pending()
            await asyncio.wait((task,))
        except asyncio.CancelledError:  # it was not given a handle: its leaving is that of any caller
            task.cancel()
            await asyncio.wait((task,))
            raise
        return task.result()

    async def _is_handed_over(self, running: Running, task: "asyncio.Task[Answer]") -> bool:
        """Whether the call has a place of its own and a row: no handle is given that cannot be found again."""
        given: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._own(self._see_out(running, task, given))
        await asyncio.wait((given,))
        return given.result()

    async def _see_out(self, running: Running, task: "asyncio.Task[Answer]", given: "asyncio.Future[bool]") -> None:
        """Hold the call's place until it has ended and its row says so."""
        try:
            with self._room, self._counted(running.principal):
                await self._kept.open(running)
                running.is_kept = True
                given.set_result(True)
                await asyncio.wait((task,))
                await self._kept.finish(running, running.forget)
        except StoreDown:  # the row may be there all the same
            given.set_result(False)
            await asyncio.wait((task,))
            await self._kept.finish(running, _nothing)
        except (Overloaded, _TooMany, StoreRefused):
            given.set_result(False)
        finally:
            if not given.done():
                given.set_result(False)

    @contextlib.contextmanager
    def _counted(self, principal: Principal) -> Iterator[None]:
        """One more call of this agent goes on by itself. Raises `_TooMany`."""
        whose = (principal.tenant, principal.agent)
        if self._by_agent[whose] >= self._most_running:
            raise _TooMany
        self._by_agent[whose] += 1
        self._by_tenant[principal.tenant] += 1
        try:
            yield
        finally:
            _less(self._by_agent, whose)
            _less(self._by_tenant, principal.tenant)

    def _own(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """A task of the gateway's own: it ends by itself."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._disown)
        return task

    def _disown(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits for it has it


def _less(counts: Counter[Any], whose: object) -> None:
    counts[whose] -= 1
    if not counts[whose]:
        del counts[whose]


def _nothing() -> None:
    """For what nobody waits."""
