"""A gRPC server on loopback whose methods answer as a test says, with reflection or without."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.reflection import SERVICE_NAME, ReflectionServicer

V1 = "grpc.reflection.v1.ServerReflection"

Answer = Callable[[bytes, grpc.aio.ServicerContext], Awaitable[Message | bytes]]


@dataclass
class Asked:
    """A request that arrived."""

    method: str
    request: bytes = field(repr=False)
    metadata: dict[str, str | bytes]
    seconds_left: float | None


class Reflecting(grpc.GenericRpcHandler):
    """Server reflection under the names that it is to be known by. `looks` counts how often a service is asked for."""

    def __init__(self, service_names: Sequence[str], pool: DescriptorPool, names: Sequence[str]) -> None:
        self._servicer = ReflectionServicer(service_names, pool)
        self._names = names
        self.looks = 0

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """What gRPC calls."""
        service, _, method = details.method[1:].partition("/")
        if service not in self._names or method != "ServerReflectionInfo":
            return None
        return grpc.stream_stream_rpc_method_handler(
            self._servicer.ServerReflectionInfo, self._read, lambda answer: answer.SerializeToString()
        )

    def _read(self, data: bytes) -> reflection_pb2.ServerReflectionRequest:
        question = reflection_pb2.ServerReflectionRequest.FromString(data)
        self.looks += question.HasField("file_containing_symbol")
        return question

    def now(self, service_names: Sequence[str], pool: DescriptorPool) -> None:
        """Publish something else from here on."""
        self._servicer = ReflectionServicer(service_names, pool)


@dataclass
class GrpcServer(grpc.GenericRpcHandler):
    """Every call of a method in `answers` is kept in `asked` and answered; others are unimplemented."""

    answers: dict[str, Answer]
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    reflecting: Reflecting | None = None
    server: Any = None

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """What gRPC calls."""
        answer = self.answers.get(details.method[1:])
        if answer is None:
            return None

        async def handle(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
            beside = dict(context.invocation_metadata() or ())
            self.asked.append(Asked(details.method[1:], request, beside, context.time_remaining()))
            said = await answer(request, context)
            return said if isinstance(said, bytes) else said.SerializeToString()

        return grpc.unary_unary_rpc_method_handler(handle)


def saying(said: Message | bytes) -> Answer:
    """Always this."""

    async def answer(_request: bytes, _context: grpc.aio.ServicerContext) -> Message | bytes:
        return said

    return answer


def refusing(code: grpc.StatusCode, words: str = "", trailing: Sequence[tuple[str, str | bytes]] = ()) -> Answer:
    """Always this status."""

    async def answer(_request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        await context.abort(code, words, tuple(trailing))
        raise AssertionError

    return answer


@asynccontextmanager
async def grpc_server(
    answers: dict[str, Answer],
    *,
    reflecting: Reflecting | None = None,
    credentials: grpc.ServerCredentials | None = None,
    compression: grpc.Compression = grpc.Compression.NoCompression,
    port: int = 0,
) -> AsyncIterator[GrpcServer]:
    """A server on loopback; what it holds back ends with it."""
    itself = GrpcServer(answers, reflecting=reflecting)
    itself.server = server = grpc.aio.server(options=[("grpc.so_reuseport", 0)], compression=compression)
    server.add_generic_rpc_handlers((itself, *([reflecting] if reflecting else [])))
    address = f"127.0.0.1:{port}"
    if credentials is None:
        itself.port = server.add_insecure_port(address)
    else:
        itself.port = server.add_secure_port(address, credentials)
    await server.start()
    try:
        yield itself
    finally:
        await server.stop(None)


def publishing(
    data: bytes, pool: DescriptorPool, *names: str, versions: Sequence[str] = (V1, SERVICE_NAME)
) -> Reflecting:
    """Reflection of these services."""
    return Reflecting([*names, SERVICE_NAME], pool, versions)
