"""What is pinned of a method."""

from collections.abc import Callable

import pytest
from fakes.grpc_service.compiled import CUSTOMERS, KINDS, OLD, descriptor_set, pool_of
from google.protobuf.descriptor_pb2 import Edition, FeatureSet, FileDescriptorProto, FileDescriptorSet

from adapters.grpc_upstream.closure import closure_of, digest_of
from adapters.grpc_upstream.files import BadDescriptors, Files, MethodName

ADD = MethodName.of("acme.customers.v1.CustomerService/AddNote")
GET = MethodName.of("acme.customers.v1.CustomerService/GetCustomer")
ECHO = MethodName.of("acme.kinds.v1.KindService/Echo")
SEND = MethodName.of("acme.kinds.v1.OldService/SendOld")


def changed(change: Callable[[FileDescriptorProto], object], name: MethodName = ADD) -> bytes:
    """The closure when something about the file of customers is another."""
    found = FileDescriptorSet.FromString(descriptor_set(CUSTOMERS))
    change(next(file for file in found.file if file.name == CUSTOMERS))
    return closure_of(Files(found.file), name)


def closure(name: MethodName = ADD) -> bytes:
    """As it is."""
    return closure_of(Files.of_set(descriptor_set(CUSTOMERS, KINDS, OLD)), name)


def test_it_holds_what_the_method_needs_and_nothing_else() -> None:
    """One method, the messages that it can carry, and the files of those alone."""
    (file,) = FileDescriptorSet.FromString(closure()).file
    assert [one.name for one in file.message_type] == ["AddNoteRequest", "Note"]
    assert [one.name for one in file.message_type[0].nested_type] == ["LabelsEntry"]
    assert [method.name for service in file.service for method in service.method] == ["AddNote"]
    assert not file.dependency
    assert not file.enum_type
    assert not file.HasField("source_code_info")


def test_files_come_after_those_that_they_need() -> None:
    """So that whoever reads them in order has everything."""
    found = FileDescriptorSet.FromString(closure(GET)).file
    assert [file.name for file in found] == ["google/protobuf/timestamp.proto", CUSTOMERS]
    assert list(found[1].dependency) == ["google/protobuf/timestamp.proto"]
    assert not found[0].options.go_package


@pytest.mark.parametrize("name", [ADD, GET, ECHO, SEND], ids=str)
def test_a_closure_is_its_own_closure_and_can_be_used(name: MethodName) -> None:
    """Pruning once more changes nothing, and a pool takes it."""
    data = closure(name)
    assert closure_of(Files.of_set(data), name) == data
    assert pool_of(data).FindServiceByName(name.service).methods_by_name[name.method].name == name.method


def test_a_type_nested_in_one_that_is_not_needed_keeps_its_name() -> None:
    """The outer one is an empty shell then."""
    found = FileDescriptorSet.FromString(descriptor_set(KINDS))
    file = next(one for one in found.file if one.name == KINDS)
    file.service[0].method.add(
        name="Only", input_type=".acme.kinds.v1.Kinds.Inner", output_type=".acme.kinds.v1.Kinds.Inner"
    )
    data = closure_of(Files(found.file), MethodName.of("acme.kinds.v1.KindService/Only"))
    (outer,) = FileDescriptorSet.FromString(data).file[0].message_type
    assert (outer.name, len(outer.field), [one.name for one in outer.nested_type]) == ("Kinds", 0, ["Inner"])


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.service[0].method.add(
            name="Another", input_type=".acme.customers.v1.Note", output_type=".acme.customers.v1.Note"
        ),
        lambda file: file.message_type.add(name="Another"),
        lambda file: file.ClearField("source_code_info"),
        lambda file: setattr(file.options, "go_package", "elsewhere"),
        lambda file: file.dependency.append("google/api/annotations.proto"),
        lambda file: [field.ClearField("json_name") for one in file.message_type for field in one.field],
        lambda file: setattr(file.message_type[3].field[0].options, "deprecated", True),
        lambda file: file.enum_type[0].value.add(name="TIER_NEW", number=9),
    ],
    ids=["method", "message", "comments", "option", "import", "JSON names", "deprecated", "enum of another"],
)
def test_what_does_not_change_the_method_does_not_change_the_pin(
    change: Callable[[FileDescriptorProto], object],
) -> None:
    """A service that gains something has not changed what it had."""
    assert digest_of(changed(change)) == digest_of(closure())


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.message_type[2].field.add(name="urgent", number=4, type=8, label=1),
        lambda file: setattr(file.message_type[2].field[0], "name", "id"),
        lambda file: setattr(file.message_type[2].field[0], "number", 9),
        lambda file: setattr(file.message_type[2].field[0], "type", 12),
        lambda file: setattr(file.message_type[3].field[1], "label", 3),
        lambda file: setattr(file.service[0].method[1], "output_type", ".acme.customers.v1.Customer"),
        lambda file: setattr(file.service[0].method[1], "server_streaming", True),
        lambda file: setattr(file.service[0].method[1], "client_streaming", True),
        lambda file: setattr(file.service[0].method[1].options, "idempotency_level", 2),
        lambda file: setattr(file, "syntax", "proto2"),
        lambda file: file.options.features.MergeFrom(FeatureSet(field_presence=FeatureSet.IMPLICIT)),
    ],
    ids=[
        "field",
        "name",
        "number",
        "type",
        "label",
        "answer",
        "streams",
        "takes a stream",
        "level",
        "syntax",
        "features",
    ],
)
def test_what_changes_the_method_changes_the_pin(change: Callable[[FileDescriptorProto], object]) -> None:
    """In its request, in its answer, or in itself."""
    assert digest_of(changed(change)) != digest_of(closure())


