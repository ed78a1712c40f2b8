"""Linear's objects as an agent is told of them. Whatever is not as it should be is null."""

from collections.abc import Callable, Mapping
from typing import Any

from adapters.linear.graphql import Answer, unreadable
from adapters.transport.cursors import cursor_to

Json = dict[str, Any]
Read = Callable[[Any], Json | None]

PRIORITIES = ("none", "urgent", "high", "medium", "low")


def issue(node: Any) -> Json | None:
    """An issue without its text; None when it has no id."""
    if not isinstance(node, Mapping) or text(node.get("id")) is None:
        return None
    return {
        "id": node["id"],
        "identifier": text(node.get("identifier")),
        "title": text(node.get("title")),
        "url": text(node.get("url")),
        "priority": _priority(node.get("priority")),
        "state": part(node.get("state"), "id", "name", "type"),
        "team": part(node.get("team"), "id", "key", "name"),
        "assignee": part(node.get("assignee"), "id", "name"),
        "labels": parts(node.get("labels"), "id", "name"),
        "project": part(node.get("project"), "id", "name"),
        "cycle": _cycle_of_issue(node.get("cycle")),
        "due_date": text(node.get("dueDate")),
        "created_at": text(node.get("createdAt")),
        "updated_at": text(node.get("updatedAt")),
        "is_archived": text(node.get("archivedAt")) is not None,
    }


def comment(node: Any) -> Json | None:
    """A comment with its text and author."""
    found = part(node, "id", "body")
    if found is None:
        return None
    return {**found, "author": part(node.get("user"), "id", "name"), "created_at": text(node.get("createdAt"))}


def written_comment(node: Any) -> Json | None:
    """A comment as its writer is told of it."""
    found = part(node, "id", "url")
    if found is None:
        return None
    where = part(node.get("issue"), "id", "identifier") or {}
    return {**found, "issue_id": where.get("id"), "issue_identifier": where.get("identifier")}


def team(node: Any) -> Json | None:
    """A team, and what its issues can be set to."""
    found = part(node, "id", "key", "name", "description")
    if found is None:
        return None
    return {
        **found,
        "has_cycles": node.get("cyclesEnabled") is True,
        "states": parts(node.get("states"), "id", "name", "type"),
        "labels": parts(node.get("labels"), "id", "name"),
        "members": parts(node.get("members"), "id", "name", "email"),
    }


def project(node: Any) -> Json | None:
    """A project."""
    found = part(node, "id", "name", "description", "url")
    if found is None:
        return None
    return {
        **found,
        "status": part(node.get("status"), "type", "name", key="type"),
        "lead": part(node.get("lead"), "id", "name"),
        "start_date": text(node.get("startDate")),
        "target_date": text(node.get("targetDate")),
        "updated_at": text(node.get("updatedAt")),
    }


def cycle(node: Any) -> Json | None:
    """A cycle."""
    found = _cycle_of_issue(node)
    if found is None:
        return None
    progress = node.get("progress")
    return {
        **found,
        "team": part(node.get("team"), "id", "key", "name"),
        "starts_at": text(node.get("startsAt")),
        "ends_at": text(node.get("endsAt")),
        "progress": float(progress) if _is_number(progress) and 0 <= progress <= 1 else None,
    }


def page(answer: Answer, connection: Any, name: str, read: Read, of: tuple[str, Mapping[str, Any]]) -> Json:
    """One page of a list under its name, with the cursor to the next. `of` is the operation and its arguments."""
    nodes = connection.get("nodes") if isinstance(connection, Mapping) else None
    if not isinstance(nodes, list):
        unreadable(answer.reply)
    items = [item for node in nodes if (item := read(node)) is not None]
    following = connection.get("pageInfo")
    is_more = isinstance(following, Mapping) and following.get("hasNextPage") is True
    end = text(following.get("endCursor")) if is_more else None
    return {name: items, "next_cursor": cursor_to(None if end == of[1].get("page") else end, *of)}


def part(node: Any, *names: str, key: str = "id") -> Json | None:
    """Texts of an object that is known by its `key`; None when that is missing."""
    if not isinstance(node, Mapping) or text(node.get(key)) is None:
        return None
    return {name: text(node.get(name)) for name in names}


def parts(connection: Any, *names: str) -> list[Json]:
    """The same of each object in a connection."""
    nodes = connection.get("nodes") if isinstance(connection, Mapping) else None
    found = [part(node, *names) for node in nodes] if isinstance(nodes, list) else []
    return [one for one in found if one is not None]


def text(value: Any) -> str | None:
    """A text, if it is one."""
    return value if isinstance(value, str) else None


def _cycle_of_issue(node: Any) -> Json | None:
    found = part(node, "id", "name")
    if found is None:
        return None
    number = node.get("number")
    return {**found, "number": int(number) if _is_number(number) and abs(number) < 2**53 else None}


def _priority(value: Any) -> str | None:
    return PRIORITIES[int(value)] if _is_number(value) and 0 <= value < len(PRIORITIES) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124 - no NaN
