"""One call of a method: connected, compared, sent, answered, and each way in which that ends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import grpc

from adapters.base import AdapterError, Clock, ErrorKind, Fault, Happened, Invocation
from adapters.grpc_upstream import metadata
from adapters.grpc_upstream.acceptance import check_accepted
from adapters.grpc_upstream.channels import Channel, Channels
from adapters.grpc_upstream.connection import Connection
from adapters.grpc_upstream.methods import Method
from adapters.grpc_upstream.statuses import status_error
from adapters.transport.breaker import Breaker
from adapters.transport.retry import Patience

_LATE = "The call's time was up before the service had answered."
_CLOSED = "The connection to the service was closed before it had answered."


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What is called, with what, and for whom."""

    method: Method
    connection: Connection
    invocation: Invocation
    request: bytes = field(repr=False)
    has_effect: bool
    key_metadata: str = ""
    """Where the service takes a key by which it tells repetitions; empty when it takes none."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The bytes of an answer. It looks like those that a `Patience` judges."""

    data: bytes = field(repr=False)
    status: int = 200
    retry_after_seconds: float | None = None


@dataclass(slots=True, kw_only=True)
class Attempts:
    """How far a call has come, over all its attempts."""

    has_effect: bool = False
    count: int = 0
    is_sent: bool = False
    """Bytes of the present attempt may have gone out."""
    is_in_doubt: bool = False
    """An earlier attempt may have been carried out."""

    def begin(self) -> None:
        """Another attempt: only what nobody knows the end of is followed by one."""
        self.count += 1
        self.is_in_doubt = self.is_in_doubt or (self.is_sent and self.has_effect)
        self.is_sent = False

    @property
    def happened(self) -> Happened:
        """What is known when no answer tells more."""
        return Happened.UNKNOWN if self.is_in_doubt or (self.is_sent and self.has_effect) else Happened.NO

    def failed(self, kind: ErrorKind, message: str, fault: Fault) -> AdapterError:
        """The error when no answer tells more."""
        return AdapterError(kind, message, happened=self.happened, fault=fault, attempts=max(self.count, 1))

    def settle(self, error: AdapterError) -> None:
        """Say in an error what all the attempts together mean."""
        error.attempts = max(self.count, 1)
        if self.is_in_doubt and error.happened is Happened.NO:
            error.happened = Happened.UNKNOWN


class Caller:
    """Calls methods over leased channels. A service that fails again and again is left alone, for each account."""

    def __init__(self, channels: Channels, clock: Clock, breaker: Breaker, chance: Callable[[], float]) -> None:
        self._channels = channels
        self._clock = clock
        self._breaker = breaker
        self._chance = chance

    async def call(self, call: Call) -> tuple[bytes, int]:
        """The answer, and how many attempts it took. Raises `AdapterError`; when it is cancelled the service is told.

        Only what has no effect, or whose repetitions the service tells apart, is tried more than once.
        """
        attempts = Attempts(has_effect=call.has_effect)

        async def attempt() -> Answered:
            return await self._attempt(call, attempts)

        async with self.reaching(call.invocation, call.connection, attempts):
            if call.has_effect and not call.key_metadata:
                answered = await attempt()
            else:
                deadline = call.invocation.deadline
                answered = await Patience(clock=self._clock, random=self._chance, deadline=deadline).repeat(attempt)
        return answered.data, attempts.count

    @asynccontextmanager
    async def reaching(
        self, invocation: Invocation, connection: Connection, attempts: Attempts | None = None
    ) -> AsyncIterator[None]:
        """Ends the block at the invocation's deadline, and does not enter it when the service is left alone."""
        tried = attempts or Attempts()
        circuit = f"{account_of(invocation)} {connection.host} {connection.port}"
        with self._breaker.guarding(circuit):
            try:
                async with asyncio.timeout(self.seconds_left(invocation)):
                    yield
            except TimeoutError as error:
                raise tried.failed(ErrorKind.DEADLINE, _LATE, Fault.TIMEOUT) from error
            except AdapterError as error:
                tried.settle(error)
                raise
            except (asyncio.CancelledError, grpc.aio.UsageError, grpc.aio.InternalError) as error:
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
                    raise
                # The channel was closed under it, and nobody has cancelled us.
                raise tried.failed(ErrorKind.UNAVAILABLE, _CLOSED, Fault.RESET) from error

    def seconds_left(self, invocation: Invocation) -> float:
        """Until the deadline. Raises TimeoutError when it has passed."""
        left = invocation.deadline - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def lease(self, invocation: Invocation, connection: Connection) -> AbstractAsyncContextManager[Channel]:
        """A connected channel of the invocation's account."""
        return self._channels.lease(account_of(invocation), connection)

    async def _attempt(self, call: Call, attempts: Attempts) -> Answered:
        attempts.begin()
        invocation = call.invocation
        proof = metadata.proof(call.connection.auth, invocation.credential)
        async with self.lease(invocation, call.connection) as channel:
            if call.connection.reflects:
                seconds = self.seconds_left(invocation)
                await check_accepted(channel, call.method, proof, self._clock, seconds)
            key = metadata.effect_key(call.key_metadata, invocation.effect_id)
            who = await metadata.assertion(invocation)
            seconds = self.seconds_left(invocation)
            attempts.is_sent = True
            return await _sent(channel, call, proof + key + who, seconds)


async def _sent(channel: Channel, call: Call, beside: metadata.Metadata, seconds: float) -> Answered:
    rpc: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes | None] = channel.raw.unary_unary(call.method.path)
    try:
        data = await rpc(call.request, timeout=seconds, metadata=beside, wait_for_ready=False)
    except grpc.aio.AioRpcError as error:
        raise status_error(error, has_effect=call.has_effect) from None
    if data is None:  # it says that all is well, and no whole message came with it
        raise unreadable(has_effect=call.has_effect)
    return Answered(data)


def unreadable(*, has_effect: bool) -> AdapterError:
    """The error for a call that the service says went well, and whose answer nobody can read."""
    return AdapterError(
        ErrorKind.MALFORMED,
        "The service answered with something that cannot be read.",
        happened=Happened.YES if has_effect else Happened.NO,
        fault=Fault.MALFORMED,
    )


def account_of(invocation: Invocation) -> str:
    """Whose connections are used."""
    return invocation.target.account or invocation.target.name
