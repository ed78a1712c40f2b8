"""What GitHub's refusals mean, in our own words. Its messages are looked through, and never repeated.

https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
"""

import re
from collections.abc import Mapping

from adapters.base import AdapterError, Clock, ErrorKind, Happened
from adapters.github.limits import errors_of, limit_seconds, said
from adapters.transport.replies import Reply, Words, by_status

_MOVED = (
    ErrorKind.NOT_FOUND,
    "The repository was renamed or moved to another owner; find out its new name and ask for it under that.",
)
_WORDS: Words = {
    301: _MOVED,
    302: _MOVED,
    307: _MOVED,
    308: _MOVED,
    403: (
        ErrorKind.FORBIDDEN,
        "GitHub does not let the connection's account do this here; an operator can give it the permission.",
    ),
    404: (
        ErrorKind.NOT_FOUND,
        "GitHub has nothing by this name, or hides it from the connection's account; check owner and repository first.",
    ),
    409: (
        ErrorKind.CONFLICT,
        "The repository is not in a state for this: it is empty, or was changed at this very moment. Read it again.",
    ),
    410: (ErrorKind.NOT_FOUND, "This was deleted, or issues are switched off for the repository."),
    413: (ErrorKind.INVALID, "This is more than GitHub takes at once; send less."),
    451: (ErrorKind.FORBIDDEN, "GitHub does not give access to this for legal reasons."),
}
_REFUSALS = (
    (
        re.compile(r"repository (?:was|is|has been) archived", re.IGNORECASE),
        ErrorKind.FORBIDDEN,
        "The repository is archived and can only be read.",
    ),
    (
        re.compile(r"is locked", re.IGNORECASE),
        ErrorKind.FORBIDDEN,
        "The conversation is locked; only people with write access can comment.",
    ),
    (
        re.compile(r"protected branch|repository rule", re.IGNORECASE),
        ErrorKind.FORBIDDEN,
        "The branch is protected against this; commit on another branch and open a pull request.",
    ),
    (
        re.compile(r"too large to fetch|^too_large$", re.IGNORECASE | re.MULTILINE),
        ErrorKind.TOO_LARGE,
        "The file is larger than GitHub gives out in this way.",
    ),
)
"""What a 403, 409 or 422 may say beside what its status says. A branch's name may be in it, which has no blanks."""
_INVALID = (
    (
        re.compile(r"not a fast.?forward", re.IGNORECASE),
        ErrorKind.CONFLICT,
        "The branch was changed meanwhile; read its files again and commit again.",
    ),
    (
        re.compile(r"pull request already exists", re.IGNORECASE),
        ErrorKind.CONFLICT,
        "There is a pull request for this branch already; list the pull requests to find it.",
    ),
    (
        re.compile(r"reference already exists", re.IGNORECASE),
        ErrorKind.CONFLICT,
        "The branch was made by somebody else meanwhile; commit on it without `start_from`, or take another name.",
    ),
    (
        re.compile(r"reference does not exist", re.IGNORECASE),
        ErrorKind.NOT_FOUND,
        "The branch is not there any more; list what is there, or give `start_from` to make it.",
    ),
    (
        re.compile(r"no commits between", re.IGNORECASE),
        ErrorKind.INVALID,
        "`head` has no commit that `base` has not; commit something on it first.",
    ),
    (
        re.compile(r"cannot be searched", re.IGNORECASE),
        ErrorKind.NOT_FOUND,
        "One of `repositories` is not there, or is hidden from the connection's account.",
    ),
    (
        re.compile(r"review cannot be requested from pull request author", re.IGNORECASE),
        ErrorKind.INVALID,
        "The author of a pull request cannot be one of its `reviewers`.",
    ),
    (
        re.compile(r"not a collaborator|may only be requested from collaborators|could not resolve to", re.IGNORECASE),
        ErrorKind.INVALID,
        "A review can be requested only of people and teams with access to the repository; leave out who has none.",
    ),
    (re.compile(r"already exists", re.IGNORECASE), ErrorKind.CONFLICT, "This is there already."),
)
"""What a 422 may say, the most particular first."""
_FIELDS: Mapping[str, str] = {
    "title": "title",
    "body": "body",
    "labels": "labels",
    "assignees": "assignees",
    "head": "head",
    "base": "base",
    "draft": "is_draft",
    "reviewers": "reviewers",
    "team_reviewers": "team_reviewers",
    "message": "message",
    "q": "text",
    "ref": "branch",
    "sha": "ref",
}
"""What GitHub calls a field, and what we call the argument that went into it."""


class Judge:
    """Says what error an answer is. The clock tells how long it is until a limit is over."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __call__(self, reply: Reply) -> AdapterError | None:
        """None for a good answer."""
        if 200 <= reply.status < 300:
            return None
        wait = limit_seconds(reply, self._clock.now())
        if wait is not None:
            message = "GitHub asks for fewer calls of this account; wait before the next one."
            return reply.error(ErrorKind.RATE_LIMITED, message, wait=wait)
        return _refusal(reply)


def _refusal(reply: Reply) -> AdapterError | None:
    if 300 <= reply.status < 400:
        # It leads elsewhere instead of doing something: that is certain, whatever was asked.
        return reply.error(*_WORDS.get(reply.status, _MOVED), happened=Happened.NO)
    if reply.status == 403 and "X-GitHub-SSO" in reply.headers:
        message = "The organisation wants single sign-on; an operator has to authorise the connection's token for it."
        return reply.error(ErrorKind.NEEDS_AUTHORISATION, message)
    if reply.status in (403, 409, 422):
        told = said(reply)
        rows = (*_REFUSALS, *_INVALID) if reply.status == 422 else _REFUSALS
        for pattern, kind, message in rows:
            if pattern.search(told):
                return reply.error(kind, message)
    return _invalid(reply) if reply.status == 422 else by_status(reply, _WORDS)


def _invalid(reply: Reply) -> AdapterError:
    errors = [one for one in errors_of(reply) if isinstance(one, dict)]
    if any(one.get("code") == "already_exists" for one in errors):
        return reply.error(ErrorKind.CONFLICT, "This is there already.")
    named = sorted({f"`{_FIELDS[field]}`" for one in errors if (field := _text(one.get("field"))) in _FIELDS})
    what = " and ".join(named) if named else "these arguments"
    return reply.error(ErrorKind.INVALID, f"GitHub does not take {what}; check them against what is in the repository.")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
