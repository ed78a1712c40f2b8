"""JSON Schemas of messages."""

from contextlib import suppress
from typing import Any

from fakes.grpc_service.compiled import CUSTOMERS, KINDS, OLD, message, pool_of
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import ArgumentProblem
from adapters.grpc_upstream.answers import write_message
from adapters.grpc_upstream.arguments import read_message
from adapters.grpc_upstream.schemas import input_schema, output_schema
from adapters.grpc_upstream.shapes import shape_of
from gateway.arguments.schema import compile_schema
from gateway.registry import schemas

KIND = message("acme.kinds.v1.Kinds", KINDS)
GOOD: dict[str, Any] = {
    "flag": True,
    "text": "x",
    "octets": "AP8=",
    "small": -1,
    "natural": 1,
    "long": "-9223372036854775808",
    "long_natural": "1",
    "short_number": 0.5,
    "number": 1e300,
    "colour": "COLOUR_RED",
    "maybe": "x",
    "numbers": ["1"],
    "by_name": [{"key": "a", "value": {"name": "x"}}],
    "by_number": [{"key": 1, "value": True}],
    "by_flag": [{"key": True, "value": "1"}],
    "within": {"within": {"text": "x"}},
    "second": {"name": "b"},
    "moment": "2026-05-31T09:00:00Z",
    "duration": "1.5s",
    "boxed": "7",
    "object": '{"a": 1}',
    "anything": "x",
    "list": "[1]",
    "inners": [{"name": "a"}],
}


def test_an_input_schema_is_one_that_the_registry_takes() -> None:
    """Closed at every depth, pointing nowhere else, and with every value described."""
    schema = input_schema(shape_of(KIND))
    assert [*schemas.closed(schema), *schemas.local(schema), *schemas.strict(schema)] == []
    compile_schema(schema)


def test_what_the_input_schema_lets_in_is_a_message() -> None:
    """And the schema lets in every kind of field."""
    assert compile_schema(input_schema(shape_of(KIND))).issues(GOOD) == ()
    assert GOOD.keys() == input_schema(shape_of(KIND))["properties"].keys() - {"first"}
    read_message(KIND, GOOD)


@given(st.sampled_from(sorted(GOOD)), st.sampled_from([None, 1.5, -1, "x", True, [], [1], {}, {"x": 1}, "2026-02-30"]))
def test_what_is_no_message_is_told_by_the_schema_or_by_its_reading(name: str, value: Any) -> None:
    """No value passes both and becomes something else."""
    schema = compile_schema(input_schema(shape_of(KIND)))
    if schema.is_valid({name: value}):
        with suppress(ArgumentProblem):
            assert name in write_message(read_message(KIND, {name: value}))


def test_an_answer_fits_the_output_schema() -> None:
    """Full, empty, and with what only a newer service knows."""
    schema = compile_schema(output_schema(shape_of(KIND)))
    for answer in (read_message(KIND, GOOD), KIND(), KIND(colour=9, number=float("nan"))):
        assert schema.issues(write_message(answer)) == ()


def test_a_message_within_itself_refers_to_its_place() -> None:
    """So that the schema ends."""
    schema = input_schema(shape_of(KIND))
    assert schema["properties"]["within"] == {"$ref": "#/$defs/acme.kinds.v1.Kinds"}
    assert list(schema["$defs"]) == ["acme.kinds.v1.Kinds", "acme.kinds.v1.Kinds.Inner"]


def test_messages_that_lead_on_without_end_are_described_all_the_same() -> None:
    """A thousand in a row are no thousand calls."""
    file = FileDescriptorProto(name="a.proto", package="p", syntax="proto3")
    for index in range(1000):
        message_type = file.message_type.add(name=f"M{index}")
        if index < 999:
            message_type.field.add(name="m", number=1, type=11, label=1, type_name=f".p.M{index + 1}")
    found = pool_of(FileDescriptorSet(file=[file]).SerializeToString()).FindMessageTypeByName("p.M0")
    assert len(input_schema(found)["$defs"]) == 999


def test_a_choice_is_described() -> None:
    """In words: models in strict mode take no oneOf."""
    assert input_schema(shape_of(KIND))["description"] == "At most one of these: `first`, `second`."


def test_what_is_required() -> None:
    """What proto2 says of a request, and what an answer always has."""
    old = shape_of(message("acme.kinds.v1.Old", OLD))
    assert input_schema(old)["required"] == ["id"]
    assert output_schema(old)["required"] == ["id", "part"]
    note = shape_of(message("acme.customers.v1.Note", CUSTOMERS))
    assert "required" not in input_schema(note)
    assert output_schema(note)["required"] == ["note_id", "text"]
