"""From an agent's JSON to a message."""

from typing import Any

import pytest
from fakes.grpc_service.compiled import KINDS, OLD, message

from adapters.base import ArgumentProblem
from adapters.grpc_upstream.arguments import MAX_DEPTH, escaped, read_message

KIND = message("acme.kinds.v1.Kinds", KINDS)
OLD_KIND = message("acme.kinds.v1.Old", OLD)


def issues(value: dict[str, Any], kind: Any = KIND) -> set[tuple[str, str]]:
    """Where and by which rule it is refused."""
    with pytest.raises(ArgumentProblem) as caught:
        read_message(kind, value)
    assert all(one.message.endswith(".") for one in caught.value.issues)
    return {(one.path, one.rule) for one in caught.value.issues}


def test_fields_go_by_their_own_names() -> None:
    """Scalars, lists, messages, and one of a choice."""
    read = read_message(
        KIND,
        {
            "short_number": 0.5,
            "numbers": ["1", -2],
            "within": {"text": "in"},
            "inners": [{"name": "a"}, {}],
            "second": {"name": "b"},
            "maybe": "",
        },
    )
    inners = [KIND.Inner(name="a"), KIND.Inner()]  # type: ignore[attr-defined]
    assert read == KIND(
        short_number=0.5, numbers=[1, -2], within=KIND(text="in"), inners=inners, second={"name": "b"}, maybe=""
    )


def test_an_empty_message_is_there() -> None:
    """It is not the same as one that is left out."""
    assert read_message(KIND, {"within": {}}).HasField("within")
    assert read_message(KIND, {"object": {}}).HasField("object")
    assert not read_message(KIND, {}).HasField("within")


def test_null_is_left_out() -> None:
    """Models in strict mode send every key. Where null is a value it is one."""
    read = read_message(KIND, {"text": None, "within": None, "first": None, "second": {"name": "b"}, "anything": None})
    assert read == KIND(second={"name": "b"}, anything={"null_value": 0})


@pytest.mark.parametrize(
    ("value", "by_name", "by_number"),
    [
        ({"by_name": {"a": {"name": "x"}}, "by_number": {"-1": True}}, {"a": "x"}, {-1: True}),
        (
            {"by_name": [{"key": "a", "value": {"name": "x"}}], "by_number": [{"key": -1, "value": True}]},
            {"a": "x"},
            {-1: True},
        ),
        ({"by_name": [], "by_number": {}}, {}, {}),
    ],
    ids=["objects", "lists", "empty"],
)
def test_a_map_is_an_object_or_a_list(value: Any, by_name: dict[str, str], by_number: dict[int, bool]) -> None:
    """Of keys and values."""
    read: Any = read_message(KIND, value)
    assert ({key: one.name for key, one in read.by_name.items()}, dict(read.by_number)) == (by_name, by_number)


def test_everything_that_is_wrong_is_found() -> None:
    """At once, each with its place."""
    assert issues(
        {
            "flag": "x",
            "nothing": 1,
            "shortNumber": 1,
            "numbers": [1, "x", 2, True],
            "within": {"small": 2**40, "a/b~": 1},
            "inners": [{}, {"name": 1}, 7],
            "by_name": {"a": 1},
            "by_number": {"x": True, "1": "no"},
            "by_flag": [{"key": True, "value": "1"}, {"key": True, "value": "2"}],
            "first": "a",
            "second": {},
            "moment": "now",
        }
    ) == {
        ("/flag", "type"),
        ("/nothing", "unknown"),
        ("/shortNumber", "unknown"),
        ("/numbers/1", "type"),
        ("/numbers/3", "type"),
        ("/within/small", "range"),
        ("/within/a~1b~0", "unknown"),
        ("/inners/1/name", "type"),
        ("/inners/2", "type"),
        ("/by_name/a", "type"),
        ("/by_number/x", "type"),
        ("/by_number/1", "type"),
        ("/by_flag/1", "unique"),
        ("/second", "oneof"),
        ("/moment", "format"),
    }


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"numbers": "1"}, "/numbers"),
        ({"within": []}, "/within"),
        ({"by_name": [{"key": "a"}]}, "/by_name"),
        ({"by_name": [{"key": "a", "value": {}, "more": 1}]}, "/by_name"),
        ({"by_name": "a"}, "/by_name"),
        ({"inners": {"0": {}}}, "/inners"),
    ],
)
def test_another_shape_is_refused(value: dict[str, Any], place: str) -> None:
    """A list is no object."""
    assert issues(value) == {(place, "type")}


def test_what_must_be_there_must_be_there() -> None:
    """In proto2, at every depth; a group is a message like others."""
    assert issues({"within": {"part": [{}]}}, OLD_KIND) == {
        ("/id", "required"),
        ("/within/id", "required"),
        ("/within/part/0/name", "required"),
    }
    read: Any = read_message(OLD_KIND, {"id": "1", "part": [{"name": "a"}]})
    assert (read.id, read.count, read.part[0].name) == ("1", 7, "a")


def test_messages_without_end_are_refused() -> None:
    """Before the stack is full."""
    value: dict[str, Any] = {}
    for _ in range(MAX_DEPTH + 5):
        value = {"within": value}
    assert {rule for _, rule in issues(value)} == {"depth"}


def test_fifty_issues_are_enough() -> None:
    """More would be an answer without end."""
    with pytest.raises(ArgumentProblem) as caught:
        read_message(KIND, {"numbers": ["x"] * 1000})
    assert len(caught.value.issues) == 50


def test_a_name_is_a_segment_of_a_pointer() -> None:
    """RFC 6901."""
    assert escaped("a/b~c") == "a~1b~0c"
