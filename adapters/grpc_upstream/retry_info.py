"""How long a service asks to wait: `google.rpc.RetryInfo` in the details of a status."""

from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.any_pb2 import DESCRIPTOR as ANY_FILE
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.duration_pb2 import DESCRIPTOR as DURATION_FILE
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from adapters.transport.retry import MAX_RETRY_AFTER_SECONDS

_KEY = "grpc-status-details-bin"
_MAX_BYTES = 16 * 1024
_MAX_DETAILS = 16
_TYPE = "type.googleapis.com/google.rpc.RetryInfo"


def retry_after(metadata: Iterable[tuple[str, str | bytes]] | None) -> float | None:
    """The wait in seconds, from 0 to a day; None when none is asked for. Never raises, whatever a service sends."""
    waits = [wait for value in _details(metadata or ()) for wait in _waits(value)]
    return min(max(0.0, *waits), MAX_RETRY_AFTER_SECONDS) if waits else None


def _details(metadata: Iterable[tuple[str, str | bytes]]) -> Iterator[bytes]:
    for key, value in metadata:
        if key == _KEY and isinstance(value, bytes) and len(value) <= _MAX_BYTES:
            yield value


def _waits(data: bytes) -> Iterator[float]:
    try:
        for detail in _STATUS.FromString(data).details[:_MAX_DETAILS]:  # type: ignore[attr-defined]
            if detail.type_url == _TYPE:
                delay = _RETRY_INFO.FromString(detail.value).retry_delay  # type: ignore[attr-defined]
                yield delay.seconds + delay.nanos / 1e9
    except DecodeError:
        return


def _field(message: Any, name: str, number: int, type_name: str, *, is_repeated: bool = False) -> None:
    kind = FieldDescriptorProto.TYPE_MESSAGE if type_name else FieldDescriptorProto.TYPE_STRING
    label = FieldDescriptorProto.LABEL_REPEATED if is_repeated else FieldDescriptorProto.LABEL_OPTIONAL
    message.field.add(name=name, number=number, type=kind, label=label, type_name=type_name)


def _classes() -> tuple[type[Message], type[Message]]:
    """The two messages, in a pool of their own: somebody else in this process may bring the same names."""
    file = FileDescriptorProto(name="google/rpc/retry.proto", package="google.rpc", syntax="proto3")
    file.dependency.extend([ANY_FILE.name, DURATION_FILE.name])
    _field(file.message_type.add(name="Status"), "details", 3, f".{AnyMessage.DESCRIPTOR.full_name}", is_repeated=True)
    _field(file.message_type.add(name="RetryInfo"), "retry_delay", 1, ".google.protobuf.Duration")
    pool = DescriptorPool()
    for data in (ANY_FILE.serialized_pb, DURATION_FILE.serialized_pb, file.SerializeToString()):
        pool.AddSerializedFile(data)
    found = [pool.FindMessageTypeByName(f"google.rpc.{name}") for name in ("Status", "RetryInfo")]
    return GetMessageClass(found[0]), GetMessageClass(found[1])


_STATUS, _RETRY_INFO = _classes()
