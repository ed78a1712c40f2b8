"""What every gRPC surface does before and after its own work: who calls, is there room, and which few statuses
mean that there was no answer.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from gateway.admission import Admission, Overloaded
from gateway.call import Principal
from gateway.errors import Reason, Refusal, Refused, RefusedKind, Unauthenticated
from gateway.identity.base import Authenticator, Metadata
from gateway.invocation import is_cancelled
from gateway.metrics.counts import Metrics
from gateway.metrics.families import TurnedAway
from gateway.telemetry import Log

Context = grpc.aio.ServicerContext[Any, Any]
M = TypeVar("M", bound=Message)
T = TypeVar("T")

_STATUS_OF_REFUSAL = {Reason.CALLER_RATE: grpc.StatusCode.RESOURCE_EXHAUSTED}
_STATUS_OF_KIND = {
    RefusedKind.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    RefusedKind.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    RefusedKind.FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    RefusedKind.CONFLICT: grpc.StatusCode.ABORTED,
    RefusedKind.PRECONDITION: grpc.StatusCode.FAILED_PRECONDITION,
    RefusedKind.UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
}


class Unreadable:
    """Stands for a request whose bytes are not the message that they should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One listener, as its surfaces need it: callers are who its authenticator says."""

    listener: str
    authenticator: Authenticator
    admission: Admission
    metrics: Metrics
    log: Log

    async def guarded(
        self,
        context: Context,
        work: Callable[[Principal], Awaitable[T]],
        settled: Callable[[], Awaitable[None]] | None = None,
    ) -> T:
        """The work's answer for a caller who is known and for whom there is room. `settled` is awaited before an
        answer or a status leaves.
        """
        try:
            principal = await self.authenticator.authenticate(Proof(context))
            with self.admission.room:
                answer = await work(principal)
            if settled is not None:
                await settled()
            return answer  # noqa: TRY300 - it is the end of the work, not what follows an error
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # an answer is owed at once, whatever went wrong (also a panic)
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            await self._end(context, error, settled)

    async def streamed(
        self, context: Context, work: Callable[[Principal], AsyncIterator[Message]]
    ) -> AsyncIterator[bytes]:
        """The same for an answer of many parts. It holds no place in the gateway, and may be open for days: the proof
        has to hold for each part.
        """
        try:
            principal = await self.authenticator.authenticate(Proof(context))
            async for message in work(principal):
                if await self.authenticator.authenticate(Proof(context)) != principal:
                    raise Unauthenticated("the proof is another caller's by now")  # noqa: TRY301 - ends as every failure
                yield message.SerializeToString()
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            await self._end(context, error, None)

    async def _end(
        self, context: Context, error: BaseException, settled: Callable[[], Awaitable[None]] | None
    ) -> NoReturn:
        """The status for what ended the work."""
        if isinstance(error, Unauthenticated):
            self.metrics.unauthenticated(self.listener)
            self.log.limited("unauthenticated", why=str(error), peer=context.peer())
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "show who you are: no valid proof of identity")
        if isinstance(error, Overloaded):
            self.metrics.turned_away(TurnedAway.OVERLOADED)
            self.log.limited("overloaded")
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the gateway is overloaded; ask again later")
        if isinstance(error, Refusal):
            self.metrics.turned_away(error.reason)
            await _refuse(context, error)
        if isinstance(error, Refused):
            await context.abort(_STATUS_OF_KIND[error.kind], error.message, (("tollhouse-reason", error.kind.value),))
        if isinstance(error, grpc.aio.AbortError):
            raise error
        self.log.failure("surface_failed", error)
        if settled is not None:
            await settled()
        await context.abort(grpc.StatusCode.INTERNAL, "the gateway failed at this request")
        raise AssertionError("abort does not return")

    def unreadable(self) -> None:
        """A request that cannot be read was turned away."""
        self.metrics.turned_away(TurnedAway.UNREADABLE)


async def _refuse(context: Context, refusal: Refusal) -> NoReturn:
    """There was no call: the status says so, and when to come back."""
    status = _STATUS_OF_REFUSAL.get(refusal.reason, grpc.StatusCode.UNAVAILABLE)
    trailing = (("retry-after-ms", str(refusal.retry_after_ms)), ("tollhouse-reason", refusal.reason.value))
    await context.abort(status, refusal.message, trailing)
    raise AssertionError("abort does not return")


def unary(
    method: Callable[[Any, Context], Awaitable[bytes]],
    message: type[M],
    on_unreadable: Callable[[], None],
    *,
    most_characters: Mapping[str, int],
) -> "grpc.RpcMethodHandler[Any, Any]":
    """The handler of one request and one answer. Texts longer than they may be, or with a NUL, are INVALID_ARGUMENT."""
    checks = _Checks(message, on_unreadable, most_characters)

    async def checked(request: Any, context: Context) -> bytes:
        await checks.check(request, context)
        return await method(request, context)

    return grpc.unary_unary_rpc_method_handler(checked, request_deserializer=checks.read)


def streaming(
    method: Callable[[Any, Context], AsyncIterator[bytes]],
    message: type[M],
    on_unreadable: Callable[[], None],
    *,
    most_characters: Mapping[str, int],
) -> "grpc.RpcMethodHandler[Any, Any]":
    """The handler of one request and many answers."""
    checks = _Checks(message, on_unreadable, most_characters)

    async def checked(request: Any, context: Context) -> AsyncIterator[bytes]:
        await checks.check(request, context)
        async for part in method(request, context):
            yield part

    return grpc.unary_stream_rpc_method_handler(checked, request_deserializer=checks.read)


class _Checks:
    """Whether a request is the message that it should be, and its texts no longer than they may be."""

    def __init__(
        self, message: type[Message], on_unreadable: Callable[[], None], most_characters: Mapping[str, int]
    ) -> None:
        self._message = message
        self._on_unreadable = on_unreadable
        there = message.DESCRIPTOR.fields_by_name
        self._bounds = [(field, most) for field, most in most_characters.items() if field in there]

    def read(self, raw: bytes) -> Any:
        """The message, or `Unreadable`."""
        try:
            return self._message.FromString(raw)
        except DecodeError:
            return Unreadable

    async def check(self, request: Any, context: Context) -> None:
        """Returns when it may go on; aborts otherwise."""
        if request is Unreadable:
            self._on_unreadable()
            name = self._message.DESCRIPTOR.full_name
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"this is not a {name}")
        for field, most in self._bounds:
            text = getattr(request, field)
            if len(text) > most:
                self._on_unreadable()
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{field} may have at most {most} characters")
            if "\0" in text:  # PostgreSQL takes none, and would be taken for down
                self._on_unreadable()
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{field} may hold no NUL")


class Proof:
    """`Proof` in gRPC. Each is got when it is asked for: TLS writes the certificate out anew every time."""

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def metadata(self) -> Metadata:
        """What the caller sent ahead of the request."""
        return tuple(self._context.invocation_metadata() or ())

    @property
    def certificate(self) -> bytes:
        """The caller's certificate, PEM; empty without one."""
        # gRPC asks a client for a certificate only where it then verifies it.
        return next(iter(self._context.auth_context().get("x509_pem_cert", ())), b"")
