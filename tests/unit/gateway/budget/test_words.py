"""What an agent is told is one plain sentence: what there is, that it is used up, and when there is more."""

import pytest
from fakes.clock import START

from adapters.base import SideEffect
from gateway.budget import words
from gateway.errors import MESSAGE_BYTES
from gateway.rows import Allowance, Share


def _rule(**changes: object) -> Allowance:
    usual = {"unit": "calls", "limit": 1, "share": "run", "tools": frozenset({"file_edit"})}
    return Allowance(**(usual | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("allowance", "want"),
    [
        (_rule(), "This agent may make 1 call of file_edit per run"),
        (_rule(limit=2, share="agent_day", seconds=86400), "This agent may make 2 calls of file_edit per day (UTC)"),
        (
            _rule(limit=20, share="agent", seconds=3600, tools=frozenset(), side_effect=SideEffect.SEND),
            "This agent may make 20 calls of tools that send per hour",
        ),
        (_rule(limit=5, share="agent", seconds=60, tools=frozenset()), "This agent may make 5 calls per minute"),
        (
            _rule(unit="recipients", limit=100, share="agent", seconds=90, tools=frozenset({"b", "a"})),
            "This agent may use 100 recipients of a or b per 90 seconds",
        ),
        (
            _rule(unit="EUR", limit=50000, share="tenant", tools=frozenset()),
            "This tenant may spend 50000 EUR in minor units in all",
        ),
        (
            _rule(unit="EUR", limit=9, share="tool", seconds=86400, tools=frozenset("abcde")),
            "This agent may spend 9 EUR in minor units on a, b, c and 2 more per tool per day (UTC)",
        ),
    ],
)
def test_what_there_is(allowance: Allowance, want: str) -> None:
    """Whose, how much, of what, over what time."""
    assert words.opening(allowance) == want


@pytest.mark.parametrize(
    ("allowance", "amount", "want"),
    [
        (_rule(), 1, "and has made it"),
        (_rule(limit=3), 1, "and has made them"),
        (_rule(limit=0), 1, "so this call never may"),
        (_rule(unit="EUR", limit=500), 120, "and less than this call's 120 is left"),
        (_rule(unit="EUR", limit=500), 501, "and this call alone takes 501"),
    ],
)
def test_how_it_stops_a_call(allowance: Allowance, amount: int, want: str) -> None:
    """Told apart by whether waiting can help."""
    assert words.ending(allowance, amount) == want


def test_when_there_is_more() -> None:
    """To the second; for calls in no opened run, why they stand together as well."""
    assert words.renewal(START, is_shared=False) == "; there is more from 2026-01-01T00:00:00Z"
    assert "no opened run" in words.renewal(START, is_shared=True)


@pytest.mark.parametrize("share", ["tenant", "agent", "agent_day", "run", "tool"])
def test_the_longest_sentence_is_not_cut(share: Share) -> None:
    """Whatever a row names."""
    names = frozenset(f"{number}".rjust(64, "t") for number in range(1000))
    allowance = _rule(share=share, limit=10**15, unit="u" * 32, tools=names, seconds=99_999_999)
    told = f"{words.opening(allowance)}, {words.ending(allowance, 10**15)}{words.renewal(START, is_shared=True)}."
    assert len(told) <= MESSAGE_BYTES
