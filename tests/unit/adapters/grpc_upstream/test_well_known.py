"""Messages that JSON writes as something else."""

from typing import Any

import pytest
from fakes.grpc_service.compiled import KINDS, message, pool_of
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from adapters.grpc_upstream import well_known
from adapters.grpc_upstream.scalars import BadValue
from adapters.grpc_upstream.shapes import shape_of

KIND = message("acme.kinds.v1.Kinds", KINDS)


def part(field: str) -> Any:
    """An empty message of the field's kind."""
    return getattr(KIND(), field)


@pytest.mark.parametrize(
    ("field", "value", "written"),
    [
        ("moment", "2026-05-31T09:00:00Z", "2026-05-31T09:00:00Z"),
        ("moment", "2026-05-31T11:00:00.5+02:00", "2026-05-31T09:00:00.500Z"),
        ("duration", "1.5s", "1.500s"),
        ("duration", "-3s", "-3s"),
        ("boxed", "0", "0"),
        ("boxed", 7, "7"),
        ("object", '{"a": {"b": [1, null, "x", true]}, "": 1.5}', {"a": {"b": [1, None, "x", True]}, "": 1.5}),
        ("object", {"a": 1}, {"a": 1}),
        ("object", "{}", {}),
        ("list", "[[], {}, -0.5]", [[], {}, -0.5]),
        ("list", [1], [1]),
        ("anything", None, None),
        ("anything", "[1]", "[1]"),
        ("anything", 3, 3),
        ("anything", False, False),
        ("anything", {"a": []}, {"a": []}),
        ("anything", [{"a": None}], [{"a": None}]),
    ],
)
def test_a_value_is_read_and_written(field: str, value: Any, written: Any) -> None:
    """What is written is read as the same again."""
    one, again = part(field), part(field)
    well_known.read(one, value)
    assert well_known.write(one) == written
    well_known.read(again, written)
    assert again == one


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("moment", "2026-05-31", "format"),
        ("moment", "2026-13-31T09:00:00Z", "format"),
        ("moment", "2026-05-31T09:00:00", "format"),
        ("moment", "٢026-05-31T09:00:00Z", "format"),
        ("moment", 1767225600, "format"),
        ("duration", "1.5", "format"),
        ("duration", "999999999999s", "format"),
        ("duration", "1h", "format"),
        ("boxed", "x", "type"),
        ("object", "[]", "type"),
        ("object", "{", "json"),
        ("object", '{"a": 1, "a": 2}', "json"),
        ("object", '{"a": NaN}', "json"),
        ("object", '{"a": 9007199254740993}', "range"),
        ("object", '{"a": 1e999}', "range"),
        ("object", '{"a": "\\ud800"}', "characters"),
        ("object", '{"\\ud800": 1}', "characters"),
        ("object", "[" * 100_000, "json"),
        ("object", '{"a":' + "[" * 30 + "]" * 30 + "}", "depth"),
        ("object", 7, "type"),
        ("list", "{}", "type"),
        ("list", "x", "json"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_value_that_does_not_fit(field: str, value: Any, rule: str) -> None:
    """It is told why, in a sentence of ours."""
    with pytest.raises(BadValue) as caught:
        well_known.read(part(field), value)
    assert caught.value.rule == rule
    assert caught.value.message.endswith(".")


def test_what_json_cannot_carry_is_no_answer() -> None:
    """A moment that does not exist, a number that is none, objects without end."""
    moment, number, deep = part("moment"), part("anything"), part("object")
    moment.seconds = 2**62
    number.number_value = float("nan")
    inner = deep
    for _ in range(25):
        inner = inner.fields["a"].struct_value
        inner.SetInParent()
    for one in (moment, number, deep):
        with pytest.raises(BadValue):
            well_known.write(one)


def test_a_value_of_no_kind_is_nothing() -> None:
    """A service may leave it out."""
    assert well_known.write(part("anything")) is None


def test_who_is_special() -> None:
    """And who is a message like others."""
    assert well_known.is_special(shape_of(part("moment")))
    assert not well_known.is_special(shape_of(KIND))


def test_who_is_what_its_name_says() -> None:
    """And what has no special name always is."""
    assert all(well_known.is_genuine(shape_of(part(field))) for field in ("moment", "duration", "boxed", "object"))
    assert well_known.is_genuine(shape_of(KIND))
    file = FileDescriptorProto(name="a.proto", package="google.protobuf")
    file.message_type.add(name="Timestamp").field.add(name="seconds", number=1, type=9, label=1)
    pool = pool_of(FileDescriptorSet(file=[file]).SerializeToString())
    assert not well_known.is_genuine(pool.FindMessageTypeByName("google.protobuf.Timestamp"))
