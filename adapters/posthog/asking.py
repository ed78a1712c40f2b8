"""Questions to a project's private API, and queries until they are answered."""

from collections.abc import Mapping
from typing import Any

from adapters.base import AdapterError, Clock, ErrorKind, Fault, Invocation
from adapters.posthog.failures import query_status
from adapters.posthog.options import project_of
from adapters.transport.api import Api
from adapters.transport.calls import Call, path_of
from adapters.transport.replies import Reply, malformed

QUERY, ANALYTICS, PLAIN = "query", "analytics", "plain"
"""What PostHog counts together: queries, what else asks its event store, and all the rest."""
_LOOKS_SECONDS = (0.5, 1.0, 2.0, 3.0, 5.0, 5.0, 5.0, 5.0)
"""How long is waited before each look at a query that goes on."""
_PROJECT = "/api/projects/{}"


class Asking:
    """Asks for the connection's project."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock

    async def get(
        self,
        invocation: Invocation,
        form: str,
        *segments: str | int,
        query: Mapping[str, Any] | None = None,
        limit: str = PLAIN,
    ) -> Reply:
        """The answer to a GET of the path under the project. Raises `AdapterError`."""
        path = path_of(_PROJECT + form, project_of(invocation), *segments)
        return await self._api.ask(invocation, Call(path=path, query=query or {}), limit=limit)

    async def query(self, invocation: Invocation, query: Mapping[str, Any]) -> tuple[Mapping[str, Any], Reply]:
        """What a query comes to: an object with `results`. Raises `AdapterError`."""
        path = path_of(_PROJECT + "/query/", project_of(invocation))
        call = Call(method="POST", path=path, json={"query": query, "refresh": "blocking"}, is_read=True)
        reply = await self._api.ask(invocation, call, limit=QUERY)
        return await self.settled(invocation, reply)

    async def settled(self, invocation: Invocation, reply: Reply) -> tuple[Mapping[str, Any], Reply]:
        """The answer, or, when PostHog works on it still, what it comes to. Raises `AdapterError`."""
        for seconds in _LOOKS_SECONDS:
            if _is_settled(reply):
                break
            await self._wait(invocation, seconds, reply)
            reply = await self.get(invocation, "/query/{}/", _query_id(reply), limit=QUERY)
        if not _is_settled(reply):
            raise _unfinished(reply)
        return _result(reply), reply

    async def _wait(self, invocation: Invocation, seconds: float, reply: Reply) -> None:
        if self._clock.monotonic() + seconds >= invocation.deadline:
            raise _unfinished(reply)
        await self._clock.sleep(seconds)


def _is_settled(reply: Reply) -> bool:
    return query_status(reply.value).get("complete") is not False


def _result(reply: Reply) -> Mapping[str, Any]:
    """The object that holds the result: the answer itself, or what its status holds."""
    value, held = reply.value, query_status(reply.value).get("results")
    found = held if isinstance(held, Mapping) and not _has_result(value) else value
    if not isinstance(found, Mapping):
        malformed(reply)
    return found


def _has_result(value: Any) -> bool:
    return isinstance(value, Mapping) and (value.get("results") is not None or value.get("result") is not None)


def _query_id(reply: Reply) -> str:
    found = query_status(reply.value).get("id")
    if not isinstance(found, str) or not 0 < len(found) <= 128:
        malformed(reply)
    return found


def _unfinished(reply: Reply) -> AdapterError:
    message = "PostHog works on the query still; ask again in a while, or for a shorter time."
    error = reply.error(ErrorKind.UNAVAILABLE, message, wait=30.0)
    error.fault = Fault.TIMEOUT
    return error
