"""The one home of redis-py: scripts, asked many at a time, of one Redis or Valkey or of a cluster of them.

Nothing is tried twice here, and one deadline stands over all that a question takes. It is not handed to redis-py,
whose timeouts begin anew with every read, so that a server which drips would never be late.
"""

import asyncio
import contextlib
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from redis.asyncio import RedisCluster
from redis.asyncio.connection import AbstractConnection, Connection, SSLConnection, UnixDomainSocketConnection
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
from gateway.clients.deadline import within
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
        self._servers: _Servers | None = None
        self._is_spoilt = False

    async def open(self) -> None:
        """Connect in advance, and anew after a failure. Raises `RedisFailed`."""
        async with self._within(max(OPEN_SECONDS, self._timeout_seconds)):
            await (await self._opened()).open()

    async def run(self, script: Script, calls: Sequence[ScriptCall]) -> list[Answer | RedisFailed]:
        """The answer to each call, in their order, by one round trip; a `RedisFailed` for one that failed alone.

        A server that has lost the script is given it again. Raises `RedisFailed` when no call has an answer.
        """
        async with self._within(self._timeout_seconds):
            servers = await self._opened()
            answers = await servers.run([_command("EVALSHA", script.sha1, call) for call in calls])
            lost = [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if lost:
                again = await servers.run([_command("EVAL", script.text, calls[place]) for place in lost])
                for place, answer in zip(lost, again, strict=True):
                    answers[place] = answer
        return [self._told(answer) if isinstance(answer, Exception) else answer for answer in answers]

    def spoil(self) -> None:
        """Trust no connection any more: the next question is asked on new ones."""
        self._is_spoilt = True

    async def close(self) -> None:
        """Close every connection. Harmless when there is none."""
        servers, self._servers = self._servers, None
        if servers is not None:
            # A connection that does not let itself be closed is closed by then all the same.
            with contextlib.suppress(RedisError, RedisClusterException, OSError):
                await servers.close()

    async def _opened(self) -> "_Servers":
        if self._is_spoilt:
            self._is_spoilt = False
            await self.close()
        if self._servers is None:
            # Ours is the deadline that counts; this one bounds what redis-py does when it closes.
            seconds = max(OPEN_SECONDS, self._timeout_seconds)
            self._servers = _servers(self._settings, self._login, seconds)
        return self._servers

    @contextlib.asynccontextmanager
    async def _within(self, seconds: float) -> AsyncIterator[None]:
        """Whatever fails in here, or takes longer, is a `RedisFailed`, and the connections are spoilt."""
        try:
            async with within(seconds):
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


_Command = tuple[str | int, ...]


def _command(name: str, script: str, call: ScriptCall) -> _Command:
    return (name, script, len(call.keys), *call.keys, *call.arguments)


class _Servers(Protocol):
    """One server, or a cluster of them."""

    async def open(self) -> None:
        """Connect."""
        ...

    async def run(self, commands: Sequence[_Command]) -> list[Answer | Exception]:
        """What each command was answered, or the error that it was answered with."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class _OneServer:
    """A few connections to one server. redis-py's own pool and pipeline cost more than the round trip."""

    def __init__(self, kind: type[AbstractConnection], options: dict[str, Any]) -> None:
        self._kind = kind
        self._options = options
        self._idle: list[AbstractConnection] = []
        self._room = asyncio.Semaphore(CONNECTIONS)
        self._is_closed = False

    async def open(self) -> None:
        await self.run(())

    async def run(self, commands: Sequence[_Command]) -> list[Answer | Exception]:
        async with self._room:
            connection = self._idle.pop() if self._idle else self._kind(**self._options)
            try:
                answers = await _asked(connection, commands)
            except BaseException:
                await connection.disconnect(nowait=True)
                raise
            if self._is_closed:
                await connection.disconnect(nowait=True)
            else:
                self._idle.append(connection)
        return answers

    async def close(self) -> None:
        self._is_closed = True
        for connection in self._idle:
            await connection.disconnect(nowait=True)
        self._idle.clear()


class _Cluster:
    """Redis Cluster: redis-py finds the server of each call by its keys, and follows them when they move."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._client = RedisCluster(**options)

    async def open(self) -> None:
        await self._client.initialize()

    async def run(self, commands: Sequence[_Command]) -> list[Answer | Exception]:
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        answers: list[Answer | Exception] = await pipeline.execute(raise_on_error=False)
        return answers

    async def close(self) -> None:
        await self._client.aclose()


async def _asked(connection: AbstractConnection, commands: Sequence[_Command]) -> list[Answer | Exception]:
    """One round trip. What waits to be read before anything was asked means that the connection ended."""
    if not connection.is_connected or await connection.can_read():
        await connection.disconnect(nowait=True)
        await connection.connect()  # type: ignore[no-untyped-call]
    answers: list[Answer | Exception] = []
    if commands:
        await connection.send_packed_command(connection.pack_commands(commands), check_health=False)
    for _ in commands:
        try:
            answers.append(await connection.read_response())
        except ResponseError as error:
            answers.append(error)
    return answers


def _servers(settings: RedisSettings, login: "_Login | None", connect_seconds: float) -> _Servers:
    """What has not connected yet. RESP2: there is nothing that a server may push."""
    address = urlsplit(settings.url)
    options: dict[str, Any] = {
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": None,
        "socket_connect_timeout": connect_seconds,
        "credential_provider": login,
        "driver_info": None,
    }
    if settings.url.startswith(UNIX):
        return _OneServer(UnixDomainSocketConnection, options | {"path": settings.url.removeprefix(UNIX)})
    options |= {"host": address.hostname, "port": address.port or _DEFAULT_PORT}
    is_tls = address.scheme == "rediss"
    if is_tls:
        options |= {"ssl_cert_reqs": "required", "ssl_check_hostname": True}
        options |= {"ssl_ca_certs": str(settings.ca_file)} if settings.ca_file is not None else {}
    if settings.cluster:
        return _Cluster(options | {"max_connections": CONNECTIONS} | ({"ssl": True} if is_tls else {}))
    return _OneServer(SSLConnection if is_tls else Connection, options | {"db": int(address.path.strip("/") or 0)})


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
