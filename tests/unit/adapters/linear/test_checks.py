"""Reading arguments."""

from typing import Any

import pytest
from fakes.cases.linear import LABEL, TEAM

from adapters.base import ArgumentProblem
from adapters.linear.checks import Checks


def _rules(checks: Checks) -> list[tuple[str, str]]:
    with pytest.raises(ArgumentProblem) as caught:
        checks.checked({})
    return [(issue.path, issue.rule) for issue in caught.value.issues]


def test_what_is_not_given_is_none() -> None:
    """Null as well."""
    checks = Checks({"a": None})
    assert [checks.id("a"), checks.line("b"), checks.text("a"), checks.date("b"), checks.moment("a")] == [None] * 5
    assert checks.ids("a") == []
    assert checks.value("a", 3) == 3
    assert checks.checked({"x": 1}) == {"x": 1}


@pytest.mark.parametrize(
    ("reader", "value", "read"),
    [
        ("id", TEAM.upper(), TEAM),
        ("issue_id", "eng-12", "ENG-12"),
        ("issue_id", TEAM.upper(), TEAM),
        ("line", "  Broken  ", "Broken"),
        ("text", "a\r\nb\rc", "a\nb\nc"),
        ("date", "2026-02-28", "2026-02-28"),
        ("moment", "2026-05-31T09:00:00+02:00", "2026-05-31T07:00:00.000+00:00"),
        ("moment", "2026-05-31T09:00:00Z", "2026-05-31T09:00:00.000+00:00"),
    ],
)
def test_one_value_has_one_form(reader: str, value: str, read: str) -> None:
    """However it is written."""
    checks = Checks({"a": value})
    assert getattr(checks, reader)("a") == read
    checks.checked({})


@pytest.mark.parametrize(
    ("reader", "value", "rule"),
    [
        ("id", "ENG", "uuid"),
        ("id", f"{{{TEAM}}}", "uuid"),
        ("id", TEAM + "\n", "uuid"),
        ("issue_id", "123", "issue"),
        ("issue_id", "ENG-\u0661", "issue"),
        ("issue_id", "ENG-1/../x", "issue"),
        ("line", "  ", "blank"),
        ("line", "a\nb", "characters"),
        ("line", "a\u2028b", "characters"),
        ("line", "a\ud800", "characters"),
        ("text", "\n", "blank"),
        ("text", "a\0", "characters"),
        ("date", "2026-02-30", "date"),
        ("date", "20260228", "date"),
        ("date", "tomorrow", "date"),
        ("moment", "2026-05-31T09:00:00", "date_time"),
        ("moment", "0001-01-01T00:00:00+14:00", "date_time"),
        ("moment", "now", "date_time"),
    ],
)
def test_what_is_wrong_is_an_issue_at_its_place(reader: str, value: str, rule: str) -> None:
    """With the rule that it breaks."""
    checks = Checks({"a": value})
    getattr(checks, reader)("a")
    assert _rules(checks) == [("/a", rule)]


def test_ids_are_each_once_and_in_order() -> None:
    """What is none among them is told by its place, and every issue is told."""
    checks = Checks({"a": [TEAM.upper(), LABEL, TEAM]})
    assert checks.ids("a") == sorted([LABEL, TEAM])
    wrong: dict[str, Any] = {"a": [TEAM, "x", "y"]}
    checks = Checks(wrong)
    checks.ids("a")
    assert _rules(checks) == [("/a/1", "uuid"), ("/a/2", "uuid")]
