"""What an agent sends to each operation."""

from typing import Literal, NotRequired, TypedDict

State = Literal["open", "closed", "all"]


class SearchIssuesArguments(TypedDict):
    """Of `search_issues`."""

    repositories: list[str]
    text: NotRequired[str]
    kind: NotRequired[Literal["issue", "pull_request"]]
    state: NotRequired[State]
    labels: NotRequired[list[str]]
    page_size: NotRequired[int]
    cursor: NotRequired[str]


class NumberArguments(TypedDict):
    """Of `get_issue` and `get_pull_request`."""

    owner: str
    repository: str
    number: int


class CreateIssueArguments(TypedDict):
    """Of `create_issue`."""

    owner: str
    repository: str
    title: str
    body: NotRequired[str]
    labels: NotRequired[list[str]]
    assignees: NotRequired[list[str]]


class CommentArguments(TypedDict):
    """Of `comment_on_issue`."""

    owner: str
    repository: str
    number: int
    body: str


class ListPullRequestsArguments(TypedDict):
    """Of `list_pull_requests`."""

    owner: str
    repository: str
    state: NotRequired[State]
    head: NotRequired[str]
    base: NotRequired[str]
    page_size: NotRequired[int]
    cursor: NotRequired[str]


class GetFileArguments(TypedDict):
    """Of `get_file`."""

    owner: str
    repository: str
    path: str
    ref: NotRequired[str]
    max_bytes: NotRequired[int]


class FileArguments(TypedDict):
    """One file of `commit_files`."""

    path: str
    content: str
    encoding: NotRequired[Literal["utf-8", "base64"]]


class CommitFilesArguments(TypedDict):
    """Of `commit_files`."""

    owner: str
    repository: str
    branch: str
    message: str
    files: NotRequired[list[FileArguments]]
    deleted_paths: NotRequired[list[str]]
    start_from: NotRequired[str]
    expected_head: NotRequired[str]


class OpenPullRequestArguments(TypedDict):
    """Of `open_pull_request`."""

    owner: str
    repository: str
    title: str
    head: str
    base: str
    body: NotRequired[str]
    is_draft: NotRequired[bool]


class RequestReviewArguments(TypedDict):
    """Of `request_review`."""

    owner: str
    repository: str
    number: int
    reviewers: NotRequired[list[str]]
    team_reviewers: NotRequired[list[str]]


class ListCheckRunsArguments(TypedDict):
    """Of `list_check_runs`."""

    owner: str
    repository: str
    ref: str
    name: NotRequired[str]
    status: NotRequired[Literal["queued", "in_progress", "completed"]]
    page_size: NotRequired[int]
    cursor: NotRequired[str]
