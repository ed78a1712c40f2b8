"""GitHub: issues, pull requests, files and checks, by a token or as an installation of a GitHub App.

What is written carries a mark of its effect, which nobody sees who reads it at GitHub: an HTML comment at the end of a
body, a trailer in a commit's message. By it the outcome of a call that got no answer is found out.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from adapters.base import Clock, Finding, Invocation, Operation, Output, SideEffect, Target
from adapters.github import arguments as given
from adapters.github import preparation as ready
from adapters.github.changes import prepare_commit
from adapters.github.commits import Commits
from adapters.github.failures import Judge
from adapters.github.files import Files
from adapters.github.installation import OPTIONS, AppJwt, Installation, is_private_key, option_problems
from adapters.github.issues import Issues
from adapters.github.limits import pauses
from adapters.github.pulls import PullRequests
from adapters.github.reconcile import Reconciliation
from adapters.transport.api import Api, ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Authorises, Bearer
from adapters.transport.oauth import ByForm, OAuth

BASE_URL = "https://api.github.com"
API_VERSION = "2022-11-28"
Prepare = Callable[[dict[str, Any]], dict[str, Any]]
Invoke = Callable[[Invocation], Awaitable[Output]]
Reconcile = Callable[[Invocation], Awaitable[Finding]]


class GitHubAdapter(ApiAdapter):
    """GitHub, or a GitHub Enterprise Server whose API is at the connection's `base_url` (`https://HOST/api/v3`)."""

    name = "github"

    def __init__(self, parts: ApiParts) -> None:
        as_app = Api(_vendor(parts, AppJwt(parts.clock)), parts.transport, parts.clock, parts.pauses)
        token = OAuth(parts.tokens, Installation(as_app, parts.clock).token)
        super().__init__(_vendor(parts, ByForm(is_private_key, token, Bearer())), parts, options=OPTIONS)
        self.operations: Mapping[str, Operation] = {one.name: one for one in _operations(self.api, parts.clock)}

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection; empty when all is well."""
        return [*super().check_target(target), *option_problems(target)]


def _vendor(parts: ApiParts, authorises: Authorises) -> Vendor:
    return Vendor(
        base_url=BASE_URL,
        authorises=authorises,
        judge=Judge(parts.clock),
        pauses=pauses,
        headers={"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": API_VERSION},
    )


def _operations(api: Api, clock: Clock) -> list[Operation]:
    issues, pulls = Issues(api), PullRequests(api)
    found = Reconciliation(api, pulls, clock)
    return [
        _read("search_issues", given.SearchIssuesArguments, ready.prepare_search, issues.search),
        _read("get_issue", given.NumberArguments, ready.prepare_number, issues.get),
        _write("create_issue", given.CreateIssueArguments, ready.prepare_issue, issues.create, found.issue),
        _write("comment_on_issue", given.CommentArguments, ready.prepare_comment, issues.comment, found.comment),
        _read("list_pull_requests", given.ListPullRequestsArguments, ready.prepare_pull_requests, pulls.list_all),
        _read("get_pull_request", given.NumberArguments, ready.prepare_number, pulls.get),
        _read("get_file", given.GetFileArguments, ready.prepare_file, Files(api).get),
        _commit_files(Commits(api), found),
        _write(
            "open_pull_request",
            given.OpenPullRequestArguments,
            ready.prepare_pull_request,
            pulls.open,
            found.pull_request,
        ),
        _request_review(pulls, found),
        _read("list_check_runs", given.ListCheckRunsArguments, ready.prepare_check_runs, pulls.check_runs),
    ]


def _commit_files(commits: Commits, found: Reconciliation) -> Operation:
    one = _write("commit_files", given.CommitFilesArguments, prepare_commit, commits.commit_files, found.commit)
    return replace(one, preview=commits.preview)


def _request_review(pulls: PullRequests, found: Reconciliation) -> Operation:
    kind, prepare = given.RequestReviewArguments, ready.prepare_review
    one = _write("request_review", kind, prepare, pulls.request_review, found.review)
    return replace(one, preview=pulls.preview_review)


def _read(name: str, arguments: type, prepare: Prepare, invoke: Invoke) -> Operation:
    return Operation(
        name=name,
        arguments=arguments,
        side_effect=SideEffect.READ,
        prepare=prepare,
        invoke=invoke,
        needs_credential=True,
    )


def _write(name: str, arguments: type, prepare: Prepare, invoke: Invoke, reconcile: Reconcile) -> Operation:
    """GitHub takes no key by which it would tell repetitions apart, so what became of each has to be found out."""
    return replace(_read(name, arguments, prepare, invoke), side_effect=SideEffect.WRITE, reconcile=reconcile)
