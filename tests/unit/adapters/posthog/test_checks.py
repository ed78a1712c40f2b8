"""Reading arguments."""

from typing import Any

import pytest
from fakes.cases.posthog import PERSON

from adapters.base import ArgumentProblem
from adapters.posthog.checks import Checks


def _rules(checks: Checks) -> list[tuple[str, str]]:
    with pytest.raises(ArgumentProblem) as caught:
        checks.checked({})
    return [(issue.path, issue.rule) for issue in caught.value.issues]


def test_what_is_not_given_is_none_or_its_default() -> None:
    """Null as well."""
    checks = Checks({"a": None})
    assert [checks.line("a"), checks.day("b"), checks.moment("a"), checks.uuid("b")] == [None] * 4
    assert (checks.day("a", "-7d"), checks.filters("a"), checks.value("a", 3)) == ("-7d", [], 3)
    assert checks.checked({"x": 1}) == {"x": 1}


@pytest.mark.parametrize(
    ("reader", "value", "read"),
    [
        ("line", "$pageview", "$pageview"),
        ("line", " as it stands ", " as it stands "),
        ("day", "2026-02-28", "2026-02-28"),
        ("day", "-30d", "-30d"),
        ("moment", "2026-05-31T09:00:00+02:00", "2026-05-31T07:00:00.000+00:00"),
        ("uuid", PERSON.upper(), PERSON),
    ],
)
def test_one_value_has_one_form(reader: str, value: str, read: str) -> None:
    """A name stands as it is: it has to fit exactly."""
    checks = Checks({"a": value})
    assert getattr(checks, reader)("a") == read
    checks.checked({})


@pytest.mark.parametrize(
    ("reader", "value", "rule"),
    [
        ("line", " ", "blank"),
        ("line", "a\nb", "characters"),
        ("line", "a\u2028b", "characters"),
        ("line", "a\0", "characters"),
        ("day", "2026-02-30", "date"),
        ("day", "-0d", "date"),
        ("day", "-7d\n", "date"),
        ("day", "all", "date"),
        ("day", "yesterday() OR 1=1", "date"),
        ("moment", "2026-05-31T09:00:00", "date_time"),
        ("moment", "-24h", "date_time"),
        ("uuid", "1", "uuid"),
        ("uuid", PERSON + "/..", "uuid"),
    ],
)
def test_what_is_wrong_is_an_issue_at_its_place(reader: str, value: str, rule: str) -> None:
    """With the rule that it breaks."""
    checks = Checks({"a": value})
    getattr(checks, reader)("a")
    assert _rules(checks) == [("/a", rule)]


def test_a_condition_is_of_an_event_when_it_does_not_say() -> None:
    """And has every part."""
    checks = Checks({"f": [{"property": "plan", "operator": "exact", "value": "team"}]})
    assert checks.filters("f") == [{"property": "plan", "of": "event", "operator": "exact", "value": "team"}]
    checks = Checks({"f": [{"property": "plan", "operator": "is_set", "of": "person"}]})
    assert checks.filters("f") == [{"property": "plan", "of": "person", "operator": "is_set", "value": None}]


@pytest.mark.parametrize(
    ("condition", "issue"),
    [
        ({"property": "plan", "operator": "exact"}, ("/f/0/value", "value")),
        ({"property": "plan", "operator": "is_set", "value": "x"}, ("/f/0/value", "value")),
        ({"property": " ", "operator": "is_set"}, ("/f/0/property", "blank")),
        ({"property": "plan", "operator": "gt", "value": "\n"}, ("/f/0/value", "blank")),
        ("plan", ("/f/0", "type")),
    ],
)
def test_a_condition_that_is_wrong_is_told_by_its_place(condition: Any, issue: tuple[str, str]) -> None:
    """A value where one is needed, and only there."""
    checks = Checks({"f": [condition]})
    checks.filters("f")
    assert issue in _rules(checks)
