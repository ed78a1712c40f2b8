"""What adapters ask the transport and what they get."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.base import AdapterError, Cut, Happened
from adapters.transport.failures import status_error
from adapters.transport.urls import WebUrl

SAFE_METHODS = frozenset({"GET", "HEAD"})
"""Methods without effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of an adapter. Headers and body may hold a credential and are never printed."""

    method: str = "GET"
    url: WebUrl
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    deadline: float
    """On `Clock.monotonic`; retries and redirects included."""
    circuit: str
    """The connection's name. Each of its origins has a circuit of its own."""
    max_bytes: int
    """How much of the decoded body is read."""
    hosts: tuple[str, ...] = ()
    """Exact `HOST` or `HOST:PORT`, for redirects too; any that the guard allows when empty."""
    is_read: bool = False
    """It changes nothing, whatever its method: a question that is put into a body."""
    follows: bool = True
    """Whether a redirect is followed. What follows one has lost its credential."""
    has_native_key: bool = False
    """The vendor tells repetitions apart, so a write may be repeated."""

    @property
    def has_effect(self) -> bool:
        """Whether the request may change something."""
        return self.method not in SAFE_METHODS and not self.is_read

    @property
    def is_followed(self) -> bool:
        """Whether an answer that leads elsewhere is gone after."""
        return self.follows and self.method in SAFE_METHODS


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer with any status. `url` is where it came from after `redirects`."""

    status: int
    url: WebUrl
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    cut: Cut | None
    happened: Happened
    retry_after_seconds: float | None
    redirects: tuple[str, ...] = ()
    attempts: int = 1

    @property
    def error(self) -> AdapterError | None:
        """What the status means for an adapter; None for a 2xx."""
        error = status_error(self.status, self.happened, self.retry_after_seconds)
        if error is not None:
            error.attempts = self.attempts
        return error
