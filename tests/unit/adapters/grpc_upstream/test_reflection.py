"""What a service says of itself."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from fakes.grpc_service.compiled import CUSTOMERS, KINDS, descriptor_set, pool_of
from fakes.grpc_service.server import V1, GrpcServer, grpc_server, publishing
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha.reflection import SERVICE_NAME as V1ALPHA
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionResponse

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.grpc_upstream import reflection
from adapters.grpc_upstream.files import Files
from adapters.grpc_upstream.reflection import Conversation, NoReflection, ask

SERVICES = ("acme.customers.v1.CustomerService", "acme.kinds.v1.KindService")
Respond = Callable[[], Any]


class Answering(grpc.GenericRpcHandler):
    """Reflection that answers every question in one way."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond

    def service(self, details: Any) -> Any:
        """What gRPC calls."""
        if not details.method.endswith("/ServerReflectionInfo"):
            return None

        async def handle(requests: AsyncIterator[bytes], _context: Any) -> AsyncIterator[bytes]:
            async for _ in requests:
                answer = self._respond()
                yield answer if isinstance(answer, bytes) else answer.SerializeToString()

        return grpc.stream_stream_rpc_method_handler(handle)


@asynccontextmanager
async def channel_to(server: GrpcServer) -> AsyncIterator[grpc.aio.Channel]:
    """In clear."""
    async with grpc.aio.insecure_channel(f"ipv4:127.0.0.1:{server.port}") as channel:
        yield channel


async def asked(handler: Any, questions: Callable[[Conversation], Awaitable[Any]], seconds: float = 5.0) -> Any:
    """What a server with this reflection says."""
    async with grpc_server({}, reflecting=handler) as server, channel_to(server) as channel:
        return await ask(channel, (), seconds, questions)


async def refused(respond: Respond) -> AdapterError:
    """The error when a server answers so."""
    with pytest.raises(AdapterError) as caught:
        await asked(Answering(respond), lambda conversation: conversation.files(["a.B"]))
    assert caught.value.happened is Happened.NO
    return caught.value


@pytest.mark.parametrize("versions", [(V1,), (V1ALPHA,), (V1, V1ALPHA)])
async def test_both_versions_are_understood(versions: tuple[str, ...]) -> None:
    """Services by name, and every file that they need."""
    data = descriptor_set(CUSTOMERS, KINDS)
    reflecting = publishing(data, pool_of(data), *SERVICES, versions=versions)
    services = await asked(reflecting, lambda conversation: conversation.services())
    assert set(SERVICES) < set(services)
    files = await asked(reflecting, lambda conversation: conversation.files(list(SERVICES)))
    assert {CUSTOMERS, KINDS, "google/protobuf/timestamp.proto"} < files.by_name.keys()


@pytest.mark.parametrize("versions", [(), ("grpc.reflection.v2.ServerReflection",)])
async def test_a_server_without_reflection_is_told_apart(versions: tuple[str, ...]) -> None:
    """In a sentence that says what to do."""
    data = descriptor_set(CUSTOMERS)
    with pytest.raises(NoReflection) as caught:
        await asked(publishing(data, pool_of(data), versions=versions), lambda conversation: conversation.services())
    assert "reflection: false" in caught.value.message
    assert len(caught.value.message) <= 300


async def test_a_service_that_is_not_there_has_changed() -> None:
    """It was once."""
    data = descriptor_set(CUSTOMERS)
    with pytest.raises(AdapterError) as caught:
        await asked(publishing(data, pool_of(data), *SERVICES), lambda conversation: conversation.files(["acme.No"]))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.CHANGED, Happened.NO)


async def test_a_file_that_the_server_does_not_have_may_not_be_needed() -> None:
    """Such as one of options alone."""
    file = FileDescriptorProto(name="a.proto", package="a", dependency=["google/api/annotations.proto"])
    file.service.add(name="B")
    answers = iter([file])

    def respond() -> ServerReflectionResponse:
        answer = ServerReflectionResponse()
        for one in answers:
            answer.file_descriptor_response.file_descriptor_proto.append(one.SerializeToString())
            return answer
        answer.error_response.error_code = grpc.StatusCode.NOT_FOUND.value[0]
        return answer

    files = await asked(Answering(respond), lambda conversation: conversation.files(["a.B"]))
    assert list(files.by_name) == ["a.proto"]


