"""GitHub's events, read by an allow-list: whom and what they name, and texts without the marks of this gateway."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from adapters.github.answers import labels, login, logins, slugs
from adapters.github.marks import without_mark
from adapters.transport.events import address, event_of, flag, known, malformed, matching, moment, text, whole
from adapters.transport.values import mappings, part
from adapters.webhooks import Event

Json = dict[str, Any]

PARTS: Mapping[str, frozenset[str]] = {
    "issues": frozenset({"issue"}),
    "issue_comment": frozenset({"issue", "comment"}),
    "pull_request": frozenset({"pull_request"}),
    "pull_request_review": frozenset({"pull_request", "review"}),
    "pull_request_review_comment": frozenset({"pull_request", "comment"}),
    "push": frozenset({"commits"}),
    "release": frozenset({"release"}),
    "check_run": frozenset({"check_run"}),
    "workflow_run": frozenset({"workflow_run"}),
}
"""By what GitHub calls an event: the things that its body has at the top, and no other thing beside them."""


def _actions(thing: str, *actions: str) -> Mapping[str, str]:
    return {action: f"{thing}.{action}" for action in actions}


_LABELLED = ("labeled", "unlabeled", "assigned", "unassigned")
ACTIONS: Mapping[str, Mapping[str, str]] = {
    "issues": _actions("issue", "opened", "edited", "closed", "reopened", *_LABELLED),
    "issue_comment": _actions("issue_comment", "created", "edited", "deleted"),
    "pull_request": {
        **_actions("pull_request", "opened", "edited", "closed", "merged", "reopened", *_LABELLED),
        **_actions("pull_request", "review_requested", "review_request_removed", "ready_for_review"),
        **_actions("pull_request", "converted_to_draft"),
        "synchronize": "pull_request.synchronized",
    },
    "pull_request_review": _actions("pull_request_review", "submitted", "dismissed"),
    "pull_request_review_comment": _actions("pull_request_review_comment", "created"),
    "push": {"": "push"},
    "release": _actions("release", "published"),
    "check_run": _actions("check_run", "completed"),
    "workflow_run": _actions("workflow_run", "completed"),
}
"""By the event and its action: the kind."""
KINDS = tuple(sorted(kind for actions in ACTIONS.values() for kind in actions.values()))

_REPOSITORY = re.compile(r"[a-z0-9_-]{1,100}/[a-z0-9._-]{1,100}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF = re.compile(r"refs/[^\x00-\x20\x7f]{1,1000}")


def read_event(body: Mapping[str, Any], name: str, kind: str, event_id: str) -> Event:
    """The event of a body that has the parts of its kind. Raises `DeliveryRefused` (malformed)."""
    repository = _repository(body)
    number, occurred_at, data = _READS[name](body)
    return event_of(
        id=event_id,
        kind=kind,
        occurred_at=moment(occurred_at),
        subject=repository if number is None else f"{repository}#{number}",
        data={
            "installation": whole(part(body, "installation").get("id")),
            "repository": repository,
            **({} if number is None else {"number": number}),
            "sender": login(body.get("sender")),
            **data,
        },
    )


def _repository(body: Mapping[str, Any]) -> str:
    name = text(part(body, "repository").get("full_name")) or ""
    return matching(name.lower() if name.isascii() else None, _REPOSITORY)


def _number(item: Mapping[str, Any]) -> int:
    number = whole(item.get("number"))
    if number is None or number < 1:
        raise malformed()
    return number


def _written(item: Mapping[str, Any]) -> str | None:
    body = text(item.get("body"))
    return None if body is None else without_mark(body)


def _item(item: Mapping[str, Any]) -> Json:
    return {
        "title": text(item.get("title")),
        "state": text(item.get("state")),
        "author": login(item.get("user")),
        "labels": labels(item),
        "assignees": logins(item.get("assignees")),
        "body": _written(item),
        "url": address(item.get("html_url")),
    }


def _about(body: Mapping[str, Any]) -> Json:
    """What was added or taken away, where something was."""
    return {"label": text(part(body, "label").get("name")), "assignee": login(body.get("assignee"))}


def _issue(body: Mapping[str, Any]) -> tuple[int, object, Json]:
    issue = part(body, "issue")
    data = {**_item(issue), "state_reason": text(issue.get("state_reason")), **_about(body)}
    return _number(issue), issue.get("updated_at"), data


def _pull_request(body: Mapping[str, Any]) -> tuple[int, object, Json]:
    pull = part(body, "pull_request")
    head, base = part(pull, "head"), part(pull, "base")
    return (
        _number(pull),
        pull.get("updated_at"),
        {
            **_item(pull),
            "is_draft": flag(pull.get("draft")),
            "is_merged": flag(pull.get("merged")),
            "head_owner": login(head.get("user")),
            "head_branch": text(head.get("ref")),
            "head_sha": known(head.get("sha"), _COMMIT),
            "base_branch": text(base.get("ref")),
            "requested_reviewers": logins(pull.get("requested_reviewers")),
            "requested_teams": slugs(pull.get("requested_teams")),
            "requested_reviewer": login(body.get("requested_reviewer")),
            "requested_team": text(part(body, "requested_team").get("slug")),
            **_about(body),
        },
    )


def _comment(body: Mapping[str, Any]) -> tuple[int, object, Json]:
    issue, comment = part(body, "issue"), part(body, "comment")
    return (
        _number(issue),
        comment.get("updated_at"),
        {
            "is_pull_request": isinstance(issue.get("pull_request"), dict),
            "title": text(issue.get("title")),
            **_remark(comment),
        },
    )


def _review(body: Mapping[str, Any]) -> tuple[int, object, Json]:
    pull, review = part(body, "pull_request"), part(body, "review")
    state = text(review.get("state"))
    return (
        _number(pull),
        review.get("submitted_at"),
        {
            "title": text(pull.get("title")),
            "state": None if state is None else state.lower(),
            "commit": known(review.get("commit_id"), _COMMIT),
            **_remark(review),
        },
    )


def _review_comment(body: Mapping[str, Any]) -> tuple[int, object, Json]:
    pull, comment = part(body, "pull_request"), part(body, "comment")
    return (
        _number(pull),
        comment.get("updated_at"),
        {
            "title": text(pull.get("title")),
            "path": text(comment.get("path")),
            "line": whole(comment.get("line")),
            **_remark(comment),
        },
    )


def _remark(item: Mapping[str, Any]) -> Json:
    return {
        "id": whole(item.get("id")),
        "author": login(item.get("user")),
        "body": _written(item),
        "url": address(item.get("html_url")),
    }


def _push(body: Mapping[str, Any]) -> tuple[None, object, Json]:
    return (
        None,
        part(body, "repository").get("pushed_at"),
        {
            "ref": matching(body.get("ref"), _REF),
            "before": known(body.get("before"), _COMMIT),
            "after": known(body.get("after"), _COMMIT),
            "is_created": flag(body.get("created")),
            "is_deleted": flag(body.get("deleted")),
            "is_forced": flag(body.get("forced")),
            "commits": [_commit(one) for one in mappings(body.get("commits"))],
            "url": address(body.get("compare")),
        },
    )


def _commit(one: Mapping[str, Any]) -> Json:
    return {
        "id": known(one.get("id"), _COMMIT),
        "message": text(one.get("message")),
        "author": text(part(one, "author").get("username")) or text(part(one, "author").get("name")),
    }


def _release(body: Mapping[str, Any]) -> tuple[None, object, Json]:
    release = part(body, "release")
    return (
        None,
        release.get("published_at"),
        {
            "tag": text(release.get("tag_name")),
            "name": text(release.get("name")),
            "is_draft": flag(release.get("draft")),
            "is_prerelease": flag(release.get("prerelease")),
            "author": login(release.get("author")),
            "body": _written(release),
            "url": address(release.get("html_url")),
        },
    )


def _run(item: Mapping[str, Any]) -> Json:
    return {
        "id": whole(item.get("id")),
        "name": text(item.get("name")),
        "status": text(item.get("status")),
        "conclusion": text(item.get("conclusion")),
        "commit": known(item.get("head_sha"), _COMMIT),
        "pull_requests": [
            number for one in mappings(item.get("pull_requests")) if (number := whole(one.get("number")))
        ],
        "url": address(item.get("html_url")),
    }


def _check_run(body: Mapping[str, Any]) -> tuple[None, object, Json]:
    run = part(body, "check_run")
    output = part(run, "output")
    return (
        None,
        run.get("completed_at"),
        {
            **_run(run),
            "app": text(part(run, "app").get("slug")),
            "branch": text(part(run, "check_suite").get("head_branch")),
            "title": text(output.get("title")),
            "summary": text(output.get("summary")),
        },
    )


def _workflow_run(body: Mapping[str, Any]) -> tuple[None, object, Json]:
    run = part(body, "workflow_run")
    return (
        None,
        run.get("updated_at"),
        {
            **_run(run),
            "branch": text(run.get("head_branch")),
            "event": text(run.get("event")),
            "attempt": whole(run.get("run_attempt")),
            "title": text(run.get("display_title")),
        },
    )


_READS: Mapping[str, Callable[[Mapping[str, Any]], tuple[int | None, object, Json]]] = {
    "issues": _issue,
    "issue_comment": _comment,
    "pull_request": _pull_request,
    "pull_request_review": _review,
    "pull_request_review_comment": _review_comment,
    "push": _push,
    "release": _release,
    "check_run": _check_run,
    "workflow_run": _workflow_run,
}
"""By the event: the number of what it is about, when it happened, and the data."""
