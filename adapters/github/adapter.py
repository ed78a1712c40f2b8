"""GitHub: issues, pull requests, files and checks, by a token or as an installation of a GitHub App.

What is written carries a mark of its effect, which nobody sees who reads it at GitHub: an HTML comment at the end of a
body, a trailer in a commit's message. By it the outcome of a call that got no answer is found out.
"""

from collections.abc import Mapping

from adapters.base import Clock, Operation, Target
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
from adapters.github.webhooks import GitHubWebhooks
from adapters.transport.api import Api, ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Authorises, Bearer
from adapters.transport.oauth import ByForm, OAuth
from adapters.transport.operations import changing, reading

BASE_URL = "https://api.github.com"
API_VERSION = "2022-11-28"


class GitHubAdapter(ApiAdapter):
    """GitHub, or a GitHub Enterprise Server whose API is at the connection's `base_url` (`https://HOST/api/v3`)."""

    name = "github"
    webhooks = GitHubWebhooks()

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
    """GitHub takes no key by which it would tell repetitions apart, so what became of each has to be found out."""
    issues, pulls, commits = Issues(api), PullRequests(api), Commits(api)
    found = Reconciliation(api, pulls, clock)
    return [
        reading("search_issues", given.SearchIssuesArguments, ready.prepare_search, issues.search),
        reading("get_issue", given.NumberArguments, ready.prepare_number, issues.get),
        changing("create_issue", given.CreateIssueArguments, ready.prepare_issue, issues.create, found.issue),
        changing("comment_on_issue", given.CommentArguments, ready.prepare_comment, issues.comment, found.comment),
        reading("list_pull_requests", given.ListPullRequestsArguments, ready.prepare_pull_requests, pulls.list_all),
        reading("get_pull_request", given.NumberArguments, ready.prepare_number, pulls.get),
        reading("get_file", given.GetFileArguments, ready.prepare_file, Files(api).get),
        changing(
            "commit_files",
            given.CommitFilesArguments,
            prepare_commit,
            commits.commit_files,
            found.commit,
            preview=commits.preview,
        ),
        changing(
            "open_pull_request",
            given.OpenPullRequestArguments,
            ready.prepare_pull_request,
            pulls.open,
            found.pull_request,
        ),
        changing(
            "request_review",
            given.RequestReviewArguments,
            ready.prepare_review,
            pulls.request_review,
            found.review,
            preview=pulls.preview_review,
        ),
        reading("list_check_runs", given.ListCheckRunsArguments, ready.prepare_check_runs, pulls.check_runs),
    ]
