"""Whom an event invites."""

import pytest

from adapters.base import ArgumentIssue
from adapters.calendar.people import MAX_ATTENDEES, read_people


def test_addresses_are_plain_and_each_once() -> None:
    """In lower case, in the order given, with their domains."""
    issues: list[ArgumentIssue] = []
    found = read_people(["Ann@Corp.Example", "bo@other.example", "ann@corp.example"], "/attendees", issues)
    assert found.addresses == ("ann@corp.example", "bo@other.example")
    assert found.domains == ["corp.example", "other.example"]
    assert issues == []


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "ann",
        "ann@localhost",
        "ann@corp.example, x@evil.test",
        "ann@corp.example;x@evil.test",
        "ann@corp.example x@evil.test",
        '"x@evil.test" <ann@corp.example>',
        "Ann <ann@corp.example>",
        "ann@corp.example\r\nbcc: x@evil.test",
        "x@evil.test@corp.example",
        "ann@127.0.0.1",
        "ann@[127.0.0.1]",
        "ann@corp.example.",
        "änn@corp.example",
        "ann@cörp.example",
        "ann(x@evil.test)@corp.example",
        "=?utf-8?q?x=40evil.test?=@corp.example ",
        "a" * 65 + "@corp.example",
        "mailto:ann@corp.example",
        "x%evil.test@corp.example",
    ],
)
def test_g17_an_entry_is_exactly_one_plain_address(entry: str) -> None:
    """Whatever two readers could read differently is refused, so a second address cannot come along."""
    issues: list[ArgumentIssue] = []
    assert read_people(["bo@corp.example", entry], "/attendees", issues).addresses == ("bo@corp.example",)
    assert [(issue.path, issue.rule) for issue in issues] == [("/attendees/1", "address")]


def test_nobody_invites_a_crowd() -> None:
    """Whatever a row lets in."""
    issues: list[ArgumentIssue] = []
    read_people([f"a{each}@corp.example" for each in range(MAX_ATTENDEES + 1)], "/attendees", issues)
    assert [(issue.path, issue.rule) for issue in issues] == [("/attendees", "max_items")]
