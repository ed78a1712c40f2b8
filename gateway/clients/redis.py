"""The one home of redis-py: scripts, asked many at a time, of one Redis or Valkey or of a cluster of them.

Nothing is tried twice here, and one deadline stands over all that a question takes. It is not handed to redis-py,
whose timeouts begin anew with every read, so that a server which drips would never be late.
"""

import asyncio
import contextlib
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
from redis.asyncio.connection import Connection, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ConnectionError,  # noqa: A004 - theirs, in this file alone
    InvalidResponse,
    NoPermissionError,
    NoScriptError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TimeoutError,  # noqa: A004 - theirs, in this file alone
)

from adapters.base import Fault
from gateway.settings.limits import RedisSettings
from gateway.settings.part import UNIX
from gateway.watched import FileUnusable, WatchedFile

CONNECTIONS = 4
"""To one server. It does one thing at a time, so that more would only queue there."""
OPEN_SECONDS = 0.25
"""How long connecting in advance may take: TLS, the password, and asking a cluster for its nodes."""
_DEFAULT_PORT = 6379

Answer = int | bytes | str | list["Answer"] | None


class Script:
    """A Lua script, and the name by which a server knows it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.sha1 = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class ScriptCall(NamedTuple):
    """One run of a script. In a cluster its keys share a {hash tag}."""

    keys: tuple[str, ...]
    arguments: tuple[str, ...]


class RedisFailed(Exception):  # noqa: N818 - named for what it is
    """Nobody knows the answer; the script may have run. One sentence for operators, in our own words.

    `is_of_call` when the fault lies with what the call's keys hold: the server is well.
    """

    def __init__(self, sentence: str, fault: Fault, *, is_of_call: bool = False) -> None:
        super().__init__(sentence)
        self.fault = fault
        self.is_of_call = is_of_call


class RedisClient:
    """Runs scripts on one server or cluster. Connects when it is first asked. Use it on one loop."""

    def __init__(self, settings: RedisSettings, monotonic: Callable[[], float]) -> None:
        self._settings = settings
        self._timeout_seconds = settings.timeout_ms / 1000
        self._login = _login(settings, monotonic)
        self._client: Redis | RedisCluster | None = None
        self._is_spoilt = False

    async def open(self) -> None:
        """Connect in advance, and anew after a failure. Raises `RedisFailed`."""
        async with self._within(max(OPEN_SECONDS, self._timeout_seconds)):
            client = await self._opened()
            if isinstance(client, RedisCluster):
                await client.initialize()
            else:
                await client.ping()  # type: ignore[misc]  # their annotation covers the client that blocks, too

    async def run(self, script: Script, calls: Sequence[ScriptCall]) -> list[Answer | RedisFailed]:
        """The answer to each call, in their order, by one round trip; a `RedisFailed` for one that failed alone.

        A server that has lost the script is given it again. Raises `RedisFailed` when no call has an answer.
        """
        async with self._within(self._timeout_seconds):
            client = await self._opened()
            answers = await _piped(client, [("EVALSHA", script.sha1, call) for call in calls])
            lost = [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if lost:
                again = await _piped(client, [("EVAL", script.text, calls[place]) for place in lost])
                for place, answer in zip(lost, again, strict=True):
                    answers[place] = answer
        return [self._told(answer) if isinstance(answer, Exception) else answer for answer in answers]

    def spoil(self) -> None:
        """Trust no connection any more: the next question is asked on new ones."""
        self._is_spoilt = True

    async def close(self) -> None:
        """Close every connection. Harmless when there is none."""
        client, self._client = self._client, None
        if client is not None:
            # A connection that does not let itself be closed is closed by then all the same.
            with contextlib.suppress(RedisError, RedisClusterException, OSError):
                await client.aclose()

    async def _opened(self) -> Redis | RedisCluster:
        if self._is_spoilt:
            self._is_spoilt = False
            await self.close()
        if self._client is None:
            self._client = self._made()
        return self._client

    def _made(self) -> Redis | RedisCluster:
        """A client that has not connected yet. RESP2: there is nothing that a server may push."""
        address = urlsplit(self._settings.url)
        is_tls = address.scheme == "rediss"
        common = {
            "protocol": 2,
            "retry": Retry(NoBackoff(), 0),
            "socket_timeout": None,
            "socket_connect_timeout": max(OPEN_SECONDS, self._timeout_seconds),
            "credential_provider": self._login,
            "driver_info": None,
            "max_connections": CONNECTIONS,
        }
        if is_tls:
            ca_file = self._settings.ca_file
            common |= {"ssl_cert_reqs": "required", "ssl_check_hostname": True}
            common |= {"ssl_ca_certs": str(ca_file)} if ca_file is not None else {}
        if self._settings.url.startswith(UNIX):
            path = self._settings.url.removeprefix(UNIX)
            return _pooled(UnixDomainSocketConnection, common | {"path": path}, self._timeout_seconds)
        place = {"host": address.hostname, "port": address.port or _DEFAULT_PORT}
        if self._settings.cluster:
            return RedisCluster(**(common | place | ({"ssl": True} if is_tls else {})))
        place["db"] = int(address.path.strip("/") or 0)
        return _pooled(SSLConnection if is_tls else Connection, common | place, self._timeout_seconds)

    @contextlib.asynccontextmanager
    async def _within(self, seconds: float) -> AsyncIterator[None]:
        """Whatever fails in here, or takes longer, is a `RedisFailed`, and the connections are spoilt."""
        try:
            async with _deadline(seconds):
                yield
        except Exception as error:
            raise self._told(error) from error
        except BaseException:
            self._is_spoilt = True  # cancelled: an answer may be on its way that nobody waits for
            raise

    def _told(self, error: Exception) -> RedisFailed:
        failed = _failed(error)
        self._is_spoilt |= not failed.is_of_call
        return failed


class _Login(CredentialProvider):
    """The user's name and the password as the file has it now."""

    def __init__(self, username: str, password: WatchedFile | None) -> None:
        self._username = username
        self._password = password

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        """Raises `FileUnusable`."""
        password = self._password.text() if self._password is not None else ""
        return (self._username, password) if self._username else (password,)

    async def get_credentials_async(self) -> tuple[str] | tuple[str, str]:
        """The same."""
        return self.get_credentials()


