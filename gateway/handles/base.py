"""What is told of a call to whoever asks for it, and what that needs of others."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from adapters.base import Happened
from gateway.call import Answer, Arguments, Failure, Pending
from gateway.rows import Connection, Tool


class Stopped(StrEnum):
    """What came of asking for a call to be stopped."""

    NOTHING_DONE = "nothing_done"
    MAY_HAVE_HAPPENED = "may_have_happened"
    TOO_LATE = "too_late"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The same with one sentence for a model."""

    kind: Stopped
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A call as it stands."""

    answer: Answer
    step: str = ""
    """The step of the path that it is at; empty when nobody can tell."""
    elapsed_ms: int = 0
    """How long it has been at work."""
    progress: tuple[float, float | None] | None = None
    """How far its vendor said to be: so much, of so much in all if that is known."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it will change any more."""
        return not isinstance(self.answer.outcome, Pending)


class Course(Protocol):
    """What a call at work says of itself (see `gateway.audit.trail.Trail`)."""

    @property
    def effect_id(self) -> str:
        """What all calls of its key share."""
        ...

    @property
    def key(self) -> str:
        """The scoped idempotency key; empty when it has none."""
        ...

    @property
    def step(self) -> str:
        """The step of the path that it is at."""
        ...

    @property
    def progress(self) -> tuple[float, float | None] | None:
        """How far its vendor said to be; None when it said nothing."""
        ...

    @property
    def tool(self) -> Tool | None:
        """Its tool, once that is found."""
        ...

    @property
    def connection(self) -> Connection | None:
        """The connection, once the tool is found."""
        ...

    @property
    def happened(self) -> Happened | None:
        """What is known of its effect; None before there could be one, and of a read."""
        ...

    @property
    def arguments(self) -> Arguments | None:
        """Its arguments, once they are read."""
        ...


class Parked(Protocol):
    """What parked calls wait for (see `gateway.approvals`)."""

    async def state(self, tenant: str, approval_id: str) -> Pending | Failure:
        """How a parked call stands. Raises `Refusal`."""
        ...

    async def withdraw(self, tenant: str, approval_id: str) -> bool:
        """The call waits no longer and its key is free. False when it does not wait any more. Raises `Refusal`."""
        ...
