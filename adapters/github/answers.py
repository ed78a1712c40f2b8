"""What GitHub answers, read into what an agent gets: whatever is odd in it becomes None, and what must be there and
is not makes the answer malformed.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from adapters.github.marks import without_mark
from adapters.transport.replies import Reply, malformed
from adapters.transport.values import part

MAX_SUMMARY = 2_000
"""Characters of what a check says of its result."""


def item_of(reply: Reply) -> Mapping[str, Any]:
    """The one thing that was asked for."""
    if not isinstance(reply.value, dict):
        malformed(reply)
    return reply.value


def items_of(reply: Reply, name: str | None = None) -> list[Mapping[str, Any]]:
    """The things of a list, which is the answer itself or stands in it under a name."""
    value = reply.value if name is None else item_of(reply).get(name)
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        malformed(reply)
    return value


def number_of(reply: Reply, item: Mapping[str, Any]) -> int:
    """An issue's or pull request's number, without which it is nothing."""
    number = whole(item.get("number"))
    if number is None or number < 1:
        malformed(reply)
    return number


def sha_of(reply: Reply, item: object) -> str:
    """The id of a Git object, without which it is nothing."""
    sha = text(item.get("sha")) if isinstance(item, dict) else None
    if not sha or len(sha) not in (40, 64) or not set(sha) <= set("0123456789abcdef"):
        malformed(reply)
    return sha


def found_issue(reply: Reply, item: Mapping[str, Any]) -> dict[str, Any]:
    """An issue or pull request among others."""
    return {
        "repository": repository_in(item),
        "number": number_of(reply, item),
        "kind": "pull_request" if item.get("pull_request") is not None else "issue",
        "title": text(item.get("title")),
        "state": text(item.get("state")),
        "author": login(item.get("user")),
        "labels": labels(item),
        "assignees": logins(item.get("assignees")),
        "comments": whole(item.get("comments")),
        "created_at": text(item.get("created_at")),
        "updated_at": text(item.get("updated_at")),
        "url": url(item.get("html_url")),
    }


def whole_issue(reply: Reply, item: Mapping[str, Any]) -> dict[str, Any]:
    """An issue by itself."""
    found = found_issue(reply, item)
    del found["repository"]
    milestone = item.get("milestone")
    return {
        **found,
        "state_reason": text(item.get("state_reason")),
        "milestone": text(milestone.get("title")) if isinstance(milestone, dict) else None,
        "is_locked": flag(item.get("locked")),
        "closed_at": text(item.get("closed_at")),
        "body": body(item),
    }


def found_pull_request(reply: Reply, item: Mapping[str, Any]) -> dict[str, Any]:
    """A pull request among others."""
    head, base = part(item, "head"), part(item, "base")
    merged_at = text(item.get("merged_at"))
    return {
        "number": number_of(reply, item),
        "title": text(item.get("title")),
        "state": "merged" if merged_at else text(item.get("state")),
        "is_draft": flag(item.get("draft")),
        "author": login(item.get("user")),
        "head_owner": login(head.get("user")),
        "head_branch": text(head.get("ref")),
        "head_sha": text(head.get("sha")),
        "base_branch": text(base.get("ref")),
        "labels": labels(item),
        "requested_reviewers": logins(item.get("requested_reviewers")),
        "requested_teams": slugs(item.get("requested_teams")),
        "created_at": text(item.get("created_at")),
        "updated_at": text(item.get("updated_at")),
        "merged_at": merged_at,
        "url": url(item.get("html_url")),
    }


def whole_pull_request(reply: Reply, item: Mapping[str, Any]) -> dict[str, Any]:
    """A pull request by itself. GitHub works out whether it can be merged only when somebody asks: None is not yet."""
    return {
        **found_pull_request(reply, item),
        "is_mergeable": flag(item.get("mergeable")),
        "mergeable_state": text(item.get("mergeable_state")),
        "commits": whole(item.get("commits")),
        "changed_files": whole(item.get("changed_files")),
        "additions": whole(item.get("additions")),
        "deletions": whole(item.get("deletions")),
        "comments": whole(item.get("comments")),
        "body": body(item),
    }


def check_run(reply: Reply, item: Mapping[str, Any]) -> dict[str, Any]:
    """A check of a commit."""
    name, output = text(item.get("name")), part(item, "output")
    if name is None:
        malformed(reply)
    summary = text(output.get("summary"))
    return {
        "id": whole(item.get("id")),
        "name": name,
        "status": text(item.get("status")),
        "conclusion": text(item.get("conclusion")),
        "app": text(part(item, "app").get("slug")),
        "title": text(output.get("title")),
        "summary": summary if summary is None else summary[:MAX_SUMMARY],
        "started_at": text(item.get("started_at")),
        "completed_at": text(item.get("completed_at")),
        "url": url(item.get("html_url")),
    }


def repository_in(item: Mapping[str, Any]) -> str | None:
    """`OWNER/NAME` in lower case: where an issue that was found is."""
    address = text(item.get("repository_url")) or ""
    parts = address.lower().partition("/repos/")[2].split("/")
    return "/".join(parts) if len(parts) == 2 and all(parts) else None


def body(item: Mapping[str, Any]) -> str | None:
    """A text as people read it."""
    written = text(item.get("body"))
    return written if written is None else without_mark(written)


def labels(item: Mapping[str, Any]) -> list[str]:
    """The names of its labels. Old answers give a name alone."""
    found = item.get("labels")
    named = (one.get("name") if isinstance(one, dict) else one for one in (found if isinstance(found, list) else ()))
    return [name for name in named if isinstance(name, str)]


def login(user: object) -> str | None:
    """Who somebody is; None for an account that was deleted."""
    return text(user.get("login")) if isinstance(user, dict) else None


def logins(users: object) -> list[str]:
    """Who they are."""
    return list(_named(users, "login"))


def slugs(teams: object) -> list[str]:
    """Which teams they are."""
    return list(_named(teams, "slug"))


def text(value: object) -> str | None:
    """A string, or None."""
    return value if isinstance(value, str) else None


def url(value: object) -> str | None:
    """A web address, or None."""
    return value if isinstance(value, str) and value.startswith(("https://", "http://")) else None


def whole(value: object) -> int | None:
    """A whole number that is not negative, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def flag(value: object) -> bool | None:
    """Yes or no, or None."""
    return value if isinstance(value, bool) else None


def _named(items: object, name: str) -> Iterator[str]:
    for one in items if isinstance(items, list) else ():
        if isinstance(one, dict) and isinstance(one.get(name), str):
            yield one[name]
