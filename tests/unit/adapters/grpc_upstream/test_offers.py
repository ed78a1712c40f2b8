"""What a service offers."""

import base64

import pytest
from fakes.grpc_service.compiled import CUSTOMERS, KINDS, OLD, descriptor_set
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from adapters.base import SideEffect
from adapters.grpc_upstream.binding import read_binding
from adapters.grpc_upstream.closure import digest_of
from adapters.grpc_upstream.offers import is_of_the_protocol, offers_of

OFFERS = {offer.name: offer for offer in offers_of(descriptor_set(CUSTOMERS, KINDS, OLD))}
SERVICE = "acme.customers.v1.CustomerService"


def test_every_method_is_offered_by_name() -> None:
    """In order."""
    assert list(OFFERS) == [
        *(f"{SERVICE}/{name}" for name in ("AddNote", "GetCustomer", "WatchCustomer")),
        *(f"acme.kinds.v1.KindService/{name}" for name in ("Echo", "PublishThing", "ReadThings")),
        "acme.kinds.v1.OldService/SendOld",
    ]


def test_an_offer_is_what_a_row_binds() -> None:
    """Its options make the operation, and hold the digest."""
    offer = OFFERS[f"{SERVICE}/AddNote"]
    assert read_binding(offer.options).method.digest == offer.digest == offer.options["pin"]
    assert digest_of(base64.b64decode(offer.options["descriptors"])) == offer.digest
    assert (offer.operation, offer.problems) == ("unary", ())
    assert offer.output_schema is not None
    assert list(offer.input_schema["properties"]) == ["customer_id", "text", "labels"]


def test_a_comment_is_the_description() -> None:
    """Where there is one."""
    assert OFFERS[f"{SERVICE}/AddNote"].description == "A note on a customer, for whoever looks at it next."
    assert OFFERS["acme.kinds.v1.KindService/Echo"].description == ""


@pytest.mark.parametrize(
    ("name", "side_effect"),
    [
        ("Get", "read"),
        ("GetCustomer", "read"),
        ("BatchGetX", "read"),
        ("Listen", "write"),
        ("GetterDo", "write"),
        ("SendMail", "send"),
        ("NotifyAll", "send"),
        ("Delete", "write"),
    ],
)
def test_a_name_is_a_hint_of_what_it_does(name: str, side_effect: str) -> None:
    """Whole words alone."""
    file = FileDescriptorProto(name="a.proto", package="p")
    file.message_type.add(name="M")
    file.service.add(name="S").method.add(name=name, input_type=".p.M", output_type=".p.M")
    (offer,) = offers_of(FileDescriptorSet(file=[file]).SerializeToString())
    assert offer.side_effect == SideEffect(side_effect)


def test_what_the_service_says_of_it_is_a_better_hint() -> None:
    """NO_SIDE_EFFECTS, whatever its name is."""
    found = FileDescriptorSet.FromString(descriptor_set(CUSTOMERS))
    found.file[-1].service[0].method[0].name = "Frobnicate"
    offers = {offer.name: offer for offer in offers_of(found.SerializeToString())}
    assert offers[f"{SERVICE}/Frobnicate"].side_effect is SideEffect.READ


@pytest.mark.parametrize(
    ("name", "words"),
    [(f"{SERVICE}/WatchCustomer", "streams"), ("acme.kinds.v1.KindService/PublishThing", "google.protobuf.Any")],
)
def test_what_can_be_no_tool_says_why(name: str, words: str) -> None:
    """In a sentence that begins with its name."""
    (problem,) = OFFERS[name].problems
    assert problem.startswith(name)
    assert words in problem


def test_a_type_that_is_missing_is_a_problem_of_that_method_alone() -> None:
    """The others are offered."""
    found = FileDescriptorSet.FromString(descriptor_set(CUSTOMERS))
    del found.file[0]  # google/protobuf/timestamp.proto
    offers = {offer.name: offer.problems for offer in offers_of(found.SerializeToString())}
    assert "not declared" in offers[f"{SERVICE}/GetCustomer"][0]
    assert offers[f"{SERVICE}/AddNote"] == ()


def test_bytes_that_are_no_set() -> None:
    """They are refused with a sentence."""
    with pytest.raises(ValueError, match="FileDescriptorSet"):
        offers_of(b"\xff")


def test_methods_without_end_are_refused() -> None:
    """A person could not look at them."""
    file = FileDescriptorProto(name="a.proto", package="p")
    file.message_type.add(name="M")
    service = file.service.add(name="S")
    for index in range(1001):
        service.method.add(name=f"M{index}", input_type=".p.M", output_type=".p.M")
    with pytest.raises(ValueError, match="1000 methods"):
        offers_of(FileDescriptorSet(file=[file]).SerializeToString())


def test_services_of_the_protocol_are_no_capability() -> None:
    """Every server has them."""
    assert is_of_the_protocol("grpc.health.v1.Health")
    assert is_of_the_protocol("grpc.reflection.v1alpha.ServerReflection")
    assert not is_of_the_protocol("grpcs.things.v1.Things")
