"""Sentry: issues and events of one organization, at sentry.io or self-hosted.

The credential is an auth token, of an internal integration for instance, with the scopes event:read and event:write.
A connection's option `organization` is the organization's slug; `base_url` is that of another region or of a server
of one's own (`https://sentry.corp.example/api/0`).
"""

import re
from collections.abc import Mapping
from functools import partial

from adapters.base import ErrorKind, Happened, Invocation, Operation, Output, Target
from adapters.sentry import answers, arguments
from adapters.sentry.endpoints import OPTION, Endpoints, issue_path, issues_path
from adapters.sentry.failures import Judge
from adapters.sentry.limits import pauses
from adapters.sentry.marks import marked
from adapters.sentry.paging import next_page
from adapters.sentry.reconcile import Reconcile, preview_resolve
from adapters.sentry.webhooks import SentryWebhooks
from adapters.transport.api import ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Bearer
from adapters.transport.cursors import cursor_to
from adapters.transport.operations import changing, reading

BASE_URL = "https://sentry.io/api/0"
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_SORTS = {"last_seen": "date", "first_seen": "new", "events": "freq", "users": "user"}
"""What Sentry calls each order."""


class SentryAdapter(ApiAdapter):
    """Sentry."""

    name = "sentry"
    webhooks = SentryWebhooks()

    def __init__(self, parts: ApiParts) -> None:
        vendor = Vendor(base_url=BASE_URL, authorises=Bearer(), judge=Judge(parts.clock), pauses=pauses)
        super().__init__(vendor, parts, options=(OPTION,))
        self._endpoints = Endpoints(self.api)
        self._reconcile = Reconcile(self._endpoints, parts.clock)
        self.operations: Mapping[str, Operation] = {one.name: one for one in (*self._reads(), *self._changes())}

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection to Sentry; empty when all is well."""
        problems = super().check_target(target)
        organization = target.options.get(OPTION)
        if not isinstance(organization, str) or not _SLUG.fullmatch(organization):
            problems.append(f"options: {OPTION} must be the organization's slug, as in https://sentry.io/SLUG/")
        return problems

    def _reads(self) -> list[Operation]:
        return [
            reading("list_issues", arguments.IssuesArguments, arguments.prepare_issues, self._list_issues),
            reading("get_issue", arguments.IssueArguments, arguments.prepare_issue, self._get_issue),
            reading("list_events", arguments.EventsArguments, arguments.prepare_events, self._list_events),
            reading("get_event", arguments.EventArguments, arguments.prepare_event, self._get_event),
        ]

    def _changes(self) -> list[Operation]:
        return [
            changing(
                "resolve_issue",
                arguments.IssueArguments,
                arguments.prepare_issue,
                self._resolve,
                self._reconcile.resolved,
                preview=partial(preview_resolve, self._endpoints),
            ),
            changing(
                "comment_on_issue",
                arguments.CommentArguments,
                arguments.prepare_comment,
                self._comment,
                self._reconcile.commented,
            ),
        ]

    async def _list_issues(self, invocation: Invocation) -> Output:
        asked = invocation.arguments
        query = {
            "query": asked["query"],
            "projectSlug": asked["project"],
            "environment": asked["environment"],
            "statsPeriod": asked["period"],
            "sort": _SORTS[asked["sort"]],
            "limit": asked["limit"],
            "cursor": asked["page"],
        }
        reply = await self._endpoints.read(invocation, "issues", issues_path(invocation), query)
        found = answers.issues(reply)
        structured = {"issues": found, "next_cursor": cursor_to(next_page(reply), "list_issues", asked)}
        return Output(structured=structured, receipt=f"Listed {len(found)} issues.", attempts=reply.attempts)

    async def _get_issue(self, invocation: Invocation) -> Output:
        reply = await self._endpoints.read(invocation, "issue", issue_path(invocation))
        receipt = f"Read the issue {invocation.arguments['issue']}."
        return Output(structured=answers.issue(reply), receipt=receipt, attempts=reply.attempts)

    async def _list_events(self, invocation: Invocation) -> Output:
        asked = invocation.arguments
        query = {"per_page": asked["limit"], "cursor": asked["page"]}
        reply = await self._endpoints.read(invocation, "events", issue_path(invocation, "events/"), query)
        found = answers.events(reply)
        structured = {"events": found, "next_cursor": cursor_to(next_page(reply), "list_events", asked)}
        receipt = f"Listed {len(found)} events of the issue {asked['issue']}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)

    async def _get_event(self, invocation: Invocation) -> Output:
        asked = invocation.arguments
        path = issue_path(invocation, "events/{}/", asked["event"])
        reply = await self._endpoints.read(invocation, "event", path)
        receipt = f"Read the event {asked['event']} of the issue {asked['issue']}."
        return Output(structured=answers.event(reply), receipt=receipt, attempts=reply.attempts)

    async def _resolve(self, invocation: Invocation) -> Output:
        asked = {"status": "resolved"}
        reply = await self._endpoints.change(invocation, "issue", "PUT", issue_path(invocation), asked)
        structured = answers.state(reply)
        if structured["status"] != "resolved":
            message = "Sentry took the change, and the issue has another status all the same; read it again."
            raise reply.error(ErrorKind.CONFLICT, message, happened=Happened.UNKNOWN)
        receipt = f"Resolved the issue {invocation.arguments['issue']}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)

    async def _comment(self, invocation: Invocation) -> Output:
        asked = invocation.arguments
        value = {"text": marked(asked["text"], invocation.effect_id)}
        path = issue_path(invocation, "comments/")
        reply = await self._endpoints.change(invocation, "comments", "POST", path, value)
        structured = {"issue": asked["issue"], "comment": answers.comment(reply)}
        receipt = f"Commented on the issue {asked['issue']}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)
