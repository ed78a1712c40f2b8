"""What carries messages to a server and back: HTTP requests, or the pipes of a process."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from adapters.mcp_upstream import failures
from adapters.mcp_upstream.rpc import Answer, Ask, Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One request on its way."""

    id: int
    method: str
    body: bytes = field(repr=False)
    deadline: float
    has_effect: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """For HTTP: what the stateless revision wants to be said there too."""
    is_meant: Callable[[], bool] = field(default=lambda: True, repr=False)
    """Whether what answers is still what was looked at, as far as the server has said."""

    def check(self) -> None:
        """To be called when it is about to be sent. Raises `AdapterError`: nothing was sent."""
        if not self.is_meant():
            raise failures.not_now("The upstream server's tools changed just now, so nothing was sent; call again.")


class Forgotten(Exception):  # noqa: N818 - the session is opened anew
    """The server does not know the session any more, and so has done nothing."""


Hears = Callable[[Notice | Ask], None]
"""Is handed what a server tells or asks by itself. Never raises."""


class Wire(Protocol):
    """Carries many requests at once."""

    @property
    def is_open(self) -> bool:
        """Whether anything can still be carried."""
        ...

    @property
    def is_request_scoped(self) -> bool:
        """Whether letting go of a request ends it, and the server cannot be answered, in the stateless revision."""
        ...

    async def ask(self, asking: Asking) -> Answer:
        """The answer to this request, whether a result or an error. Raises `AdapterError`, `Forgotten`."""
        ...

    def tell(self, body: bytes) -> None:
        """Send something that has no answer, without waiting. It may be lost. Never raises."""
        ...

    async def told(self, body: bytes, deadline: float) -> None:
        """Send something that has no answer, and return when it was taken. Raises `AdapterError`."""
        ...

    def agreed(self, protocol: str, *, is_modern: bool) -> None:
        """From here on this revision is spoken."""
        ...

    def begin(self) -> None:
        """Nothing is agreed: what comes next opens a session."""
        ...

    async def close(self) -> None:
        """End the session at the server, and let go. Never raises; calling it twice is harmless."""
        ...
