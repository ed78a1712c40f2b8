"""Slack's methods. All of them take a form by POST, those that only read as well; some take nothing else."""

from collections.abc import Mapping

from adapters.base import Invocation
from adapters.transport.api import Api
from adapters.transport.calls import Call
from adapters.transport.replies import Reply

Form = Mapping[str, str | int | bool | None]
"""A None is left out."""


class Methods:
    """Asks Slack. Each method has a limit of its own."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def read(self, invocation: Invocation, method: str, form: Form) -> Reply:
        """What a method says that changes nothing, or nothing that anybody sees. Raises `AdapterError`."""
        return await self._api.ask(invocation, _call(method, form, is_read=True), limit=method)

    async def write(self, invocation: Invocation, method: str, form: Form) -> Reply:
        """What a method says that changes something. Raises `AdapterError`."""
        return await self._api.ask(invocation, _call(method, form, is_read=False), limit=method)


def _call(method: str, form: Form, *, is_read: bool) -> Call:
    given = {name: _plain(value) for name, value in form.items() if value is not None}
    return Call(method="POST", path=f"/{method}", form=given, is_read=is_read)


def _plain(value: str | int | bool | None) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
