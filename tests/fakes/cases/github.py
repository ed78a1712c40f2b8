"""Operations of GitHub, and what it answers when all is well."""

import base64
from typing import Any

from fakes.cases.base import ApiCase, Case, api
from fakes.vendor import Answer, Asked, Said

PLACE = {"owner": "acme", "repository": "site"}
HEAD, TREE, FOLDER = "a" * 40, "b" * 40, "c" * 40
OLD_BLOB, NEW_BLOB, NEW_TREE, NEW_COMMIT = "d" * 40, "e" * 40, "f" * 40, "1" * 40
WEB = "https://github.com/acme/site"
REST = "https://api.github.com/repos/acme/site"


def user(login: str) -> dict[str, Any]:
    """A person."""
    return {"login": login, "id": 583231, "node_id": "MDQ6VXNlcjE=", "type": "User", "site_admin": False}


def issue(number: int = 7, **more: Any) -> dict[str, Any]:
    """An issue."""
    return {
        "url": f"{REST}/issues/{number}",
        "repository_url": REST,
        "html_url": f"{WEB}/issues/{number}",
        "id": 3_000_000_000 + number,
        "node_id": "I_kwDOA",
        "number": number,
        "title": "The cart forgets its items",
        "user": user("octocat"),
        "labels": [{"id": 208045946, "name": "bug", "color": "f29513", "default": True}],
        "state": "open",
        "locked": False,
        "assignee": user("ann"),
        "assignees": [user("ann")],
        "milestone": {"number": 1, "title": "v1.0", "state": "open"},
        "comments": 2,
        "created_at": "2026-01-01T09:00:00Z",
        "updated_at": "2026-01-02T09:00:00Z",
        "closed_at": None,
        "author_association": "COLLABORATOR",
        "body": "After a reload it is empty.",
        "state_reason": None,
        **more,
    }


def pull_request(number: int = 12, **more: Any) -> dict[str, Any]:
    """A pull request."""
    repo = {"id": 1296269, "full_name": "acme/site"}
    return {
        "url": f"{REST}/pulls/{number}",
        "html_url": f"{WEB}/pull/{number}",
        "number": number,
        "state": "open",
        "locked": False,
        "title": "Keep the cart",
        "user": user("octocat"),
        "body": "Fixes #7.",
        "created_at": "2026-01-02T09:00:00Z",
        "updated_at": "2026-01-02T10:00:00Z",
        "closed_at": None,
        "merged_at": None,
        "draft": False,
        "labels": [],
        "requested_reviewers": [user("ann")],
        "requested_teams": [{"id": 1, "slug": "web", "name": "Web"}],
        "head": {"label": "acme:cart", "ref": "cart", "sha": HEAD, "user": user("acme"), "repo": repo},
        "base": {"label": "acme:main", "ref": "main", "sha": TREE, "user": user("acme"), "repo": repo},
        "merged": False,
        "mergeable": None,
        "mergeable_state": "unknown",
        "comments": 1,
        "commits": 3,
        "additions": 100,
        "deletions": 3,
        "changed_files": 5,
        **more,
    }


def file(data: bytes = b"# Site\n", /, **more: Any) -> dict[str, Any]:
    """A file of a repository."""
    return {
        "type": "file",
        "encoding": "base64",
        "size": len(data),
        "name": "README.md",
        "path": "docs/README.md",
        "content": base64.encodebytes(data).decode(),
        "sha": OLD_BLOB,
        "html_url": f"{WEB}/blob/main/README.md",
        **more,
    }


CHECK_RUN: dict[str, Any] = {
    "id": 4,
    "head_sha": HEAD,
    "html_url": f"{WEB}/runs/4",
    "status": "completed",
    "conclusion": "failure",
    "started_at": "2026-01-02T09:00:00Z",
    "completed_at": "2026-01-02T09:02:00Z",
    "output": {"title": "2 tests failed", "summary": "cart, checkout", "text": None, "annotations_count": 2},
    "name": "tests",
    "app": {"id": 1, "slug": "github-actions", "name": "GitHub Actions"},
    "pull_requests": [],
}


def tree(**entries: tuple[str, str, str]) -> dict[str, Any]:
    """A folder: of each name its mode, kind and id."""
    listed = [
        {"path": name, "mode": mode, "type": kind, "sha": sha, "size": 6} for name, (mode, kind, sha) in entries.items()
    ]
    return {"sha": TREE, "tree": listed, "truncated": False}