def numbered() -> Respond:
    """Each file needs one more."""
    count = 0

    def respond() -> ServerReflectionResponse:
        nonlocal count
        count += 1
        file = FileDescriptorProto(name=f"{count - 1}.proto", dependency=[f"{count}.proto"])
        answer = ServerReflectionResponse()
        answer.file_descriptor_response.file_descriptor_proto.append(file.SerializeToString())
        return answer

    return respond


def heavy() -> ServerReflectionResponse:
    """Three megabytes each time."""
    answer = ServerReflectionResponse()
    file = FileDescriptorProto(name="a.proto", dependency=["b.proto", "c.proto", "d.proto"], package="x" * 3_000_000)
    answer.file_descriptor_response.file_descriptor_proto.append(file.SerializeToString())
    return answer


def declared_twice() -> ServerReflectionResponse:
    """Two files with one message."""
    answer = ServerReflectionResponse()
    for name in ("a.proto", "b.proto"):
        file = FileDescriptorProto(name=name)
        file.message_type.add(name="M")
        answer.file_descriptor_response.file_descriptor_proto.append(file.SerializeToString())
    return answer


def bad_file() -> ServerReflectionResponse:
    """Bytes that are no file."""
    answer = ServerReflectionResponse()
    answer.file_descriptor_response.file_descriptor_proto.append(b"\xff\xff")
    return answer


def fault() -> ServerReflectionResponse:
    """An error that is not that something is missing."""
    answer = ServerReflectionResponse()
    answer.error_response.error_code = grpc.StatusCode.INTERNAL.value[0]
    return answer


@pytest.mark.parametrize(
    ("respond", "kind"),
    [
        (numbered(), ErrorKind.TOO_LARGE),
        (heavy, ErrorKind.TOO_LARGE),
        (bad_file, ErrorKind.MALFORMED),
        (declared_twice, ErrorKind.MALFORMED),
        (fault, ErrorKind.MALFORMED),
        (lambda: b"\xff\xff", ErrorKind.MALFORMED),
        (ServerReflectionResponse, ErrorKind.CHANGED),
    ],
    ids=["files", "bytes", "no file", "twice", "fault", "no answer", "empty"],
)
async def test_whatever_a_server_says_ends_well(respond: Respond, kind: ErrorKind) -> None:
    """Within bounds."""
    assert (await refused(respond)).kind is kind


async def test_services_without_end_are_refused() -> None:
    """Nobody could look at them."""

    def respond() -> ServerReflectionResponse:
        answer = ServerReflectionResponse()
        for index in range(201):
            answer.list_services_response.service.add(name=f"a.S{index}")
        return answer

    with pytest.raises(AdapterError) as caught:
        await asked(Answering(respond), lambda conversation: conversation.services())
    assert caught.value.kind is ErrorKind.TOO_LARGE


async def test_a_server_that_does_not_answer_is_left_at_the_deadline() -> None:
    """Nothing was done to the world."""

    class Silent(Answering):
        def service(self, details: Any) -> Any:
            async def handle(requests: AsyncIterator[bytes], _context: Any) -> AsyncIterator[bytes]:
                await asyncio.Event().wait()
                yield b""

            return grpc.stream_stream_rpc_method_handler(handle)

    with pytest.raises(AdapterError) as caught:
        await asked(Silent(bytes), lambda conversation: conversation.services(), 0.2)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.DEADLINE, Happened.NO)


async def test_a_conversation_that_ends_early_is_unreadable() -> None:
    """The server hung up in good order."""

    class Brief(Answering):
        def service(self, details: Any) -> Any:
            async def handle(_requests: AsyncIterator[bytes], _context: Any) -> AsyncIterator[bytes]:
                for nothing in ():
                    yield nothing

            return grpc.stream_stream_rpc_method_handler(handle)

    with pytest.raises(AdapterError) as caught:
        await asked(Brief(bytes), lambda conversation: conversation.services())
    assert caught.value.kind is ErrorKind.MALFORMED


async def test_what_a_service_says_is_gone_through_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be megabytes of names."""
    threads: list[int] = []

    class Seen(Files):
        def __init__(self, files: Iterable[FileDescriptorProto]) -> None:
            threads.append(threading.get_ident())
            super().__init__(files)

    monkeypatch.setattr(reflection, "Files", Seen)
    data = descriptor_set(CUSTOMERS)
    handler = publishing(data, pool_of(data), SERVICES[0])
    found = await asked(handler, lambda conversation: conversation.files([SERVICES[0]]))
    assert SERVICES[0] in found.services
    assert threads
    assert threading.get_ident() not in threads
