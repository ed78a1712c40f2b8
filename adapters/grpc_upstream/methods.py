"""A method as it can be called: the classes of its messages, made of its descriptors."""

from collections.abc import Iterable
from dataclasses import dataclass

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from adapters.grpc_upstream import well_known
from adapters.grpc_upstream.closure import closure_of, digest_of
from adapters.grpc_upstream.files import BadDescriptors, Files, MethodName
from adapters.grpc_upstream.shapes import fields_of, is_map, message_of

ANY = "google.protobuf.Any"
_CONTRADICT = "the descriptors contradict themselves"
MAX_BYTES = 512 * 1024
"""How large the descriptors of one method may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method whose request and whose answer are one message each."""

    name: MethodName
    digest: str
    """`sha256:` and hex over its closure."""
    request: type[Message]
    response: type[Message]

    @property
    def path(self) -> str:
        """As HTTP/2 carries it."""
        return f"/{self.name}"


def method_of(name: MethodName, data: bytes) -> Method:
    """The method that is described by a closure. Pure: nothing is asked.

    Raises `BadDescriptors`: for bytes that are not exactly the closure of this method, for a method that streams, and
    for a request with something in it that nobody could judge.
    """
    if len(data) > MAX_BYTES:
        raise BadDescriptors(f"the descriptors of a method may have {MAX_BYTES} bytes at most")
    files = Files.of_set(data)
    if closure_of(files, name) != data:
        raise BadDescriptors("these are not exactly the descriptors of this method; import it again")
    _, declared = files.method(name)
    if declared.client_streaming or declared.server_streaming:
        raise BadDescriptors("the method streams, and a tool is one request and one answer")
    pool = _pool(data)
    request = _found(pool, declared.input_type)
    response = _found(pool, declared.output_type)
    held = {one.full_name: one for message in (request, response) for one in _within(message)}
    if not all(map(_is_sound, held.values())):
        raise BadDescriptors(_CONTRADICT)
    if any(one.full_name == ANY for one in _within(request)):
        raise BadDescriptors(f"the request can hold a {ANY}, whose content nobody could judge")
    return Method(
        name=name, digest=digest_of(data), request=GetMessageClass(request), response=GetMessageClass(response)
    )


def _within(message: Descriptor) -> Iterable[Descriptor]:
    """The message, and each that can be anywhere in it."""
    seen: dict[str, Descriptor] = {}
    waiting = [message]
    while waiting:
        one = waiting.pop()
        if one.full_name not in seen:
            seen[one.full_name] = one
            waiting += [part for field in fields_of(one).values() if (part := message_of(field)) is not None]
    return seen.values()


def _is_sound(message: Descriptor) -> bool:
    """Whether it is what its name says, and its maps are maps: a pool takes whatever is called `Timestamp`."""
    return well_known.is_genuine(message) and all(map(_is_sound_map, filter(is_map, fields_of(message).values())))


def _is_sound_map(field: FieldDescriptor) -> bool:
    entry = message_of(field)
    parts = {} if entry is None else fields_of(entry)
    return bool(field.is_repeated) and parts.keys() == {"key", "value"} and parts["key"].cpp_type in _KEYS


_KEYS = frozenset(
    {FieldDescriptor.CPPTYPE_BOOL, FieldDescriptor.CPPTYPE_STRING}
    | {FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32}
    | {FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64}
)


def _pool(data: bytes) -> DescriptorPool:
    pool = DescriptorPool()
    try:
        for file in FileDescriptorSet.FromString(data).file:
            pool.AddSerializedFile(file.SerializeToString())
    except (TypeError, ValueError) as error:  # its text quotes the descriptors
        raise BadDescriptors(_CONTRADICT) from error
    return pool


def _found(pool: DescriptorPool, reference: str) -> Descriptor:
    try:
        return pool.FindMessageTypeByName(reference[1:])
    except KeyError as error:
        raise BadDescriptors(_CONTRADICT) from error
