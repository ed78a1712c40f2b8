"""A key set that an issuer publishes at a URL."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from adapters.base import Clock
from gateway.clients.http import Fetched, FetchFailed
from gateway.errors import StartError, Unauthenticated
from gateway.identity.base import AuthStatus
from gateway.identity.jwks import KeySet, KeysUnusable, parse_keys
from gateway.settings.listeners import JwtIdentity

FETCH_SECONDS = 4.0
"""How long one fetch may take; meant for the client that is handed in."""
RETRY_SECONDS = 1.0
"""From one try to the next while there is no key set to go by. A try that hangs does not hold up the next."""
UNANSWERED_SECONDS = 5.0
"""The same while the last set still holds."""
UNKNOWN_KEY_SECONDS = 3.0
"""How often tokens that name an unknown key can make us ask."""
TICK_SECONDS = 0.5

_SHARE = 0.8
"""Of the refresh: the rest of it is for the answer to arrive."""

OnEvent = Callable[[str, Mapping[str, str]], None]
"""`keys_changed` and `keys_unanswered`, the latter once for each new problem; with what a log line needs."""


class Fetches(Protocol):
    """What is needed of `HttpClient`."""

    def check(self) -> None:
        """Raises `FetchFailed` when nothing can ever be fetched."""
        ...

    async def get(self, url: str, *, etag: str = "") -> Fetched:
        """The document. Raises `FetchFailed` and nothing else."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...


class UrlKeys:
    """The set as of at most `jwks_refresh_seconds` ago, while the URL answers.

    What is not a set of public keys is no answer, and never replaces one. While there is none the last set holds
    until it is `jwks_max_stale_seconds` old (or as old as a refresh may leave it), and then none does.
    """

    def __init__(
        self,
        settings: JwtIdentity,
        http: Fetches,
        clock: Clock,
        on_event: OnEvent = lambda _name, _fields: None,
    ) -> None:
        self._url = settings.jwks_url
        self._refresh_seconds = settings.jwks_refresh_seconds
        self._max_age_seconds = max(settings.jwks_max_stale_seconds, settings.jwks_refresh_seconds)
        self._http = http
        self._clock = clock
        self._on_event = on_event
        self._keys: KeySet | None = None
        self._etag = ""
        self._problem = "the key set has not been fetched yet"
        self._answered_at = float("-inf")
        self._asked_at = float("-inf")
        self._asked_for_unknown_at = float("-inf")
        self._asks: dict[int, asyncio.Task[None]] = {}
        self._asked = 0
        self._taken = 0
        self._follower: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Ask once and wait for what comes of it, then go on asking. Raises `StartError` for a CA file that
        cannot be used.
        """
        try:
            self._http.check()
        except FetchFailed as error:
            raise StartError(f"the key set of {self._url} cannot be fetched: {error}") from error
        await asyncio.wait({self._ask()})
        self._follower = asyncio.create_task(self._follow(), name="key set follower")

    async def stop(self) -> None:
        """Ask no more. No set holds from here on."""
        follower, self._follower = self._follower, None
        tasks = [*self._asks.values(), *([follower] if follower is not None else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._keys = None
        await self._http.close()

    def current(self) -> KeySet:
        """The set that holds. Raises `Unauthenticated` when there is none, or none that is fresh enough."""
        if self._keys is None or self._clock.monotonic() - self._answered_at > self._max_age_seconds:
            raise Unauthenticated(f"there is no key set to go by: {self._problem}")
        return self._keys

    async def look_again(self) -> None:
        """Return with the answer to the fetch that runs, or to a new one; at once when one was made lately."""
        asking = self._asks.get(self._asked)
        if asking is None:
            now = self._clock.monotonic()
            if self._follower is None or now - self._asked_for_unknown_at < UNKNOWN_KEY_SECONDS:
                return
            self._asked_for_unknown_at = now
            asking = self._ask()
        await asyncio.wait({asking})  # which leaves it running when this caller goes away

    def status(self) -> AuthStatus:
        """How old the set is, and why it is not newer."""
        age = self._clock.monotonic() - self._answered_at if self._keys is not None else 0.0
        return AuthStatus(is_ready=self._is_usable(), age_seconds=age, problem=self._problem)

    def _is_usable(self) -> bool:
        return self._keys is not None and self._clock.monotonic() - self._answered_at <= self._max_age_seconds

    async def _follow(self) -> None:
        while True:
            await self._clock.sleep(min(TICK_SECONDS, self._refresh_seconds * _SHARE / 4))
            if self._clock.monotonic() - self._asked_at >= self._pause_seconds():
                self._ask()

    def _pause_seconds(self) -> float:
        """From one fetch to the next. Few run at once, however often we are to ask."""
        if not self._is_usable():
            return RETRY_SECONDS
        pause = self._refresh_seconds * _SHARE
        if self._problem:
            pause = min(pause, UNANSWERED_SECONDS)
        return max(pause, RETRY_SECONDS) if self._asks else pause

    def _ask(self) -> asyncio.Task[None]:
        """A fetch. Several may run at once, so each has a number, and none undoes what a later one brought."""
        self._asked_at = self._clock.monotonic()
        self._asked = number = self._asked + 1
        task = asyncio.create_task(self._fetch(number, self._asked_at), name="key set fetch")
        self._asks[number] = task
        task.add_done_callback(lambda _task: self._asks.pop(number))
        return task

    async def _fetch(self, number: int, asked_at: float) -> None:
        known, etag = self._keys, self._etag
        try:
            fetched = await self._http.get(self._url, etag=etag)
            keys = known if fetched.is_same and known is not None else parse_keys(fetched.body)
        except FetchFailed as error:
            self._unanswered(number, str(error))
        except KeysUnusable as error:
            self._unanswered(number, f"the document {error}")
        else:
            self._take(number, keys, fetched.etag, asked_at)

    def _take(self, number: int, keys: KeySet, etag: str, asked_at: float) -> None:
        if number < self._taken:
            return
        self._taken, self._etag, self._answered_at, self._problem = number, etag, asked_at, ""
        if keys != self._keys:
            self._keys = keys
            self._on_event("keys_changed", {"count": str(len(keys.keys))})

    def _unanswered(self, number: int, problem: str) -> None:
        if number < self._taken or problem == self._problem:
            return
        self._problem = problem
        self._on_event("keys_unanswered", {"problem": problem})
