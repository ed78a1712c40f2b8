"""What became of an effect of which no answer came: GitHub is asked for what has the effect's mark.

Done is said only of what is found. Not done is said of pull requests alone, which GitHub never deletes. An issue or a
comment that is not there may have been deleted, or moved, and a branch may have been moved by force and have lost the
commit: what was done and undone cannot be told from what was never done, and to do it again would be to do it twice.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from adapters.base import Clock, Finding, Invocation
from adapters.github.answers import items_of, text
from adapters.github.limits import CORE
from adapters.github.marks import has_mark, has_trailer
from adapters.github.places import has_next, in_repository
from adapters.github.pulls import PullRequests
from adapters.transport.api import Api
from adapters.transport.calls import Call
from adapters.transport.lateness import is_early

PAGE_SIZE = 100
MAX_PAGES = 5
"""How far a list is read. One that goes on after that leaves the outcome unknown."""

Is = Callable[[Mapping[str, Any]], bool]
Query = Mapping[str, str | None]


class Reconciliation:
    """Asks GitHub, each time about one effect. Raises `AdapterError` when it does not answer."""

    def __init__(self, api: Api, pull_requests: PullRequests, clock: Clock) -> None:
        self._api = api
        self._pull_requests = pull_requests
        self._clock = clock

    async def issue(self, invocation: Invocation) -> Finding:
        """Whether the issue is there."""
        path = in_repository(invocation.arguments, "/issues")
        query = {"state": "all", "sort": "created", "direction": "desc", "since": _since(invocation)}
        return await self._found(invocation, path, query, _marked(invocation))

    async def comment(self, invocation: Invocation) -> Finding:
        """Whether the comment is there."""
        path = in_repository(invocation.arguments, "/issues/{}/comments", invocation.arguments["number"])
        return await self._found(invocation, path, {"since": _since(invocation)}, _marked(invocation))

    async def pull_request(self, invocation: Invocation) -> Finding:
        """Whether the pull request is there: of all that were opened since, for a filter may know the branch by another
        name. One of this branch without our mark may be ours, with another body by now.
        """
        is_it, since = _marked(invocation), _since(invocation)
        path = in_repository(invocation.arguments, "/pulls")
        query = {"state": "all", "sort": "created", "direction": "desc"}
        recent: list[Mapping[str, Any]] = []
        for number in range(1, MAX_PAGES + 1):
            items, is_last = await self._page(invocation, path, query, number)
            if any(is_it(item) for item in items):
                return Finding.DONE
            recent += (item for item in items if not _is_older(item, since))
            if is_last or any(_is_older(item, since) for item in items):
                return self._absent(invocation, recent)
        return Finding.STILL_UNKNOWN

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

    def _absent(self, invocation: Invocation, recent: Iterable[Mapping[str, Any]]) -> Finding:
        """What it means that of all recent pull requests none has our mark."""
        branch = invocation.arguments["head_branch"]
        is_time = not is_early(self._clock, invocation)
        is_certain = is_time and not any(_is_of_branch(item, branch) for item in recent)
        return Finding.NOT_DONE if is_certain else Finding.STILL_UNKNOWN

    async def _found(self, invocation: Invocation, path: str, query: Query, is_it: Is) -> Finding:
        for number in range(1, MAX_PAGES + 1):
            items, is_last = await self._page(invocation, path, query, number)
            if any(is_it(item) for item in items):
                return Finding.DONE
            if is_last:
                break
        return Finding.STILL_UNKNOWN

    async def _page(
        self, invocation: Invocation, path: str, query: Query, number: int
    ) -> tuple[list[Mapping[str, Any]], bool]:
        """What is on one page, and whether the list ends with it."""
        call = Call(path=path, query={**query, "per_page": PAGE_SIZE, "page": number})
        reply = await self._api.ask(invocation, call, limit=CORE)
        return items_of(reply), not has_next(reply)


def _marked(invocation: Invocation) -> Is:
    return lambda item: has_mark(item.get("body"), invocation.effect_id)


def _is_older(item: Mapping[str, Any], since: str | None) -> bool:
    """Whether it is from before the first attempt. Both are of one form, in which the earlier is the smaller."""
    created = text(item.get("created_at"))
    return since is not None and created is not None and len(created) == len(since) and created < since


def _is_of_branch(item: Mapping[str, Any], branch: str) -> bool:
    """Whether a pull request brings this branch; of what cannot be read nobody knows."""
    head = item.get("head")
    ref = text(head.get("ref")) if isinstance(head, dict) else None
    return ref is None or ref == branch


def _since(invocation: Invocation) -> str | None:
    """The moment before which there was no attempt, as GitHub writes one; None when nobody knows."""
    if invocation.since <= 0:
        return None
    return datetime.fromtimestamp(int(invocation.since), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
