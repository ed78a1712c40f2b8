"""Linear's events, read by an allow-list: people by name, and never their mail addresses."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from adapters.transport.events import address, event_of, known, malformed, matching, moment, named, text, texts
from adapters.transport.values import mapping, part, word
from adapters.webhooks import Event

Json = dict[str, Any]

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_IDENTIFIER = re.compile(r"[A-Z0-9_]{1,20}-[0-9]{1,10}")
_FIELD = re.compile(r"[A-Za-z]{1,60}")
_DONE = {"create": "created", "update": "updated", "remove": "removed"}
_BREACHED = {"set": "set", "highRisk": "high_risk", "breached": "breached"}


def read_event(body: Mapping[str, Any], digest: Callable[[], str]) -> Event | None:
    """The event of a body; None for one of another kind. `digest` names it. Raises `DeliveryRefused` (malformed)."""
    kind_of, action = word(body, "type"), word(body, "action")
    if not kind_of or not action:
        raise malformed()
    found = _THINGS.get(kind_of)
    if found is None or action not in found[1]:
        return None
    thing, actions, read = found
    raw = mapping(body.get("issueData") if kind_of == "IssueSLA" and "data" not in body else body.get("data"))
    subject, data = read(raw)
    return event_of(
        id=digest(),
        kind=f"{thing}.{actions[action]}",
        occurred_at=moment(body.get("createdAt")),
        subject=subject,
        data={
            "organization": known(body.get("organizationId"), _UUID),
            **data,
            "url": address(body.get("url")) or address(raw.get("url")),
            "actor": named(body.get("actor"), "id", "name", "type"),
            "changed": sorted(name for name in part(body, "updatedFrom") if _FIELD.fullmatch(name)),
        },
    )


def _issue(raw: Mapping[str, Any]) -> tuple[str, Json]:
    data: Json = {
        "id": matching(raw.get("id"), _UUID),
        "identifier": known(raw.get("identifier"), _IDENTIFIER),
        "title": text(raw.get("title")),
        "description": text(raw.get("description")),
        "priority": text(raw.get("priorityLabel")),
        "state": named(raw.get("state"), "id", "name", "type"),
        "team": named(raw.get("team"), "id", "key", "name"),
        "assignee": named(raw.get("assignee"), "id", "name"),
        "labels": texts(raw.get("labels"), "name"),
        "project": named(raw.get("project"), "id", "name"),
        "due_date": text(raw.get("dueDate")),
    }
    return data["identifier"] or data["id"], data


def _comment(raw: Mapping[str, Any]) -> tuple[str, Json]:
    issue = part(raw, "issue")
    data: Json = {
        "id": matching(raw.get("id"), _UUID),
        "issue_id": known(raw.get("issueId"), _UUID) or known(issue.get("id"), _UUID),
        "issue_identifier": known(issue.get("identifier"), _IDENTIFIER),
        "issue_title": text(issue.get("title")),
        "body": text(raw.get("body")),
        "author": named(raw.get("user"), "id", "name"),
        "parent_id": known(raw.get("parentId"), _UUID),
    }
    return data["issue_identifier"] or data["issue_id"] or "", data


def _project(raw: Mapping[str, Any]) -> tuple[str, Json]:
    found = matching(raw.get("id"), _UUID)
    return found, {
        "id": found,
        "name": text(raw.get("name")),
        "description": text(raw.get("description")),
        "status": named(raw.get("status"), "name", "type"),
        "lead": named(raw.get("lead"), "id", "name"),
        "start_date": text(raw.get("startDate")),
        "target_date": text(raw.get("targetDate")),
    }


def _project_update(raw: Mapping[str, Any]) -> tuple[str, Json]:
    project = part(raw, "project")
    data: Json = {
        "id": matching(raw.get("id"), _UUID),
        "project_id": known(raw.get("projectId"), _UUID) or known(project.get("id"), _UUID),
        "project_name": text(project.get("name")),
        "health": text(raw.get("health")),
        "body": text(raw.get("body")),
        "author": named(raw.get("user"), "id", "name"),
        "is_edited": text(raw.get("editedAt")) is not None,
    }
    return data["project_id"] or "", data


def _cycle(raw: Mapping[str, Any]) -> tuple[str, Json]:
    found = matching(raw.get("id"), _UUID)
    return found, {
        "id": found,
        "name": text(raw.get("name")),
        "team_id": known(raw.get("teamId"), _UUID),
        "starts_at": text(raw.get("startsAt")),
        "ends_at": text(raw.get("endsAt")),
        "completed_at": text(raw.get("completedAt")),
    }


_Read = Callable[[Mapping[str, Any]], tuple[str, Json]]
_THINGS: Mapping[str, tuple[str, Mapping[str, str], _Read]] = {
    "Issue": ("issue", _DONE, _issue),
    "Comment": ("comment", _DONE, _comment),
    "Project": ("project", _DONE, _project),
    "ProjectUpdate": ("project_update", _DONE, _project_update),
    "Cycle": ("cycle", _DONE, _cycle),
    "IssueSLA": ("issue_sla", _BREACHED, _issue),
}
"""By Linear's type: what we call it, what may happen to it, and how it is read into subject and data."""
KINDS = tuple(sorted(f"{thing}.{happened}" for thing, actions, _ in _THINGS.values() for happened in actions.values()))
