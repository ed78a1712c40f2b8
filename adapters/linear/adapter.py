"""Linear, by its GraphQL API (https://linear.app/developers)."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from adapters.base import Invocation, Operation, Output, SideEffect, Target
from adapters.linear import arguments
from adapters.linear.aftermath import Aftermath
from adapters.linear.failures import judge
from adapters.linear.limits import pauses
from adapters.linear.reading import Reading
from adapters.linear.writing import Writing
from adapters.transport.api import ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Authorises, Bearer
from adapters.transport.oauth import ByForm, OAuth
from adapters.transport.refresh import Refresh, is_oauth_credential
from adapters.transport.token_endpoint import OPTION, token_url_problems

BASE_URL = "https://api.linear.app"
TOKEN_URL = "https://api.linear.app/oauth/token"  # noqa: S105 - a place, no secret
_ACCESS_TOKEN = "lin_oauth_"  # noqa: S105 - what an access token begins with

Prepare = Callable[[dict[str, Any]], dict[str, Any]]
Ask = Callable[[Invocation], Awaitable[Output]]


class LinearAdapter(ApiAdapter):
    """Linear. A connection's credential is a personal API key, which goes as it stands, an OAuth access token
    (`lin_oauth_…`), or an OAuth credential as JSON (client_id, client_secret, refresh_token), whose access token is
    renewed. The option `token_url` is where.
    """

    name = "linear"

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


def _reads(reading: Reading) -> list[Operation]:
    table: tuple[tuple[str, type, Prepare, Ask], ...] = (
        ("search_issues", arguments.SearchIssues, arguments.prepare_search_issues, reading.search_issues),
        ("get_issue", arguments.GetIssue, arguments.prepare_get_issue, reading.get_issue),
        ("list_teams", arguments.ListTeams, arguments.prepare_list_teams, reading.list_teams),
        ("list_projects", arguments.ListOfTeam, arguments.prepare_list_projects, reading.list_projects),
        ("list_cycles", arguments.ListOfTeam, arguments.prepare_list_cycles, reading.list_cycles),
    )
    return [
        Operation(
            name=name, arguments=given, side_effect=SideEffect.READ, prepare=prepare, invoke=ask, needs_credential=True
        )
        for name, given, prepare, ask in table
    ]


def _writes(writing: Writing, aftermath: Aftermath) -> list[Operation]:
    write = partial(Operation, side_effect=SideEffect.WRITE, needs_credential=True)
    create = write(
        name="create_issue",
        arguments=arguments.CreateIssue,
        prepare=arguments.prepare_create_issue,
        invoke=writing.create_issue,
        reconcile=aftermath.create_issue,
    )
    comment = write(
        name="comment_on_issue",
        arguments=arguments.CommentOnIssue,
        prepare=arguments.prepare_comment_on_issue,
        invoke=writing.comment_on_issue,
        reconcile=aftermath.comment_on_issue,
    )
    return [create, comment, _update(writing, aftermath)]


def _update(writing: Writing, aftermath: Aftermath) -> Operation:
    return Operation(
        name="update_issue",
        arguments=arguments.UpdateIssue,
        side_effect=SideEffect.WRITE,
        prepare=arguments.prepare_update_issue,
        invoke=writing.update_issue,
        needs_credential=True,
        reconcile=aftermath.update_issue,
        preview=writing.preview_update,
    )