_GIT = {
    ("GET", "/git/ref/heads/cart"): Said({"ref": "refs/heads/cart", "object": {"type": "commit", "sha": HEAD}}),
    ("GET", f"/git/commits/{HEAD}"): Said({"sha": HEAD, "tree": {"sha": TREE}, "parents": []}),
    ("GET", f"/git/trees/{TREE}"): Said(
        tree(
            docs=("040000", "tree", FOLDER),
            run=("100755", "blob", OLD_BLOB),
            old=("100644", "blob", OLD_BLOB),
            link=("120000", "blob", OLD_BLOB),
        )
    ),
    ("GET", f"/git/trees/{FOLDER}"): Said(tree(index=("100644", "blob", OLD_BLOB))),
    ("POST", "/git/blobs"): Said({"sha": NEW_BLOB}, status=201),
    ("POST", "/git/trees"): Said({"sha": NEW_TREE, "tree": []}, status=201),
    ("POST", "/git/commits"): Said({"sha": NEW_COMMIT, "html_url": f"{WEB}/commit/{NEW_COMMIT}"}, status=201),
    ("PATCH", "/git/refs/heads/cart"): Said({"ref": "refs/heads/cart", "object": {"sha": NEW_COMMIT}}),
    ("POST", "/git/refs"): Said({"ref": "refs/heads/new", "object": {"sha": NEW_COMMIT}}, status=201),
}
NOT_FOUND = Said({"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"}, 404)


def git(**others: Said) -> Answer:
    """A Git database with the branch `cart`; `others` are answers in place of its own, e.g. `PATCH_refs`."""

    def answer(asked: Asked) -> Said:
        below = asked.path.removeprefix("/repos/acme/site")
        other = others.get(f"{asked.method}_{below.removeprefix('/git/').partition('/')[0]}")
        return other or _GIT.get((asked.method, below), NOT_FOUND)

    return answer


def moves_a_branch(asked: Asked) -> bool:
    """What is made in Git's database changes nothing until a branch leads to it."""
    return asked.method == "PATCH" or (asked.method == "POST" and asked.path.endswith("/git/refs"))


def _always(value: Any, status: int = 200) -> Answer:
    return lambda _asked: Said(value, status=status)


CASES: tuple[Case, ...] = (
    api(
        "github",
        "search_issues",
        {"repositories": ["acme/site"], "text": "cart", "labels": ["bug"]},
        _always({"total_count": 1, "incomplete_results": False, "items": [{**issue(), "score": 1.0}]}),
    ),
    api("github", "get_issue", {**PLACE, "number": 7}, _always(issue())),
    api(
        "github",
        "create_issue",
        {**PLACE, "title": "The cart forgets", "body": "Seen by @ann.", "labels": ["bug"], "assignees": ["ann"]},
        _always(issue(), 201),
    ),
    api(
        "github",
        "comment_on_issue",
        {**PLACE, "number": 7, "body": "Seen again today."},
        _always({"id": 99, "html_url": f"{WEB}/issues/7#issuecomment-99", "body": "…", "user": user("bot")}, 201),
    ),
    api("github", "list_pull_requests", {**PLACE, "head": "cart", "base": "main"}, _always([pull_request()])),
    api("github", "get_pull_request", {**PLACE, "number": 12}, _always(pull_request())),
    api("github", "get_file", {**PLACE, "path": "docs/README.md", "ref": "main"}, _always(file())),
    api(
        "github",
        "commit_files",
        {
            **PLACE,
            "branch": "cart",
            "message": "Keep the cart",
            "files": [
                {"path": "docs/index", "content": "new\n"},
                {"path": "run", "content": "AAEC", "encoding": "base64"},
            ],
            "deleted_paths": ["old"],
            "expected_head": HEAD,
        },
        git(),
        changes=moves_a_branch,
    ),
    api(
        "github",
        "open_pull_request",
        {**PLACE, "title": "Keep the cart", "head": "cart", "base": "main", "body": "Fixes #7."},
        _always(pull_request(), 201),
    ),
    api(
        "github",
        "request_review",
        {**PLACE, "number": 12, "reviewers": ["ann"], "team_reviewers": ["web"]},
        _always(pull_request(), 201),
    ),
    api(
        "github",
        "list_check_runs",
        {**PLACE, "ref": "feature/cart"},
        _always({"total_count": 1, "check_runs": [CHECK_RUN]}),
    ),
)
GITHUB: dict[str, ApiCase] = {case.operation: case for case in CASES if isinstance(case, ApiCase)}
