"""Operations of Linear."""

from collections.abc import Mapping
from typing import Any

from fakes.cases.base import ApiCase, api
from fakes.vendor import Answer, Asked, Said

TEAM = "9c1c8b0e-6a5d-4d2e-9a52-0b6a3a1f7c11"
STATE = "4f6d1c2a-8b3e-4f7a-a1de-5f0d2c9b8e22"
PERSON = "1b7e3f9d-2c4a-4e8b-b6f0-7a9d5c3e1f33"
LABEL = "7d2a5c8e-9f1b-4a3d-8c6e-2b4f6a8d0c44"
PROJECT = "c3e5a7b9-1d2f-4c6e-9b8a-0d1f3e5c7a55"
CYCLE = "e8f0b2d4-6a7c-4e9f-8d1b-3c5e7f9a1b66"
ISSUE = "2f4a6c8e-0b1d-4f3e-a5c7-9e1b3d5f7a77"
COMMENT = "6b8d0f2a-4c5e-4a7b-9d1f-3e5a7c9b1d88"


def issue(**fields: Any) -> dict[str, Any]:
    """An issue as Linear tells of it."""
    return {
        "id": ISSUE,
        "identifier": "ENG-123",
        "title": "Customers are charged twice",
        "url": "https://linear.app/acme/issue/ENG-123/customers-are-charged-twice",
        "priority": 1,
        "dueDate": "2026-01-15",
        "createdAt": "2025-12-30T08:15:00.000Z",
        "updatedAt": "2025-12-31T09:30:00.000Z",
        "archivedAt": None,
        "state": {"id": STATE, "name": "In Progress", "type": "started"},
        "team": {"id": TEAM, "key": "ENG", "name": "Engineering"},
        "assignee": {"id": PERSON, "name": "Ann"},
        "labels": {"nodes": [{"id": LABEL, "name": "Bug"}]},
        "project": {"id": PROJECT, "name": "Billing"},
        "cycle": {"id": CYCLE, "number": 7, "name": None},
        **fields,
    }


def comment(**fields: Any) -> dict[str, Any]:
    """A comment as Linear tells of one that was written."""
    url = "https://linear.app/acme/issue/ENG-123#comment-6b8d0f2a"
    where = {"id": ISSUE, "identifier": "ENG-123"}
    return {"id": COMMENT, "url": url, "createdAt": "2026-01-01T00:00:00.000Z", "issue": where, **fields}


def page(*nodes: Any, following: str | None = None) -> dict[str, Any]:
    """A connection."""
    return {"nodes": list(nodes), "pageInfo": {"hasNextPage": following is not None, "endCursor": following}}


def data(**roots: Any) -> Said:
    """An answer without errors."""
    return Said({"data": roots})


def errors(code: str | None = None, message: str = "No", *, status: int = 200, **more: Any) -> Said:
    """An answer with one GraphQL error."""
    extensions = {} if code is None else {"extensions": {"code": code, "userPresentableMessage": message}}
    return Said({"errors": [{"message": message, **extensions}], "data": None, **more}, status=status)


def is_mutation(asked: Asked) -> bool:
    """Whether it may change something: a question is put into a POST as well."""
    return "mutation" in asked.json["query"]


def variables(asked: Asked) -> Mapping[str, Any]:
    """What a document was asked with."""
    found: Mapping[str, Any] = asked.json["variables"]
    return found


_TEAM = {
    "id": TEAM,
    "key": "ENG",
    "name": "Engineering",
    "description": None,
    "cyclesEnabled": True,
    "states": {"nodes": [{"id": STATE, "name": "In Progress", "type": "started"}]},
    "labels": {"nodes": [{"id": LABEL, "name": "Bug"}]},
    "members": {"nodes": [{"id": PERSON, "name": "Ann", "email": "ann@corp.example"}]},
}
_PROJECT = {
    "id": PROJECT,
    "name": "Billing",
    "description": "Charge once",
    "url": "https://linear.app/acme/project/billing",
    "startDate": "2025-12-01",
    "targetDate": None,
    "updatedAt": "2025-12-31T09:30:00.000Z",
    "status": {"name": "In Progress", "type": "started"},
    "lead": {"id": PERSON, "name": "Ann"},
}
_CYCLE = {
    "id": CYCLE,
    "number": 7,
    "name": None,
    "startsAt": "2025-12-29T00:00:00.000Z",
    "endsAt": "2026-01-12T00:00:00.000Z",
    "progress": 0.25,
    "team": {"id": TEAM, "key": "ENG", "name": "Engineering"},
}
_WITH_COMMENTS = issue(
    description="They see two charges.",
    comments={
        "nodes": [{"id": COMMENT, "body": "Me too", "createdAt": None, "user": {"id": PERSON, "name": "Ann"}}],
        "pageInfo": {"hasNextPage": False},
    },
)


def _case(operation: str, arguments: dict[str, Any], answer: Said) -> ApiCase:
    says: Answer = lambda _asked: answer  # noqa: E731 - an answer is a function
    return api("linear", operation, arguments, says, changes=is_mutation)


CASES = (
    _case("search_issues", {"text": "charged twice", "team_id": TEAM}, data(issues=page(issue(), following="c2"))),
    _case("get_issue", {"issue": "ENG-123"}, data(issue=_WITH_COMMENTS)),
    _case(
        "create_issue",
        {"team_id": TEAM, "title": "Customers are charged twice", "description": "Two charges", "priority": 1},
        data(issueCreate={"success": True, "issue": issue()}),
    ),
    _case(
        "update_issue",
        {"issue": "ENG-123", "state_id": STATE, "add_label_ids": [LABEL]},
        data(issueUpdate={"success": True, "issue": issue()}),
    ),
    _case(
        "comment_on_issue",
        {"issue": "ENG-123", "body": "We are on it."},
        data(commentCreate={"success": True, "comment": comment()}),
    ),
    _case("list_teams", {}, data(teams=page(_TEAM))),
    _case("list_projects", {"team_id": TEAM}, data(team={"projects": page(_PROJECT)})),
    _case("list_cycles", {}, data(cycles=page(_CYCLE))),
)
