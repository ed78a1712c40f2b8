"""What a row says of the method that its tool is bound to."""

from typing import Any

import pytest
from fakes.recipes.grpc_upstream import OFFERS, SERVICE

from adapters.grpc_upstream.binding import read_binding
from adapters.recipes import RecipeProblem

GOOD = OFFERS["AddNote"].options


def problems(options: dict[str, Any]) -> dict[str, str]:
    """By pointer."""
    with pytest.raises(RecipeProblem) as caught:
        read_binding(options)
    return {issue.path: issue.message for issue in caught.value.issues}


def test_a_good_row_is_a_method() -> None:
    """And perhaps where a key of its own goes."""
    assert str(read_binding(GOOD).method.name) == f"{SERVICE}/AddNote"
    assert read_binding(GOOD).key_metadata == ""
    assert read_binding({**GOOD, "key_metadata": "x-idempotency-key"}).key_metadata == "x-idempotency-key"


def test_everything_that_is_wrong_is_told() -> None:
    """At once."""
    found = problems({"method": 7, "descriptors": "!", "pin": "md5:0", "key_metadata": "X", "a/b": 1})
    assert found.keys() == {"/method", "/descriptors", "/pin", "/key_metadata", "/a~1b"}
    assert all(message.endswith(".") for message in found.values())


@pytest.mark.parametrize(
    "name", ["", "X-Key", "grpc-timeout", "key-bin", "tollhouse-assertion", "te", ":path", 7, None]
)
def test_a_key_goes_where_nothing_else_does(name: Any) -> None:
    """Neither gRPC's nor the assertion's place can be taken."""
    assert problems({**GOOD, "key_metadata": name}).keys() == {"/key_metadata"}


def test_a_pin_of_something_else_is_told() -> None:
    """It is of the very bytes."""
    assert "digest" in problems({**GOOD, "pin": OFFERS["GetCustomer"].options["pin"]})["/pin"]


def test_descriptors_of_another_method_are_told() -> None:
    """They are pinned well, and are not what is called."""
    other = {**OFFERS["GetCustomer"].options, "method": GOOD["method"]}
    assert problems(other).keys() == {"/descriptors"}
    assert "streams" in problems(dict(OFFERS["WatchCustomer"].options))["/descriptors"]


def test_descriptors_without_end_are_told() -> None:
    """Before they are decoded."""
    assert problems({**GOOD, "descriptors": "A" * 4_000_000}).keys() == {"/descriptors"}
