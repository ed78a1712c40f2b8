"""What became of a write whose outcome nobody knows."""

from typing import Any

import pytest
from fakes.cases.linear import LABEL, STATE, TEAM, comment, data, errors, is_mutation, issue, variables
from fakes.vendor import NOW, Asked, Said, desk, vendor_server

from adapters.base import AdapterError, Finding
from adapters.linear.aftermath import SETTLED_SECONDS
from adapters.linear.writing import comment_id, issue_id

MISSING = errors("INPUT_ERROR", "Entity not found: Issue")
NULL = data(issue=None, comment=None, team=None)
CREATE = {"team_id": TEAM, "title": "Broken"}
COMMENT = {"issue": "ENG-123", "body": "On it."}
LONG_AGO = NOW - SETTLED_SECONDS - 1


async def _found(operation: str, arguments: dict[str, Any], answers: dict[str, Said], since: float) -> Finding:
    def answer(asked: Asked) -> Said:
        assert not is_mutation(asked)
        return answers[asked.json["operationName"]]

    async with vendor_server(answer) as server, desk(server) as at:
        return await at.reconcile("linear", operation, arguments, effect_id="e1", since=since)


async def test_what_is_there_by_our_id_was_done() -> None:
    """However short ago."""
    asked: list[Any] = []

    def answer(one: Asked) -> Said:
        asked.append(variables(one)["id"])
        return data(issue=issue(), comment=comment())

    async with vendor_server(answer) as server, desk(server) as at:
        for operation, arguments in (("create_issue", CREATE), ("comment_on_issue", COMMENT)):
            found = await at.reconcile("linear", operation, arguments, effect_id="e1", since=NOW)
            assert found is Finding.DONE
    assert asked == [issue_id("e1"), comment_id("e1")]


@pytest.mark.parametrize("nothing", [MISSING, NULL])
async def test_what_is_not_there_was_not_done_when_its_place_is_seen_and_time_has_passed(nothing: Said) -> None:
    """Both have to hold."""
    seen, hidden = data(team={"id": TEAM}), MISSING
    for place, since, finding in [
        (seen, LONG_AGO, Finding.NOT_DONE),
        (seen, NOW - 10, Finding.STILL_UNKNOWN),
        (hidden, LONG_AGO, Finding.STILL_UNKNOWN),
    ]:
        answers = {"ReadIssue": nothing, "ReadTeam": place}
        assert await _found("create_issue", CREATE, answers, since) is finding


@pytest.mark.parametrize(
    ("place", "since", "finding"),
    [
        (data(issue=issue()), LONG_AGO, Finding.NOT_DONE),
        (data(issue=issue()), NOW - 10, Finding.STILL_UNKNOWN),
        (MISSING, LONG_AGO, Finding.STILL_UNKNOWN),
    ],
)
async def test_a_comment_is_looked_for_under_its_issue(place: Said, since: float, finding: Finding) -> None:
    """Whose issue is gone may have been there."""
    answers = {"ReadComment": MISSING, "ReadIssue": place}
    assert await _found("comment_on_issue", COMMENT, answers, since) is finding


@pytest.mark.parametrize("said", [errors("FORBIDDEN"), errors("AUTHENTICATION_ERROR"), Said(status=500), Said({})])
async def test_what_cannot_be_asked_is_an_error(said: Said) -> None:
    """And no finding."""
    with pytest.raises(AdapterError):
        await _found("create_issue", CREATE, {"ReadIssue": said, "ReadTeam": said}, LONG_AGO)


