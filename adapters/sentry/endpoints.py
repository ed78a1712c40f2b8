"""The parts of Sentry's API that are used here, all of them within the connection's organization."""

from collections.abc import Mapping
from typing import Any

from adapters.base import Invocation
from adapters.transport.api import Api
from adapters.transport.calls import Call, path_of
from adapters.transport.replies import Reply

OPTION = "organization"
"""The connection's option that holds the organization's slug."""
Query = Mapping[str, str | int | bool | list[str] | None]


class Endpoints:
    """Asks Sentry. Each endpoint has a limit of its own, which `limit` names."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def read(self, invocation: Invocation, limit: str, path: str, query: Query | None = None) -> Reply:
        """What is there. Raises `AdapterError`."""
        return await self._api.ask(invocation, Call(path=path, query=query or {}), limit=limit)

    async def change(self, invocation: Invocation, limit: str, method: str, path: str, value: Any) -> Reply:
        """What a change is answered with. Raises `AdapterError`."""
        return await self._api.ask(invocation, Call(method=method, path=path, json=value), limit=limit)


def issues_path(invocation: Invocation) -> str:
    """All issues."""
    return path_of("/organizations/{}/issues/", _organization(invocation))


def issue_path(invocation: Invocation, rest: str = "", *names: str) -> str:
    """The issue of the arguments, and what lies under it: each `{}` of `rest` is one of `names`."""
    form = "/organizations/{}/issues/{}/" + rest
    return path_of(form, _organization(invocation), invocation.arguments["issue"], *names)


def _organization(invocation: Invocation) -> str:
    return str(invocation.target.options.get(OPTION, ""))
