"""What the contract suite of adapters that make operations of rows needs to know of a row to try it.

An adapter has a file `fakes/recipes/ADAPTER.py` with a list `CASES`, which `fakes/recipes/every.py` names. A case is
one good row, with the upstream that it is tried against. The suite (`contract/test_made_operations.py`) brings the
upstream once for every `Trouble`, makes the operation, calls it once and judges what came of it. So an upstream:

- is well (`Trouble.NONE`) in whatever comes before the call itself: greetings, sessions, lists of what it offers;
- keeps to its trouble each time that a request comes that is the call itself, also for its repetitions;
- counts each such request in `calls`, and sets `came`, when it has read the whole of it;
- puts `UPSTREAM_WORDS` into every text that it says of its own: none of them may come out in an error.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from adapters.base import Adapter, Clock, ErrorKind, Target
from adapters.recipes import MakesOperations, Recipe
from fakes.clock import FakeClock
from fakes.vendor import CREDENTIAL

UPSTREAM_WORDS = "row 7 of db-3.corp.internal is locked by jdoe"
"""What an upstream says of its own. No error and no receipt may hold it."""


class Trouble(StrEnum):
    """What becomes of the call itself, once the upstream has read it."""

    NONE = "none"
    """It is answered well."""
    RESET = "reset"
    """The connection breaks before a byte of an answer."""
    HANGS = "hangs"
    """No answer comes; the connection stays."""
    FAULT = "fault"
    """The upstream says that it has a fault of its own, and not what became of the call: HTTP 500, gRPC INTERNAL."""
    GARBAGE = "garbage"
    """An answer comes that is none: bytes that are not the protocol, or JSON of a shape that the protocol has not."""
    TOO_LARGE = "too_large"
    """An answer comes that is larger than the adapter takes."""
    REFUSES = "refuses"
    """The upstream says that it did nothing, for the arguments are wrong: HTTP 400, gRPC INVALID_ARGUMENT, JSON-RPC
    -32602. It quotes the whole request, with the credential and the assertion that came in it.
    """


UNAVAILABLE = frozenset({ErrorKind.UNAVAILABLE})
KINDS: Mapping[Trouble, frozenset[ErrorKind]] = {
    Trouble.RESET: UNAVAILABLE,
    Trouble.HANGS: frozenset({ErrorKind.DEADLINE}),
    Trouble.FAULT: UNAVAILABLE,
    Trouble.GARBAGE: frozenset({ErrorKind.MALFORMED}),
    Trouble.TOO_LARGE: frozenset({ErrorKind.TOO_LARGE}),
    Trouble.REFUSES: frozenset({ErrorKind.INVALID}),
}
"""Which kinds of error each trouble may end in. A case may say otherwise in its `kinds`, with a reason beside it."""


class Upstream(Protocol):
    """The other side, on loopback."""

    @property
    def port(self) -> int:
        """Where it listens."""
        ...

    @property
    def calls(self) -> int:
        """How many requests that are the call itself have been read."""
        ...

    async def came(self) -> None:
        """Return once the first such request has been read."""
        ...


class Maker(Adapter, MakesOperations, Protocol):
    """An adapter that makes operations of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BadOptions:
    """Options of a row that cannot be used, and where: each pointer is told of, all at once, and no other."""

    options: Mapping[str, Any]
    pointers: frozenset[str]


def passing_clock() -> Clock:
    """Time that passes when somebody sleeps."""
    return FakeClock(sleeps_pass=True)


@dataclass(frozen=True, kw_only=True)
class RecipeCase:
    """One good row, good arguments for it, and the upstream that it is tried against."""

    name: str
    """`ADAPTER.WHAT`, as tests call it."""
    build: Callable[[Clock, int], Maker]
    """The adapter, in an event loop or without one. It may connect to this port of loopback."""
    recipe: Recipe
    arguments: Mapping[str, Any]
    """They keep to the recipe's input schema, and hold a text at least where one can be had."""
    target: Callable[[int], Target]
    """The connection to an upstream at this port."""
    upstream: Callable[[Trouble], AbstractAsyncContextManager[Upstream]]
    bad: tuple[BadOptions, ...] = ()
    """At least one of them has several problems."""
    credential: str | None = field(default=CREDENTIAL, repr=False)
    """None: the connection has none."""
    kinds: Mapping[Trouble, frozenset[ErrorKind]] = field(default_factory=dict)
    """Where the adapter's truth is another than `KINDS`. None at all: such an answer does, and is no error."""
    clock: Callable[[], Clock] = passing_clock

    def kinds_of(self, trouble: Trouble) -> frozenset[ErrorKind]:
        """Which kinds of error this trouble may end in."""
        return self.kinds.get(trouble, KINDS[trouble])