@pytest.mark.parametrize(
    ("arguments", "fields", "finding"),
    [
        ({"state_id": STATE}, {}, Finding.DONE),
        ({"state_id": STATE, "title": "Customers are charged twice", "priority": 1}, {}, Finding.DONE),
        ({"description": "New"}, {"description": "New"}, Finding.DONE),
        ({"add_label_ids": [LABEL]}, {}, Finding.DONE),
        ({"remove_label_ids": [LABEL]}, {"labels": {"nodes": []}}, Finding.DONE),
        ({"clear": ["due_date", "cycle_id"]}, {"dueDate": None, "cycle": None}, Finding.DONE),
        ({"state_id": STATE, "title": "Other"}, {}, Finding.NOT_DONE),
        ({"remove_label_ids": [LABEL]}, {}, Finding.NOT_DONE),
        ({"clear": ["due_date"]}, {}, Finding.NOT_DONE),
        ({"title": "Other"}, {"updatedAt": "2026-01-01T00:00:00.000Z"}, Finding.STILL_UNKNOWN),
        ({"title": "Other"}, {"updatedAt": None}, Finding.STILL_UNKNOWN),
    ],
)
async def test_a_change_was_made_when_the_issue_is_so(
    arguments: dict[str, Any], fields: dict[str, Any], finding: Finding
) -> None:
    """It was not when nobody has touched the issue since; in between nobody can tell."""
    answers = {"ReadIssue": data(issue=issue(**fields))}
    assert await _found("update_issue", {"issue": "ENG-123", **arguments}, answers, LONG_AGO) is finding


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [("create_issue", CREATE), ("comment_on_issue", COMMENT), ("update_issue", {"issue": "ENG-123", "title": "X"})],
)
async def test_without_a_moment_nothing_is_certain(operation: str, arguments: dict[str, Any]) -> None:
    """That no attempt is known to be long ago does not make it long ago."""
    old = data(issue=issue(updatedAt="1969-01-01T00:00:00.000Z"))
    gone = {"ReadIssue": MISSING if operation == "create_issue" else old, "ReadComment": MISSING}
    answers = {**gone, "ReadTeam": data(team={"id": TEAM})}
    assert await _found(operation, arguments, answers, 0.0) is Finding.STILL_UNKNOWN


@pytest.mark.parametrize("updated", ["2025-12-31T23:55:00.000Z", "2025-12-31T09:30:00", "soon"])
async def test_a_change_at_a_moment_that_cannot_be_told_leaves_doubt(updated: str) -> None:
    """It was after the attempt, or has no zone: Linear may have changed the issue for us, and the text in passing."""
    answers = {"ReadIssue": data(issue=issue(updatedAt=updated))}
    given = {"issue": "ENG-123", "description": "* a list"}
    assert await _found("update_issue", given, answers, LONG_AGO) is Finding.STILL_UNKNOWN


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"remove_label_ids": [LABEL]}, "labels"),
        ({"clear": ["assignee_id"]}, "assignee"),
        ({"clear": ["due_date"]}, "dueDate"),
        ({"title": "Other"}, "title"),
        ({"state_id": TEAM}, "state"),
    ],
)
async def test_what_linear_does_not_tell_is_not_known(arguments: dict[str, Any], field: str) -> None:
    """That something is left out of an answer does not say that it has no value."""
    node = {name: value for name, value in issue().items() if name != field}
    answers = {"ReadIssue": data(issue=node)}
    given = {"issue": "ENG-123", **arguments}
    assert await _found("update_issue", given, answers, LONG_AGO) is Finding.STILL_UNKNOWN


MANY = {"nodes": [{"id": f"label-{number}", "name": "x"} for number in range(20)]}


@pytest.mark.parametrize(
    ("arguments", "labels", "finding"),
    [
        ({"remove_label_ids": [LABEL]}, MANY, Finding.STILL_UNKNOWN),
        ({"add_label_ids": [LABEL]}, MANY, Finding.STILL_UNKNOWN),
        ({"add_label_ids": [LABEL]}, {"nodes": [*MANY["nodes"][1:], {"id": LABEL}]}, Finding.DONE),
        ({"remove_label_ids": [LABEL]}, {"nodes": [*MANY["nodes"][1:], {"id": LABEL}]}, Finding.NOT_DONE),
        ({"remove_label_ids": [LABEL]}, {"nodes": MANY["nodes"][1:]}, Finding.DONE),
        ({"add_label_ids": [LABEL]}, {"nodes": MANY["nodes"][1:]}, Finding.NOT_DONE),
    ],
)
async def test_a_label_that_is_not_among_the_first_may_be_there(
    arguments: dict[str, Any], labels: dict[str, Any], finding: Finding
) -> None:
    """Of an issue only so many are seen."""
    answers = {"ReadIssue": data(issue=issue(labels=labels))}
    assert await _found("update_issue", {"issue": "ENG-123", **arguments}, answers, LONG_AGO) is finding


async def test_a_change_that_is_not_there_yet_may_come() -> None:
    """A moment after it was asked for; and whose issue is gone nobody can tell."""
    answers = {"ReadIssue": data(issue=issue())}
    assert await _found("update_issue", {"issue": "ENG-123", "title": "X"}, answers, NOW) is Finding.STILL_UNKNOWN
    gone = {"ReadIssue": MISSING}
    assert await _found("update_issue", {"issue": "ENG-123", "title": "X"}, gone, LONG_AGO) is Finding.STILL_UNKNOWN
