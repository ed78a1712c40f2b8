"""Linear, by its GraphQL API (https://linear.app/developers)."""

from collections.abc import Mapping

from adapters.base import Operation, Target
from adapters.linear import arguments
from adapters.linear.aftermath import Aftermath
from adapters.linear.failures import judge
from adapters.linear.limits import pauses
from adapters.linear.reading import Reading
from adapters.linear.webhooks import LinearWebhooks
from adapters.linear.writing import Writing
from adapters.transport.api import ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Authorises, Bearer
from adapters.transport.oauth import ByForm, OAuth
from adapters.transport.operations import changing, reading
from adapters.transport.refresh import Refresh, is_oauth_credential
from adapters.transport.token_endpoint import OPTION, token_url_problems

BASE_URL = "https://api.linear.app"
TOKEN_URL = "https://api.linear.app/oauth/token"  # noqa: S105 - a place, no secret
_ACCESS_TOKEN = "lin_oauth_"  # noqa: S105 - what an access token begins with


class LinearAdapter(ApiAdapter):
    """Linear. A connection's credential is a personal API key, which goes as it stands, an OAuth access token
    (`lin_oauth_…`), or an OAuth credential as JSON (client_id, client_secret, refresh_token), whose access token is
    renewed. The option `token_url` is where.
    """

    name = "linear"
    webhooks = LinearWebhooks()

    def __init__(self, parts: ApiParts) -> None:
        clock = parts.clock
        vendor = Vendor(
            base_url=BASE_URL,
            authorises=_authorises(parts),
            judge=lambda reply: judge(reply, clock.now()),
            pauses=pauses,
        )
        super().__init__(vendor, parts, options=(OPTION,))
        self.operations: Mapping[str, Operation] = {
            operation.name: operation
            for operation in (
                *_reads(Reading(self.api)),
                *_writes(Writing(self.api), Aftermath(self.api, clock)),
            )
        }

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection; empty when all is well."""
        problems = super().check_target(target)
        return problems + (token_url_problems(target, TOKEN_URL) if OPTION in target.options else [])


def _authorises(parts: ApiParts) -> Authorises:
    key = ByForm(lambda text: text.startswith(_ACCESS_TOKEN), Bearer(), Bearer(form="{}"))
    oauth = OAuth(parts.tokens, Refresh(parts.transport, parts.clock, TOKEN_URL))
    return ByForm(is_oauth_credential, oauth, key)


def _reads(ask: Reading) -> list[Operation]:
    return [
        reading("search_issues", arguments.SearchIssues, arguments.prepare_search_issues, ask.search_issues),
        reading("get_issue", arguments.GetIssue, arguments.prepare_get_issue, ask.get_issue),
        reading("list_teams", arguments.ListTeams, arguments.prepare_list_teams, ask.list_teams),
        reading("list_projects", arguments.ListOfTeam, arguments.prepare_list_projects, ask.list_projects),
        reading("list_cycles", arguments.ListOfTeam, arguments.prepare_list_cycles, ask.list_cycles),
    ]


def _writes(writing: Writing, aftermath: Aftermath) -> list[Operation]:
    return [
        changing(
            "create_issue",
            arguments.CreateIssue,
            arguments.prepare_create_issue,
            writing.create_issue,
            aftermath.create_issue,
        ),
        changing(
            "comment_on_issue",
            arguments.CommentOnIssue,
            arguments.prepare_comment_on_issue,
            writing.comment_on_issue,
            aftermath.comment_on_issue,
        ),
        changing(
            "update_issue",
            arguments.UpdateIssue,
            arguments.prepare_update_issue,
            writing.update_issue,
            aftermath.update_issue,
            preview=writing.preview_update,
        ),
    ]
