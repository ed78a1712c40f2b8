"""From a message to JSON."""

import json
from typing import Any

import pytest
from fakes.grpc_service.compiled import KINDS, OLD, message
from hypothesis import given
from hypothesis import strategies as st

from adapters.grpc_upstream.answers import MAX_PARTS, TooManyParts, write_message
from adapters.grpc_upstream.arguments import read_message
from adapters.grpc_upstream.scalars import BadValue

KIND = message("acme.kinds.v1.Kinds", KINDS)
WHOLE = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXT, part, max_size=3),
    max_leaves=6,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "flag": st.booleans(),
    "text": TEXT,
    "small": st.integers(-(2**31), 2**31 - 1),
    "natural": st.integers(0, 2**32 - 1),
    "long": WHOLE.map(str),
    "short_number": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "colour": st.sampled_from(["COLOUR_UNSPECIFIED", "COLOUR_RED"]),
    "maybe": TEXT,
    "numbers": st.lists(WHOLE, max_size=3),
    "by_name": st.dictionaries(TEXT, st.fixed_dictionaries({}, optional={"name": TEXT}), max_size=3),
    "by_flag": st.dictionaries(st.sampled_from(["true", "false"]), WHOLE),
    "first": TEXT,
    "boxed": WHOLE,
    "object": st.dictionaries(TEXT, JSON, max_size=3),
    "anything": JSON,
    "list": st.lists(JSON, max_size=3),
}
VALUE = st.recursive(
    st.fixed_dictionaries({}, optional=FIELDS),
    lambda within: st.fixed_dictionaries({}, optional={**FIELDS, "within": within}),
    max_leaves=3,
)


@given(VALUE)
def test_what_policy_sees_is_what_is_sent(value: dict[str, Any]) -> None:
    """A message that is written, and read again, is the same message, and is written as the same JSON."""
    sent = read_message(KIND, value)
    written = write_message(sent)
    again = read_message(KIND, json.loads(json.dumps(written)))
    assert again.SerializeToString(deterministic=True) == sent.SerializeToString(deterministic=True)
    assert write_message(again) == written


def test_a_plain_field_is_always_there() -> None:
    """One that can be told from its default is there when it is set."""
    written = write_message(KIND())
    assert written == {
        "flag": False,
        "text": "",
        "octets": "",
        "small": 0,
        "natural": 0,
        "long": "0",
        "long_natural": "0",
        "short_number": 0.0,
        "number": 0.0,
        "colour": "COLOUR_UNSPECIFIED",
        "numbers": [],
        "by_name": {},
        "by_number": {},
        "by_flag": {},
        "inners": [],
    }
    assert write_message(KIND(maybe="", within=KIND()))["within"] == written
    assert write_message(KIND(maybe=""))["maybe"] == ""


def test_a_map_is_an_object() -> None:
    """Whatever its keys are."""
    written = write_message(KIND(by_number={2: True, -1: False}, by_flag={True: 5}, by_name={"a": {"name": "x"}}))
    assert written["by_number"] == {"-1": False, "2": True}
    assert written["by_flag"] == {"true": "5"}
    assert written["by_name"] == {"a": {"name": "x"}}


def test_proto2_has_defaults_of_its_own() -> None:
    """They are not written: nobody set them."""
    assert write_message(message("acme.kinds.v1.Old", OLD)(id="1")) == {"id": "1", "part": []}


def test_messages_without_end_are_no_answer() -> None:
    """A hundred levels can be read."""
    deep = KIND()
    for _ in range(80):
        deep = KIND(within=deep)
    with pytest.raises(BadValue, match="64 levels"):
        write_message(deep)


def test_a_text_that_is_none_is_no_answer() -> None:
    """Proto2 lets anything be a text."""
    with pytest.raises(BadValue, match="UTF-8"):
        write_message(message("acme.kinds.v1.Old", OLD).FromString(b"\x0a\x01\xff"))


def test_small_messages_without_number_are_no_answer() -> None:
    """Each is two octets on the wire, and an object of twenty fields here."""
    with pytest.raises(TooManyParts, match=str(MAX_PARTS)):
        write_message(KIND.FromString(KIND(inners=[{}]).SerializeToString() * MAX_PARTS))
