"""What a service says of itself: the protocol of server reflection, whose v1 and v1alpha differ by name alone."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.grpc_upstream.files import BadDescriptors, Files
from adapters.grpc_upstream.metadata import Metadata
from adapters.grpc_upstream.statuses import status_error

T = TypeVar("T")
_PATHS = tuple(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo" for version in ("v1", "v1alpha"))
_MAX_FILES = 500
_MAX_BYTES = 8 * 1024 * 1024
_MAX_SERVICES = 200
_SECONDS = 10.0
_NOT_FOUND = grpc.StatusCode.NOT_FOUND.value[0]


class NoReflection(AdapterError):  # noqa: N818 - one kind of AdapterError, caught by its name
    """The service does not publish what it offers, so nobody can tell whether it has changed."""

    def __init__(self) -> None:
        message = (
            "The service does not publish what it offers, so it cannot be compared with what was accepted; "
            "its operator can turn reflection on, or say `reflection: false` in the connection."
        )
        super().__init__(ErrorKind.CHANGED, message, happened=Happened.NO)


class Conversation:
    """Questions and answers by one version of the protocol, each question a stream of its own: of a stream that is
    written to while the server ends it nobody learns why it ended.
    """

    def __init__(self, channel: grpc.aio.Channel, path: str, metadata: Metadata, until: float) -> None:
        """`until` is on the event loop's clock."""
        self._call: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(path)
        self._metadata = metadata
        self._until = until
        self._bytes = 0

    async def services(self) -> list[str]:
        """The full names of all services. Raises `AdapterError`."""
        answer = await self._ask(ServerReflectionRequest(list_services="*"))
        names = [one.name for one in answer.list_services_response.service]
        if len(names) > _MAX_SERVICES:
            raise _too_much()
        return names

    async def files(self, services: list[str]) -> Files:
        """Every file that these services need, as far as the server has it.

        Raises `AdapterError`: `changed` when it has no such service, `too_large` beyond the bounds.
        """
        found: dict[str, FileDescriptorProto] = {}
        imported: set[str] = set()
        for service in services:
            answer = await self._ask(ServerReflectionRequest(file_containing_symbol=service))
            if not answer.file_descriptor_response.file_descriptor_proto:
                raise _gone()
            imported |= _add(found, answer)
        asked: set[str] = set()
        while missing := sorted(imported - found.keys() - asked):
            asked.update(missing)
            if len(asked) > _MAX_FILES:
                raise _too_much()
            for name in missing:
                # What it does not have may be a file of options alone, which nobody needs.
                imported |= _add(found, await self._ask(ServerReflectionRequest(file_by_filename=name)))
        try:
            return await asyncio.to_thread(Files, list(found.values()))  # megabytes would hold up everybody
        except BadDescriptors as problem:
            raise _unreadable() from problem

    async def _ask(self, request: ServerReflectionRequest) -> ServerReflectionResponse:
        left = self._until - asyncio.get_running_loop().time()
        stream = self._call(
            request.SerializeToString(), timeout=max(left, 0.0), metadata=self._metadata, wait_for_ready=False
        )
        try:
            data = await stream.read()
        finally:
            stream.cancel()
        if not isinstance(data, bytes):  # it has ended
            raise _unreadable()
        self._bytes += len(data)
        if self._bytes > _MAX_BYTES:
            raise _too_much()
        try:
            answer = ServerReflectionResponse.FromString(data)
        except DecodeError as error:
            raise _unreadable() from error
        if answer.HasField("error_response") and answer.error_response.error_code != _NOT_FOUND:
            raise _unreadable()
        return answer


async def ask(
    channel: grpc.aio.Channel, metadata: Metadata, seconds: float, questions: Callable[[Conversation], Awaitable[T]]
) -> T:
    """What the questions bring, by the newest version that the server speaks. Nothing is done to the world by it.

    Raises `NoReflection` when it speaks none, and other `AdapterError`s.
    """
    until = asyncio.get_running_loop().time() + min(seconds, _SECONDS)
    for path in _PATHS:
        try:
            return await questions(Conversation(channel, path, metadata, until))
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                raise status_error(error, has_effect=False) from None
    raise NoReflection


def _add(found: dict[str, FileDescriptorProto], answer: ServerReflectionResponse) -> set[str]:
    """The names of what the files that are new import: gone through once, since they may be as many as fit."""
    imported: set[str] = set()
    for data in answer.file_descriptor_response.file_descriptor_proto:
        try:
            file = FileDescriptorProto.FromString(data)
        except DecodeError as error:
            raise _unreadable() from error
        if found.setdefault(file.name, file) is file:
            imported.update(file.dependency)
    if len(found) > _MAX_FILES:
        raise _too_much()
    return imported


def _gone() -> AdapterError:
    message = "The service does not offer this any more; tell an operator."
    return AdapterError(ErrorKind.CHANGED, message, happened=Happened.NO)


def _unreadable() -> AdapterError:
    message = "What the service says of itself cannot be read; tell an operator."
    return AdapterError(ErrorKind.MALFORMED, message, happened=Happened.NO, fault=Fault.MALFORMED)


def _too_much() -> AdapterError:
    message = "What the service says of itself is more than is read; tell an operator."
    return AdapterError(ErrorKind.TOO_LARGE, message, happened=Happened.NO, fault=Fault.MALFORMED)
