"""From what an agent sends to what policy judges: pure, and every problem is told at once."""

from typing import Any

from adapters.base import ArgumentIssue, ArgumentProblem
from adapters.github import names
from adapters.github.paths import path_in_repository
from adapters.github.places import MAX_PAGE
from adapters.github.texts import filled_text_of, line_of, mentions_in, text_of
from adapters.transport.cursors import with_page
from adapters.transport.fields import Fields, is_odd

MAX_REPOSITORIES = 5
"""GitHub takes five operators in a query at most."""
MAX_SEARCH_TEXT = 200
PAGE_SIZE = 20
MAX_PAGE_SIZE = 100
DEFAULT_FILE_BYTES = 200_000
MAX_FILE_BYTES = 1_000_000
MAX_NUMBER = 2**31 - 1
_SEARCHED_CHARACTERS = '"\\'


def prepare_search(arguments: dict[str, Any]) -> dict[str, Any]:
    """The repositories in lower case with their `owners`; the words of the text, none of which can be a qualifier."""
    fields = Fields(arguments)
    names_given = arguments["repositories"]
    full_names = [names.full_name_of(text, f"/repositories/{index}", fields) for index, text in enumerate(names_given)]
    if not 0 < len(full_names) <= MAX_REPOSITORIES:
        fields.issue("/repositories", "count", f"must name 1 to {MAX_REPOSITORIES} repositories")
    prepared = {
        "repositories": sorted(set(full_names)),
        "owners": sorted({name.partition("/")[0] for name in full_names}),
        "text": _searched(arguments.get("text"), fields),
        "kind": arguments.get("kind") or "issue",
        "state": arguments.get("state") or "open",
        "labels": names.labels_of(arguments.get("labels") or [], "/labels", fields),
    }
    return _paged("search_issues", arguments, prepared, fields)


def prepare_number(arguments: dict[str, Any]) -> dict[str, Any]:
    """A repository and a number in it."""
    fields = Fields(arguments)
    prepared = {**place_of(arguments, fields), "number": _number(arguments, fields)}
    return fields.checked(prepared)


def prepare_issue(arguments: dict[str, Any]) -> dict[str, Any]:
    """An issue to be, with whom its text mentions."""
    fields = Fields(arguments)
    prepared = {
        **place_of(arguments, fields),
        **_titled(arguments, fields),
        "labels": names.labels_of(arguments.get("labels") or [], "/labels", fields),
        "assignees": names.people_of(arguments.get("assignees") or [], "/assignees", fields),
    }
    return fields.checked(prepared)


def prepare_comment(arguments: dict[str, Any]) -> dict[str, Any]:
    """A comment to be, with whom it mentions."""
    fields = Fields(arguments)
    body = filled_text_of(arguments["body"], "/body", fields)
    prepared = {**place_of(arguments, fields), "number": _number(arguments, fields), "body": body}
    return fields.checked({**prepared, "mentions": mentions_in(body)})


def prepare_pull_requests(arguments: dict[str, Any]) -> dict[str, Any]:
    """A list of pull requests: of one branch, into one branch, or all."""
    fields = Fields(arguments)
    place = place_of(arguments, fields)
    head, base = arguments.get("head"), arguments.get("base")
    prepared = {
        **place,
        "state": arguments.get("state") or "open",
        **(_head(head, place["owner"], fields) if head is not None else {"head_owner": None, "head_branch": None}),
        "base": None if base is None else names.branch_of(base, "/base", fields),
    }
    return _paged("list_pull_requests", arguments, prepared, fields)


def prepare_file(arguments: dict[str, Any]) -> dict[str, Any]:
    """A file at a branch, tag or commit, and how much of it is wanted."""
    fields = Fields(arguments)
    ref, most = arguments.get("ref"), arguments.get("max_bytes")
    most = DEFAULT_FILE_BYTES if most is None else most
    if not 1 <= most <= MAX_FILE_BYTES:
        fields.issue("/max_bytes", "range", f"must be from 1 to {MAX_FILE_BYTES}")
    prepared = {
        **place_of(arguments, fields),
        "path": path_in_repository(arguments["path"], "/path", fields),
        "ref": None if ref is None else names.ref_of(ref, "/ref", fields),
        "max_bytes": most,
    }
    return fields.checked(prepared)