def test_files_in_a_circle_are_refused() -> None:
    """No order of them is one."""
    one = FileDescriptorProto(name="a.proto", package="p", dependency=["b.proto"])
    one.message_type.add(name="A").field.add(name="b", number=1, type=11, label=1, type_name=".p.B")
    other = FileDescriptorProto(name="b.proto", package="p", dependency=["a.proto"])
    other.message_type.add(name="B").field.add(name="a", number=1, type=11, label=1, type_name=".p.A")
    one.service.add(name="S").method.add(name="M", input_type=".p.A", output_type=".p.B")
    with pytest.raises(BadDescriptors, match="circle"):
        closure_of(Files([one, other]), MethodName.of("p.S/M"))


def test_files_without_end_are_refused() -> None:
    """More than 500 of one method."""
    files = [FileDescriptorProto(name=f"{index}.proto", package=f"p{index}") for index in range(501)]
    for index, file in enumerate(files):
        message = file.message_type.add(name="M")
        if index < 500:
            message.field.add(name="m", number=1, type=11, label=1, type_name=f".p{index + 1}.M")
    files[0].service.add(name="S").method.add(name="M", input_type=".p0.M", output_type=".p0.M")
    with pytest.raises(BadDescriptors, match="500 files"):
        closure_of(Files(files), MethodName.of("p0.S/M"))


def test_types_without_end_are_refused() -> None:
    """More than 2,000 of one method."""
    file = FileDescriptorProto(name="a.proto", package="p")
    for index in range(2001):
        message = file.message_type.add(name=f"M{index}")
        if index < 2000:
            message.field.add(name="m", number=1, type=11, label=1, type_name=f".p.M{index + 1}")
    file.service.add(name="S").method.add(name="M", input_type=".p.M0", output_type=".p.M0")
    with pytest.raises(BadDescriptors, match="2000 types"):
        closure_of(Files([file]), MethodName.of("p.S/M"))


def test_a_digest_says_how_it_was_made() -> None:
    """SHA-256."""
    assert digest_of(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_the_features_of_what_holds_a_type_are_pinned() -> None:
    """A type within a message has them from it, also when nothing else of that message is needed."""

    def digest(*features: FeatureSet) -> str:
        file = FileDescriptorProto(name="a.proto", package="p", edition=Edition.EDITION_2023)
        outer = file.message_type.add(name="Outer")
        outer.nested_type.add(name="In")
        for each in features:
            outer.options.features.MergeFrom(each)
        file.service.add(name="S").method.add(name="M", input_type=".p.Outer.In", output_type=".p.Outer.In")
        return digest_of(closure_of(Files([file]), MethodName.of("p.S/M")))

    assert digest() != digest(FeatureSet(field_presence=FeatureSet.IMPLICIT))
