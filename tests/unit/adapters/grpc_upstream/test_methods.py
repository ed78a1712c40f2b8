"""A method as it can be called."""

from collections.abc import Callable

import pytest
from fakes.grpc_service.compiled import CUSTOMERS, KINDS, descriptor_set
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet

from adapters.grpc_upstream.closure import closure_of, digest_of
from adapters.grpc_upstream.files import BadDescriptors, Files, MethodName
from adapters.grpc_upstream.methods import MAX_BYTES, Method, method_of


def made(text: str, *files: str) -> Method:
    """Of a closure."""
    name = MethodName.of(text)
    return method_of(name, closure_of(Files.of_set(descriptor_set(*files)), name))


def test_a_method_has_its_messages_and_its_path() -> None:
    """Made of nothing but the bytes."""
    method = made("acme.customers.v1.CustomerService/AddNote", CUSTOMERS)
    assert method.path == "/acme.customers.v1.CustomerService/AddNote"
    assert method.request(customer_id="c").SerializeToString() == b"\x0a\x01c"
    assert method.response.DESCRIPTOR.full_name == "acme.customers.v1.Note"


def test_bytes_that_are_more_than_the_method_are_refused() -> None:
    """Whatever else they say would be pinned and not looked at."""
    name = MethodName.of("acme.customers.v1.CustomerService/AddNote")
    with pytest.raises(BadDescriptors, match="exactly"):
        method_of(name, descriptor_set(CUSTOMERS))


def test_a_method_that_streams_is_refused() -> None:
    """A tool is one request and one answer."""
    with pytest.raises(BadDescriptors, match="streams"):
        made("acme.customers.v1.CustomerService/WatchCustomer", CUSTOMERS)


def test_a_request_that_can_hold_anything_is_refused() -> None:
    """An answer that can is not: it is not judged before it is sent."""
    with pytest.raises(BadDescriptors, match="Any"):
        made("acme.kinds.v1.KindService/PublishThing", KINDS)
    assert made("acme.kinds.v1.KindService/ReadThings", KINDS).response.DESCRIPTOR.full_name == "google.protobuf.Any"


def test_descriptors_that_contradict_themselves_are_refused() -> None:
    """Two fields of one number."""
    name = MethodName.of("acme.customers.v1.CustomerService/AddNote")
    found = FileDescriptorSet.FromString(closure_of(Files.of_set(descriptor_set(CUSTOMERS)), name))
    found.file[0].message_type[0].field[1].number = 1
    with pytest.raises(BadDescriptors, match="contradict"):
        method_of(name, found.SerializeToString(deterministic=True))


def test_descriptors_without_end_are_refused() -> None:
    """Before they are read."""
    with pytest.raises(BadDescriptors, match="bytes at most"):
        method_of(MethodName.of("a.B/C"), b"x" * (MAX_BYTES + 1))


def test_two_methods_of_one_name_are_kept_apart() -> None:
    """Each has a pool of its own: what one row says is nothing to another."""
    one, other = (made("acme.customers.v1.CustomerService/AddNote", CUSTOMERS) for _ in range(2))
    assert one.digest == other.digest == digest_of(closure_of(Files.of_set(descriptor_set(CUSTOMERS)), one.name))
    assert one.request is not other.request


def echo(change: Callable[[dict[str, FileDescriptorProto]], object]) -> Method:
    """A method whose descriptors were changed before they were pinned."""
    found = FileDescriptorSet.FromString(descriptor_set(KINDS))
    change({file.name: file for file in found.file})
    name = MethodName.of("acme.kinds.v1.KindService/Echo")
    return method_of(name, closure_of(Files(found.file), name))


def entry(files: dict[str, FileDescriptorProto]) -> DescriptorProto:
    """The entries of the map `by_name`."""
    return next(one for one in files[KINDS].message_type[0].nested_type if one.name == "ByNameEntry")


@pytest.mark.parametrize(
    "change",
    [
        lambda files: entry(files).field.pop(),
        lambda files: setattr(entry(files).field[0], "name", "kez"),
        lambda files: setattr(entry(files).field[0], "type", 1),
        lambda files: setattr(files["google/protobuf/timestamp.proto"].message_type[0].field[0], "type", 9),
        lambda files: setattr(files["google/protobuf/wrappers.proto"].message_type[2].field[0], "name", "walue"),
        lambda files: files["google/protobuf/duration.proto"].message_type[0].field.pop(),
    ],
    ids=["no value", "no key", "key of numbers", "another moment", "another box", "another duration"],
)
def test_what_is_not_what_its_name_says_is_refused(change: Callable[[dict[str, FileDescriptorProto]], object]) -> None:
    """A pool takes it, and nobody could read or write it."""
    assert echo(lambda _files: None).request
    with pytest.raises(BadDescriptors, match="contradict"):
        echo(change)