def prepare_pull_request(arguments: dict[str, Any]) -> dict[str, Any]:
    """A pull request to be. `head_owner` is whose branch it is: another's when it comes from a fork."""
    fields = Fields(arguments)
    place = place_of(arguments, fields)
    prepared = {
        **place,
        **_titled(arguments, fields),
        **_head(arguments["head"], place["owner"], fields),
        "base": names.branch_of(arguments["base"], "/base", fields),
        "is_draft": bool(arguments.get("is_draft")),
    }
    if (prepared["head_owner"], prepared["head_branch"]) == (prepared["owner"], prepared["base"]):
        fields.issue("/head", "same", "must be another branch than `base`")
    return fields.checked(prepared)


def prepare_review(arguments: dict[str, Any]) -> dict[str, Any]:
    """Who is asked to look at a pull request."""
    fields = Fields(arguments)
    prepared = {
        **place_of(arguments, fields),
        "number": _number(arguments, fields),
        "reviewers": names.people_of(arguments.get("reviewers") or [], "/reviewers", fields),
        "team_reviewers": names.teams_of(arguments.get("team_reviewers") or [], "/team_reviewers", fields),
    }
    if not prepared["reviewers"] and not prepared["team_reviewers"]:
        fields.issue("/reviewers", "count", "name at least one reviewer or team")
    return fields.checked(prepared)


def prepare_check_runs(arguments: dict[str, Any]) -> dict[str, Any]:
    """A list of the checks of a commit, or of the newest commit of a branch."""
    fields = Fields(arguments)
    name = arguments.get("name")
    prepared = {
        **place_of(arguments, fields),
        "ref": names.ref_of(arguments["ref"], "/ref", fields),
        "name": None if name is None else line_of(name, "/name", fields),
        "status": arguments.get("status"),
    }
    return _paged("list_check_runs", arguments, prepared, fields)


def place_of(arguments: dict[str, Any], fields: Fields) -> dict[str, str]:
    """Owner and repository as policy compares them, apart and as one."""
    owner = names.owner_of(arguments["owner"], "/owner", fields)
    repository = names.repository_of(arguments["repository"], "/repository", fields)
    return {"owner": owner, "repository": repository, "full_name": f"{owner}/{repository}"}


def _titled(arguments: dict[str, Any], fields: Fields) -> dict[str, Any]:
    title = line_of(arguments["title"], "/title", fields)
    body = arguments.get("body")
    plain = None if body is None else text_of(body, "/body", fields)
    return {"title": title, "body": plain, "mentions": mentions_in(title, plain)}


def _head(text: str, owner: str, fields: Fields) -> dict[str, str]:
    """`BRANCH`, or `OWNER:BRANCH` of a fork."""
    before, colon, after = text.partition(":")
    head_owner = names.owner_of(before, "/head", fields) if colon else owner
    return {"head_owner": head_owner, "head_branch": names.branch_of(after if colon else text, "/head", fields)}


def _number(arguments: dict[str, Any], fields: Fields) -> int:
    number: int = arguments["number"]
    if not 0 < number <= MAX_NUMBER:
        fields.issue("/number", "range", "must be the number that GitHub shows after the #")
    return number


def _searched(text: str | None, fields: Fields) -> str | None:
    """Words with one blank between them. Quotes and backslashes would end the quotation that each is put into."""
    if text is None or not text.strip():
        return None
    words = " ".join(text.split())
    if len(words) > MAX_SEARCH_TEXT or is_odd(words) or any(each in words for each in _SEARCHED_CHARACTERS):
        message = (
            f"must be words of {MAX_SEARCH_TEXT} characters in all, without quotes, backslashes, control characters"
        )
        fields.issue("/text", "search_text", message)
    return words


def _paged(operation: str, arguments: dict[str, Any], prepared: dict[str, Any], fields: Fields) -> dict[str, Any]:
    size = arguments.get("page_size")
    size = PAGE_SIZE if size is None else size
    if not 0 < size <= MAX_PAGE_SIZE:
        fields.issue("/page_size", "range", f"must be from 1 to {MAX_PAGE_SIZE}")
    asked = fields.checked({**prepared, "page_size": size, "cursor": arguments.get("cursor")})
    paged = with_page(operation, asked)
    if paged["page"] is not None and not (isinstance(paged["page"], int) and 1 < paged["page"] <= MAX_PAGE):
        message = "This is no cursor of ours. Use the `next_cursor` of the page before, as it stands."
        raise ArgumentProblem(ArgumentIssue(path="/cursor", rule="cursor", message=message))
    return paged
