"""File descriptors, and what they declare."""

import pytest
from fakes.grpc_service.compiled import CUSTOMERS, KINDS, descriptor_set
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

from adapters.grpc_upstream.files import MAX_DEPTH, BadDescriptors, Files, MethodName


def test_a_method_has_a_service_and_a_name() -> None:
    """And is written as it is read."""
    name = MethodName.of("acme.v1.Things/Get")
    assert (name.service, name.method, str(name)) == ("acme.v1.Things", "Get", "acme.v1.Things/Get")


@pytest.mark.parametrize(
    "text", ["", "Get", "/Get", "acme.Things/", "a/b/c", "acme..Things/Get", "a b/C", "ä/B", "a/B\n", "a/" + "B" * 600]
)
def test_another_form_is_none(text: str) -> None:
    """It is refused."""
    with pytest.raises(ValueError, match="form"):
        MethodName.of(text)


def test_a_set_is_indexed() -> None:
    """By service, and by type with whatever is nested in it."""
    files = Files.of_set(descriptor_set(CUSTOMERS, KINDS))
    assert {"acme.customers.v1.CustomerService", "acme.kinds.v1.KindService"} <= files.services.keys()
    assert files.place(".acme.kinds.v1.Kinds.Inner").file == KINDS
    file, method = files.method(MethodName.of("acme.customers.v1.CustomerService/AddNote"))
    assert (file, method.output_type) == (CUSTOMERS, ".acme.customers.v1.Note")


@pytest.mark.parametrize("text", ["acme.customers.v1.CustomerService/No", "acme.No/AddNote"])
def test_a_method_that_is_not_declared(text: str) -> None:
    """It is named."""
    with pytest.raises(BadDescriptors, match=text.rpartition("/")[2]):
        Files.of_set(descriptor_set(CUSTOMERS)).method(MethodName.of(text))


@pytest.mark.parametrize("reference", ["acme.kinds.v1.Kinds", ".acme.No", ""])
def test_a_type_that_is_not_declared(reference: str) -> None:
    """A reference that is not written in full leads nowhere either."""
    with pytest.raises(BadDescriptors, match="not declared"):
        Files.of_set(descriptor_set(KINDS)).place(reference)


def test_bytes_that_are_no_set() -> None:
    """They are refused."""
    with pytest.raises(BadDescriptors, match="FileDescriptorSet"):
        Files.of_set(b"\xff\xff")


def test_one_name_twice() -> None:
    """Of two files that declare it nobody could say which is meant; one file that is there twice is one."""
    one, other = FileDescriptorProto(name="a.proto", package="p"), FileDescriptorProto(name="b.proto", package="p")
    for file in (one, other):
        file.message_type.add(name="M")
    assert Files([one, one]).place(".p.M").file == "a.proto"
    with pytest.raises(BadDescriptors, match=r"p\.M is declared twice"):
        Files([one, other])
    for file in (one, other):
        file.ClearField("message_type")
        file.service.add(name="S")
    with pytest.raises(BadDescriptors, match=r"p\.S is declared twice"):
        Files([one, other])


def test_messages_in_messages_without_end() -> None:
    """They are refused before they fill the stack."""
    message = DescriptorProto(name="M")
    for _ in range(MAX_DEPTH + 2):
        message = DescriptorProto(name="M", nested_type=[message])
    with pytest.raises(BadDescriptors, match="too deep"):
        Files([FileDescriptorProto(name="a.proto", message_type=[message])])


def test_a_name_that_is_no_text_is_refused() -> None:
    """The library would hand it out as octets."""
    with pytest.raises(BadDescriptors, match="no text"):
        Files.of_set(descriptor_set(CUSTOMERS).replace(b"note_id", b"note\xff\xfed"))
