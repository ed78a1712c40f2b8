"""`grpc.reflection`: which services a listener has and what their messages are. Nothing of tools.

Served as `v1`, which tools ask for first, and as `v1alpha`, its older name: the two are the same on the wire.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any, cast

import grpc
import grpc.aio
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha import reflection_pb2 as pb
from grpc_reflection.v1alpha.reflection import aio as library

from gateway.server.streams import bounded

ALPHA = pb.DESCRIPTOR.services_by_name["ServerReflection"].full_name
V1 = ALPHA.replace("v1alpha", "v1")
STREAMS = 16
"""Reflection streams at once on one listener: they are for people and their tools."""

Context = grpc.aio.ServicerContext[Any, Any]


class Reflection:
    """Tells of the services that are named, and of itself, until it is over. Other descriptors that this process
    has loaded are not found.
    """

    def __init__(self, services: Iterable[str], over: asyncio.Event) -> None:
        names = {*services, ALPHA, V1}
        self._servicer = library.ReflectionServicer(names, pool=_pool_of(names - {V1}))
        self._over = over

    def handlers(self) -> tuple[grpc.GenericRpcHandler, ...]:
        """The service under both of its names, for one listener."""
        behaviour = bounded(STREAMS, self._info)
        method = grpc.stream_stream_rpc_method_handler(behaviour, _read, pb.ServerReflectionResponse.SerializeToString)
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {"ServerReflectionInfo": method}
        return tuple(grpc.method_handlers_generic_handler(name, methods) for name in (V1, ALPHA))

    async def _info(self, _requests: Any, context: Context) -> None:
        answers = self._servicer.ServerReflectionInfo(self._requests(context), context)
        async for response in cast(AsyncIterator[pb.ServerReflectionResponse], answers):
            await context.write(response)

    async def _requests(self, context: Context) -> AsyncIterator[Any]:
        """What the client asks, until it or the gateway has had enough."""
        over = asyncio.ensure_future(self._over.wait())
        try:
            while True:
                read: asyncio.Future[Any] = asyncio.ensure_future(context.read())
                # Left alone it ends with the stream, and by an error that is of no interest. Cancelled it might not.
                read.add_done_callback(_forget)
                await asyncio.wait((read, over), return_when=asyncio.FIRST_COMPLETED)
                if not read.done() or (request := read.result()) is grpc.aio.EOF:
                    return
                yield request
        finally:
            over.cancel()


def _forget(read: "asyncio.Future[Any]") -> None:
    if not read.cancelled():
        read.exception()


def _read(raw: bytes) -> pb.ServerReflectionRequest:
    """The request. Bytes that are none are one that asks for nothing, and that is answered with INVALID_ARGUMENT."""
    try:
        return pb.ServerReflectionRequest.FromString(raw)
    except DecodeError:
        return pb.ServerReflectionRequest()


def _pool_of(services: Iterable[str]) -> descriptor_pool.DescriptorPool:
    """The files of these services, what those import, and reflection's own under its newer name."""
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()
    for service in services:
        with contextlib.suppress(KeyError):  # a service without a description is named, and that is all
            _add(pool, descriptor_pool.Default().FindFileContainingSymbol(service), added)
    pool.Add(_v1())
    return pool


def _add(pool: descriptor_pool.DescriptorPool, file: FileDescriptor, added: set[str]) -> None:
    if file.name in added:
        return
    added.add(file.name)
    for needed in file.dependencies:
        _add(pool, needed, added)
    pool.Add(_proto(file))


def _v1() -> FileDescriptorProto:
    """The library has `v1alpha` alone; `v1` differs from it in the package's name."""
    proto = _proto(pb.DESCRIPTOR)
    before, after = f".{proto.package}.", f".{V1.rpartition('.')[0]}."
    proto.name, proto.package = "grpc/reflection/v1/reflection.proto", after.strip(".")
    for message in proto.message_type:
        for field in message.field:
            if field.type_name:  # one that is set to nothing is set
                field.type_name = field.type_name.replace(before, after)
    for service in proto.service:
        for method in service.method:
            method.input_type = method.input_type.replace(before, after)
            method.output_type = method.output_type.replace(before, after)
    return proto


def _proto(file: Any) -> FileDescriptorProto:
    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    return proto
