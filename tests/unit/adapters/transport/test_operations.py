"""Operations of APIs."""

from typing import Any, TypedDict

import pytest

from adapters.base import Finding, Invocation, Operation, Output, SideEffect
from adapters.transport.operations import changing, reading


class Arguments(TypedDict):
    """Nothing."""


async def invoke(_invocation: Invocation) -> Output:
    """Nothing."""
    return Output()


async def find(_invocation: Invocation) -> Finding:
    """It was done."""
    return Finding.DONE


async def show(_invocation: Invocation) -> Any:
    """Nothing."""


def test_one_that_reads_has_nothing_to_find_out() -> None:
    """And its vendor wants to know who asks."""
    assert reading("look", Arguments, dict, invoke) == Operation(
        name="look",
        arguments=Arguments,
        side_effect=SideEffect.READ,
        prepare=dict,
        invoke=invoke,
        needs_credential=True,
    )


@pytest.mark.parametrize("side_effect", [SideEffect.WRITE, SideEffect.SEND])
def test_one_that_changes_says_how_it_is_found_out(side_effect: SideEffect) -> None:
    """Whether its vendor takes a key has to be said: without a word it is never tried again."""
    one = changing("do", Arguments, dict, invoke, find, side_effect=side_effect, preview=show)
    assert (one.side_effect, one.reconcile, one.preview) == (side_effect, find, show)
    assert one.needs_credential
    assert not one.has_native_key
    assert changing("do", Arguments, dict, invoke, find, has_native_key=True).has_native_key
