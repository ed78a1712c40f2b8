"""What an agent sends to each operation, and the form in which it goes on."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

from adapters.linear.checks import Checks
from adapters.transport.cursors import with_page

StateType = Literal["triage", "backlog", "unstarted", "started", "completed", "canceled", "duplicate"]
Clearable = Literal["assignee_id", "project_id", "cycle_id", "due_date"]
DEFAULT_LIMIT = 20
_MOST_WORDS = 8


class SearchIssues(TypedDict):
    """Of `search_issues`."""

    text: NotRequired[str]
    team_id: NotRequired[str]
    assignee_id: NotRequired[str]
    project_id: NotRequired[str]
    label_id: NotRequired[str]
    state_types: NotRequired[list[StateType]]
    updated_after: NotRequired[str]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class GetIssue(TypedDict):
    """Of `get_issue`."""

    issue: str


class CreateIssue(TypedDict):
    """Of `create_issue`."""

    team_id: str
    title: str
    description: NotRequired[str]
    priority: NotRequired[int]
    state_id: NotRequired[str]
    assignee_id: NotRequired[str]
    label_ids: NotRequired[list[str]]
    project_id: NotRequired[str]
    cycle_id: NotRequired[str]
    parent: NotRequired[str]
    due_date: NotRequired[str]


class UpdateIssue(TypedDict):
    """Of `update_issue`."""

    issue: str
    title: NotRequired[str]
    description: NotRequired[str]
    priority: NotRequired[int]
    state_id: NotRequired[str]
    assignee_id: NotRequired[str]
    project_id: NotRequired[str]
    cycle_id: NotRequired[str]
    due_date: NotRequired[str]
    add_label_ids: NotRequired[list[str]]
    remove_label_ids: NotRequired[list[str]]
    clear: NotRequired[list[Clearable]]


class CommentOnIssue(TypedDict):
    """Of `comment_on_issue`."""

    issue: str
    body: str


class ListTeams(TypedDict):
    """Of `list_teams`."""

    limit: NotRequired[int]
    cursor: NotRequired[str]


class ListOfTeam(TypedDict):
    """Of `list_projects` and `list_cycles`."""

    team_id: NotRequired[str]
    limit: NotRequired[int]
    cursor: NotRequired[str]


def prepare_search_issues(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `SearchIssues`. Every one of up to eight words must be in an issue's title or description."""
    checks = Checks(arguments)
    text = checks.line("text")
    if text is not None and len(text.split()) > _MOST_WORDS:
        checks.issue("/text", "words", f"Search for at most {_MOST_WORDS} words.")
    prepared = {
        "text": text,
        "team_id": checks.id("team_id"),
        "assignee_id": checks.id("assignee_id"),
        "project_id": checks.id("project_id"),
        "label_id": checks.id("label_id"),
        "state_types": sorted(set(checks.value("state_types", []))),
        "updated_after": checks.moment("updated_after"),
    }
    return _listed("search_issues", checks, prepared)


def prepare_get_issue(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `GetIssue`."""
    checks = Checks(arguments)
    return checks.checked({"issue": checks.issue_id("issue")})


def prepare_create_issue(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `CreateIssue`."""
    checks = Checks(arguments)
    return checks.checked(
        {
            "team_id": checks.id("team_id"),
            **_fields(checks),
            "label_ids": checks.ids("label_ids"),
            "parent": None if checks.value("parent") is None else checks.issue_id("parent"),
        }
    )


def prepare_update_issue(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `UpdateIssue`. Something must change, and nothing be set and cleared at once."""
    checks = Checks(arguments)
    fields = _fields(checks)
    labels = {name: checks.ids(name) for name in ("add_label_ids", "remove_label_ids")}
    clear = sorted(set(checks.value("clear", [])))
    if not clear and not any(labels.values()) and all(value is None for value in fields.values()):
        checks.issue("/issue", "change", "Name at least one thing to change.")
    for index, name in enumerate(clear):
        if fields.get(name) is not None:
            checks.issue(f"/clear/{index}", "set_and_clear", f"Either set {name} or clear it.")
    if set(labels["add_label_ids"]) & set(labels["remove_label_ids"]):
        checks.issue("/remove_label_ids", "add_and_remove", "Either add a label or remove it.")
    return checks.checked({"issue": checks.issue_id("issue"), **fields, **labels, "clear": clear})


def prepare_comment_on_issue(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `CommentOnIssue`."""
    checks = Checks(arguments)
    return checks.checked({"issue": checks.issue_id("issue"), "body": checks.text("body")})


def prepare_list_teams(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `ListTeams`."""
    return _listed("list_teams", Checks(arguments), {})


def prepare_list_projects(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `ListOfTeam`."""
    checks = Checks(arguments)
    return _listed("list_projects", checks, {"team_id": checks.id("team_id")})


def prepare_list_cycles(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `ListOfTeam`."""
    checks = Checks(arguments)
    return _listed("list_cycles", checks, {"team_id": checks.id("team_id")})


def filter_of(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The prepared arguments of a search as Linear's `IssueFilter`; None when any issue will do."""
    words = (arguments["text"] or "").split()
    found: dict[str, Any] = {"and": [_has_word(word) for word in words]} if words else {}
    for name in ("team", "assignee", "project"):
        if arguments[f"{name}_id"] is not None:
            found[name] = {"id": {"eq": arguments[f"{name}_id"]}}
    if arguments["label_id"] is not None:
        found["labels"] = {"some": {"id": {"eq": arguments["label_id"]}}}
    if arguments["state_types"]:
        found["state"] = {"type": {"in": arguments["state_types"]}}
    if arguments["updated_after"] is not None:
        found["updatedAt"] = {"gt": arguments["updated_after"]}
    return found or None


def _has_word(word: str) -> dict[str, Any]:
    return {"or": [{name: {"containsIgnoreCase": word}} for name in ("title", "description")]}


def _fields(checks: Checks) -> dict[str, Any]:
    """What an issue can be set to when it is made, and later."""
    return {
        "title": checks.line("title"),
        "description": checks.text("description"),
        "priority": checks.value("priority"),
        "state_id": checks.id("state_id"),
        "assignee_id": checks.id("assignee_id"),
        "project_id": checks.id("project_id"),
        "cycle_id": checks.id("cycle_id"),
        "due_date": checks.date("due_date"),
    }


def _listed(operation: str, checks: Checks, prepared: dict[str, Any]) -> dict[str, Any]:
    limit = checks.value("limit", DEFAULT_LIMIT)
    return with_page(operation, {**checks.checked(prepared), "limit": limit, "cursor": checks.value("cursor")})
