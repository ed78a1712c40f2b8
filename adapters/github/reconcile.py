"""What became of an effect of which no answer came: GitHub is asked for what has the effect's mark.

Done is said only of what is found. Not done is said only when a list was read to its end, or back to what was there
before the first attempt. What was written and deleted again meanwhile, or a branch that was moved by force and lost the
commit, is not told from what was never done: either way the effect is not there.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from adapters.base import Finding, Invocation
from adapters.github.answers import items_of, text
from adapters.github.limits import CORE
from adapters.github.marks import has_mark, has_trailer
from adapters.github.places import has_next, in_repository
from adapters.github.pulls import PullRequests
from adapters.transport.api import Api, Call

PAGE_SIZE = 100
MAX_PAGES = 5
"""How far a list is read. One that goes on after that leaves the outcome unknown."""

Is = Callable[[Mapping[str, Any]], bool]


class Reconciliation:
    """Asks GitHub, each time about one effect. Raises `AdapterError` when it does not answer."""

    def __init__(self, api: Api, pull_requests: PullRequests) -> None:
        self._api = api
        self._pull_requests = pull_requests

    async def issue(self, invocation: Invocation) -> Finding:
        """Whether the issue is there."""
        path = in_repository(invocation.arguments, "/issues")
        query = {"state": "all", "sort": "created", "direction": "desc", "since": _since(invocation)}
        return await self._found(invocation, path, query, _marked(invocation), is_newest_first=True)

    async def comment(self, invocation: Invocation) -> Finding:
        """Whether the comment is there."""
        path = in_repository(invocation.arguments, "/issues/{}/comments", invocation.arguments["number"])
        return await self._found(invocation, path, {"since": _since(invocation)}, _marked(invocation))

    async def pull_request(self, invocation: Invocation) -> Finding:
        """Whether the pull request is there."""
        arguments = invocation.arguments
        head = f"{arguments['head_owner']}:{arguments['head_branch']}"
        query = {"state": "all", "head": head, "sort": "created", "direction": "desc"}
        path = in_repository(arguments, "/pulls")
        return await self._found(invocation, path, query, _marked(invocation), is_newest_first=True)

    async def commit(self, invocation: Invocation) -> Finding:
        """Whether the branch has the commit. A branch that is not there is no proof: it may have been merged."""
        arguments = invocation.arguments
        query = {"sha": arguments["branch"], "since": _since(invocation)}

        def is_it(item: Mapping[str, Any]) -> bool:
            commit = item.get("commit")
            return isinstance(commit, dict) and has_trailer(commit.get("message"), invocation.effect_id)

        return await self._found(invocation, in_repository(arguments, "/commits"), query, is_it)

    async def review(self, invocation: Invocation) -> Finding:
        """Whether everybody is asked. Who is not may have answered already, so that proves nothing."""
        arguments = invocation.arguments
        people, teams = await self._pull_requests.asked_for(invocation)
        is_asked = {*arguments["reviewers"]} <= {*people} and {*arguments["team_reviewers"]} <= {*teams}
        return Finding.DONE if is_asked else Finding.STILL_UNKNOWN

    async def _found(
        self, invocation: Invocation, path: str, query: Mapping[str, Any], is_it: Is, *, is_newest_first: bool = False
    ) -> Finding:
        since = _since(invocation)
        for page in range(1, MAX_PAGES + 1):
            call = Call(path=path, query={**query, "per_page": PAGE_SIZE, "page": page})
            reply = await self._api.ask(invocation, call, limit=CORE)
            items = items_of(reply)
            if any(is_it(item) for item in items):
                return Finding.DONE
            is_past = is_newest_first and since is not None and any(_is_older(item, since) for item in items)
            if is_past or not has_next(reply):
                return Finding.NOT_DONE
        return Finding.STILL_UNKNOWN


def _marked(invocation: Invocation) -> Is:
    return lambda item: has_mark(item.get("body"), invocation.effect_id)


def _is_older(item: Mapping[str, Any], since: str) -> bool:
    """Both are of one form, in which the earlier is the smaller."""
    created = text(item.get("created_at"))
    return created is not None and len(created) == len(since) and created < since


def _since(invocation: Invocation) -> str | None:
    """The moment before which there was no attempt, as GitHub writes one; None when nobody knows."""
    if invocation.since <= 0:
        return None
    return datetime.fromtimestamp(int(invocation.since), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
