"""The form that is hashed is RFC 8785, on the fast way too."""

import enum
import hashlib
import math
import uuid
from typing import Any

import pytest
import rfc8785
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.arguments.canonical import canonical, digest

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is not a failure."""

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=5),
    max_leaves=20,
)


@relaxed
@given(VALUES)
def test_equals_the_reference(value: Any) -> None:
    """Byte for byte what the RFC 8785 package writes."""
    assert rfc8785.dumps(value) == canonical(value)


@relaxed
@given(st.floats(min_value=1e-7, max_value=1e16) | st.floats(min_value=-1e16, max_value=-1e-7))
def test_equals_the_reference_where_notations_change(number: float) -> None:
    """Around the magnitudes at which writers go over to an exponent."""
    assert rfc8785.dumps([number]) == canonical([number])


@relaxed
@given(st.dictionaries(st.text(alphabet="a\ud7ff\ue000\uffff\U00010000\U0010ffff", max_size=2), st.none()))
def test_keys_sort_by_utf16(value: dict[str, None]) -> None:
    """A character beyond U+FFFF sorts before U+E000, which sorting by UTF-8 would not do."""
    assert rfc8785.dumps(value) == canonical(value)


def test_examples_of_the_rfc() -> None:
    """The numbers, the escapes and the order that the RFC shows."""
    value = {
        "numbers": [333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '€$\x0f\nA\'B"\\\\"/',
    }
    want = '{"numbers":[333333333.3333333,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    assert want.encode() == canonical(value)


def test_a_whole_float_and_its_integer_are_one_form() -> None:
    """5.0, 5 and -0.0, 0 hash the same."""
    assert canonical({"a": 5}) == canonical({"a": 5.0})
    assert canonical([0]) == canonical([-0.0])


class Colour(enum.Enum):
    """What a helpful writer turns into its value."""

    RED = "red"


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, 2**53, "\ud800", {1: 2}, object(), {"a": {1}}, b"x", uuid.UUID(int=1), Colour.RED],
)
def test_what_is_not_json_is_refused(value: Any) -> None:
    """Also what a helpful writer would turn into a string, and without the value in the text."""
    with pytest.raises(ValueError, match=r"^the value is not JSON$"):
        canonical({"a": [value]})


def test_a_bottomless_value_is_refused() -> None:
    """Nesting without end is an error and not a crash."""
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueError, match="not JSON"):
        canonical(value)


def test_the_digest_names_its_algorithm() -> None:
    """`sha256:` and hex."""
    assert f"sha256:{hashlib.sha256(b'{}').hexdigest()}" == digest(b"{}")
