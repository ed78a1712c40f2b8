"""Pull requests: list, read, open, and ask for a review; and the checks of a commit."""

from typing import Any

from adapters.base import Invocation, Output
from adapters.github.answers import (
    check_run,
    found_pull_request,
    item_of,
    items_of,
    logins,
    number_of,
    slugs,
    text,
    url,
    whole,
    whole_pull_request,
)
from adapters.github.limits import CORE
from adapters.github.marks import with_mark
from adapters.github.places import in_repository, next_cursor, page_of
from adapters.transport.api import Api
from adapters.transport.calls import Call


class PullRequests:
    """What can be done with pull requests."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def list_all(self, invocation: Invocation) -> Output:
        """Pull requests of a repository, the newest first."""
        arguments = invocation.arguments
        branch = arguments["head_branch"]
        query = {
            "state": arguments["state"],
            "head": None if branch is None else f"{arguments['head_owner']}:{branch}",
            "base": arguments["base"],
            **page_of(arguments),
        }
        call = Call(path=in_repository(arguments, "/pulls"), query=query)
        reply = await self._api.ask(invocation, call, limit=CORE)
        found = [found_pull_request(reply, item) for item in items_of(reply)]
        structured = {"pull_requests": found, "next_cursor": next_cursor(reply, "list_pull_requests", arguments)}
        receipt = f"Listed {len(found)} pull requests of {arguments['full_name']}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)

    async def get(self, invocation: Invocation) -> Output:
        """One pull request."""
        arguments = invocation.arguments
        path = in_repository(arguments, "/pulls/{}", arguments["number"])
        reply = await self._api.ask(invocation, Call(path=path), limit=CORE)
        receipt = f"Read pull request {arguments['full_name']}#{arguments['number']}."
        return Output(structured=whole_pull_request(reply, item_of(reply)), receipt=receipt, attempts=reply.attempts)

    async def open(self, invocation: Invocation) -> Output:
        """One more pull request, whose body ends in the effect's mark."""
        arguments = invocation.arguments
        head, owner = arguments["head_branch"], arguments["head_owner"]
        pull_request = {
            "title": arguments["title"],
            "body": with_mark(arguments["body"], invocation.effect_id),
            "head": head if owner == arguments["owner"] else f"{owner}:{head}",
            "base": arguments["base"],
            "draft": arguments["is_draft"],
        }
        call = Call(method="POST", path=in_repository(arguments, "/pulls"), json=pull_request)
        reply = await self._api.ask(invocation, call, limit=CORE)
        item = item_of(reply)
        number = number_of(reply, item)
        structured = {"number": number, "state": text(item.get("state")), "url": url(item.get("html_url"))}
        receipt = f"Opened pull request {arguments['full_name']}#{number}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)

    async def request_review(self, invocation: Invocation) -> Output:
        """More people and teams are asked; who is asked already stays so."""
        arguments = invocation.arguments
        asked = {name: arguments[name] for name in ("reviewers", "team_reviewers") if arguments[name]}
        path = in_repository(arguments, "/pulls/{}/requested_reviewers", arguments["number"])
        call = Call(method="POST", path=path, json=asked)
        reply = await self._api.ask(invocation, call, limit=CORE)
        item = item_of(reply)
        structured = {
            "number": number_of(reply, item),
            "requested_reviewers": logins(item.get("requested_reviewers")),
            "requested_teams": slugs(item.get("requested_teams")),
            "url": url(item.get("html_url")),
        }
        receipt = f"Requested a review of {arguments['full_name']}#{arguments['number']}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)

    async def preview_review(self, invocation: Invocation) -> dict[str, Any]:
        """Who is asked now, and who would be."""
        arguments = invocation.arguments
        people, teams = await self.asked_for(invocation)
        return {
            "was": {"reviewers": people, "team_reviewers": teams},
            "will_be": {
                "reviewers": sorted({*people, *arguments["reviewers"]}),
                "team_reviewers": sorted({*teams, *arguments["team_reviewers"]}),
            },
        }

    async def asked_for(self, invocation: Invocation) -> tuple[list[str], list[str]]:
        """The people and the teams of whom a review is awaited, in lower case."""
        arguments = invocation.arguments
        path = in_repository(arguments, "/pulls/{}", arguments["number"])
        reply = await self._api.ask(invocation, Call(path=path), limit=CORE)
        item = item_of(reply)
        people, teams = logins(item.get("requested_reviewers")), slugs(item.get("requested_teams"))
        return sorted(name.lower() for name in people), sorted(name.lower() for name in teams)

    async def check_runs(self, invocation: Invocation) -> Output:
        """The newest run of each check of a commit."""
        arguments = invocation.arguments
        query = {"check_name": arguments["name"], "status": arguments["status"], **page_of(arguments)}
        path = in_repository(arguments, "/commits/{}/check-runs", arguments["ref"])
        reply = await self._api.ask(invocation, Call(path=path, query=query), limit=CORE)
        runs = [check_run(reply, item) for item in items_of(reply, "check_runs")]
        structured = {
            "check_runs": runs,
            "total_count": whole(item_of(reply).get("total_count")),
            "next_cursor": next_cursor(reply, "list_check_runs", arguments),
        }
        receipt = f"Listed {len(runs)} check runs of {arguments['full_name']}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)
