"""What the adapter needs of an MCP server, however it is reached: over streamable HTTP or by the pipes of a process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from adapters.base import Invocation

Progress = Callable[[float, float | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Who answers, as it says itself. Every text is the server's, cut at 128 characters."""

    name: str
    version: str
    protocol: str
    """The revision of MCP that both speak, e.g. `2025-11-25`."""


class Session(Protocol):
    """A conversation with one server, for one account. It may carry many calls at once."""

    @property
    def server(self) -> Server:
        """Who answers."""
        ...

    @property
    def tools_changed(self) -> int:
        """How often the server has said since the beginning that its tools changed (`tools/list_changed`)."""
        ...

    async def tools(self, deadline: float) -> Sequence[Mapping[str, Any]]:
        """Every tool as the server lists it, all pages, each an object and nothing else checked.

        Raises `AdapterError`: `too_large` beyond the bounds of pages, tools and bytes; `malformed`; what a call raises.
        """
        ...

    async def call(
        self, name: str, arguments: Mapping[str, Any], deadline: float, progress: Progress, *, has_effect: bool
    ) -> Mapping[str, Any]:
        """The result of `tools/call`, an object and nothing else checked.

        When it is cancelled, or the deadline passes, the server is told (`notifications/cancelled`) without waiting
        for it. Raises `AdapterError`, whose `happened` is the truth: `unknown` once anything was sent of a call that
        has an effect and no answer came; `no` for an error by which the server says that it did not call the tool.

        A call is never sent again. When the server has forgotten the session, it is opened anew, `tools_changed` goes
        up, and the call ends in `unavailable` and `no`: whoever calls has to look first whether it is the same tool.
        So does a call that has to wait before it is sent, when `tools_changed` goes up meanwhile.
        """
        ...


class Sessions(Protocol):
    """Conversations by account: one is opened when it is needed, kept while it is used, and opened anew when its server
    has forgotten it.
    """

    async def of(self, invocation: Invocation) -> Session:
        """The account's session. Raises `AdapterError`; nothing was called then."""
        ...

    @property
    def open_circuits(self) -> int:
        """How many servers are left alone for the moment."""
        ...

    async def close(self) -> None:
        """Every session is ended, and every process. Calling it twice is harmless."""
        ...