def _login(settings: RedisSettings, monotonic: Callable[[], float]) -> _Login | None:
    path = settings.password_file
    if path is None and not settings.username:
        return None
    return _Login(settings.username, None if path is None else WatchedFile(path, monotonic, look_seconds=0.0))


def _pooled(kind: type, options: dict[str, object], timeout_seconds: float) -> Redis:
    return Redis(connection_pool=BlockingConnectionPool(connection_class=kind, timeout=timeout_seconds, **options))  # type: ignore[arg-type]


async def _piped(
    client: Redis | RedisCluster, commands: Sequence[tuple[str, str, ScriptCall]]
) -> list[Answer | Exception]:
    """What each command was answered, or the error that it was answered with."""
    pipeline = client.pipeline(transaction=False)
    for name, script, call in commands:
        pipeline.execute_command(name, script, len(call.keys), *call.keys, *call.arguments)
    answers: list[Answer | Exception] = await pipeline.execute(raise_on_error=False)
    return answers


@contextlib.asynccontextmanager
async def _deadline(seconds: float) -> AsyncIterator[None]:
    """Raises the builtin `TimeoutError` after so many seconds, given in two halves.

    The second begins when the loop has noticed the end of the first. When the loop itself stood still, the answer
    that came meanwhile is read instead of called late.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        half = loop.call_later(seconds / 2, lambda: limit.reschedule(loop.time() + seconds / 2))
        try:
            yield
        finally:
            half.cancel()


_OF_CALL = re.compile(r"(WRONGTYPE|ILLFORMED)\b")
_WORD = re.compile(r"[A-Z]{2,20}\b")
_KINDS: tuple[tuple[tuple[type[BaseException], ...], str, Fault], ...] = (
    ((FileUnusable,), "the password file cannot be read", Fault.ERROR),
    ((AuthenticationError, AuthorizationError, NoPermissionError), "the server refuses our user", Fault.REFUSED),
    ((BusyLoadingError,), "the server is loading its data", Fault.NOT_LOADED),
    ((InvalidResponse,), "the answer cannot be read", Fault.MALFORMED),
    ((TimeoutError, asyncio.TimeoutError), "the server did not answer in time", Fault.TIMEOUT),
    ((ConnectionResetError, BrokenPipeError), "the server closed the connection", Fault.RESET),
    ((OSError,), "the server cannot be reached", Fault.REFUSED),
    ((ConnectionError,), "the server closed the connection", Fault.RESET),
)


def _failed(error: Exception) -> RedisFailed:
    """What an error is to us, most specific first; nothing of its text is kept but a word in capitals."""
    if isinstance(error, ResponseError) and not isinstance(error, NoPermissionError):
        said = str(error)
        word = found[0] if (found := _WORD.match(said)) else type(error).__name__
        is_of_call = _OF_CALL.match(said) is not None
        return RedisFailed(f"the server answered with an error ({word})", Fault.ERROR, is_of_call=is_of_call)
    causes = tuple(_causes(error))
    for kinds, sentence, fault in _KINDS:
        if any(isinstance(cause, kinds) for cause in causes):
            return RedisFailed(sentence, fault)
    fault = Fault.ERROR if isinstance(error, RedisError | RedisClusterException) else Fault.MALFORMED
    return RedisFailed(f"the server could not be asked ({type(error).__name__})", fault)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and all that it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
