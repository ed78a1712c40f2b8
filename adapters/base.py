"""The contract between the gateway and a vendor's adapter.

An adapter imports this module, `adapters.transport` and its vendor's library, and nothing of the
gateway: what it cannot name it cannot reach. What it needs (a clock, a resolver) it is handed.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn, Protocol


class SideEffect(StrEnum):
    """What a successful call does to the world outside."""

    READ = "read"
    WRITE = "write"
    SEND = "send"


class Happened(StrEnum):
    """What is known, after a failed attempt, about the effect that was asked for."""

    NO = "no"
    """Certain: nothing was sent, or the vendor said that it did nothing. The attempt may be repeated."""
    UNKNOWN = "unknown"
    """Something was sent and no answer tells what came of it. Never repeat it blindly."""
    YES = "yes"
    """The vendor did it; what failed came later, for instance an answer that cannot be read."""


class ErrorKind(StrEnum):
    """The closed set of ways in which an adapter fails. The gateway maps each to a code and a reason."""

    INVALID = "invalid"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    FORBIDDEN = "forbidden"
    NEEDS_AUTHORISATION = "needs_authorisation"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    ADDRESS_REFUSED = "address_refused"
    CIRCUIT_OPEN = "circuit_open"
    CHANGED = "changed"
    """What stands behind the tool is not what somebody has accepted. Nothing was sent."""
    DEADLINE = "deadline"


class Fault(StrEnum):
    """How a part failed, for the audit line: it tells apart causes that share one reason."""

    REFUSED = "refused"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    RESET = "reset"
    NOT_LOADED = "not_loaded"
    ERROR = "error"


class AdapterError(Exception):
    """The only exception that may leave an adapter.

    `message` is our own sentence, safe for a model: no vendor text, no secret, at most 300 characters.
    `retry_after_seconds` is what the vendor asked for, already clamped to be finite and not negative.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        happened: Happened,
        fault: Fault | None = None,
        retry_after_seconds: float | None = None,
        attempts: int = 1,
    ) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.happened = happened
        self.fault = fault
        self.retry_after_seconds = retry_after_seconds
        self.attempts = attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentIssue:
    """One thing wrong with one argument: a JSON Pointer, the rule's name, a sentence for the agent."""

    path: str
    rule: str
    message: str


class ArgumentProblem(Exception):  # noqa: N818 - it is the agent's problem, not an error of ours
    """Raised by `prepare` alone, with every issue found and not only the first."""

    def __init__(self, *issues: ArgumentIssue) -> None:
        super().__init__("; ".join(f"{issue.path}: {issue.rule}" for issue in issues))
        self.issues = issues


class Secret:
    """A credential for the length of one invocation. It cannot be printed, formatted, pickled or copied."""

    __slots__ = ("_value", "derived")

    def __init__(self, value: str, derived: dict[str, Any] | None = None) -> None:
        self._value = value
        self.derived = {} if derived is None else derived
        """What was worked out of the value, shared by all Secrets of one value so that it is worked out
        once. As secret as the value.
        """

    def reveal(self) -> str:
        """The value itself. Call it where it goes on the wire and keep no reference."""
        return self._value

    def drop(self) -> None:
        """Forget the value; `reveal` returns an empty string from here on."""
        self._value = ""
        self.derived = {}

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __format__(self, _spec: str) -> str:
        return "Secret(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be pickled or copied")

    __reduce_ex__ = __reduce__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


class Clock(Protocol):
    """Time, handed in so that tests own it."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One account at one vendor, as an adapter sees it: no secret, no tenant's policy."""

    name: str
    account: str = ""
    """`TENANT/NAME`: unlike the name, no other connection's. What is remembered of an account is kept under it."""
    hosts: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """The vendor's own settings, e.g. `{"host": "smtp.example.com", "port": 587, "username": "bot"}`."""
    audience: str = ""
    """Whom an assertion of who calls is for; empty: it gets none."""


def _nobody(_secret: Secret) -> None:
    """Nobody has to know."""


def _unheard(_done: float, _total: float | None) -> None:
    """Nobody follows."""


async def _unasserted() -> Secret:
    message = "Nobody says who calls, which this service has to know; its operator has to set up assertions."
    raise AdapterError(ErrorKind.NEEDS_AUTHORISATION, message, happened=Happened.NO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One attempt to carry out one operation."""

    arguments: Mapping[str, Any] = field(repr=False)
    """What `prepare` returned. Policy saw exactly this; nothing is parsed again."""
    target: Target
    credential: Secret | None = field(repr=False)
    deadline: float
    """On `Clock.monotonic`. The adapter stops by itself before it."""
    effect_id: str
    """The same for every repetition of one effect: what a vendor's idempotency key is made of."""
    learn: Callable[[Secret], None] = field(default=_nobody, repr=False)
    """Tell it every secret that the adapter made or got for this invocation, such as an access token or a part of
    the credential: it is taken out of the answer like the credential itself, and dropped at the end.
    """
    since: float = 0.0
    """Of a `reconcile`: no attempt was made before this moment, in seconds since the epoch."""
    assertion: Callable[[], Awaitable[Secret]] = field(default=_unasserted, repr=False)
    """A short-lived signed assertion (a JWT) of who calls, for the target's audience and for this call alone. The
    invocation has learned it. Raises `AdapterError`; nothing was sent then.
    """
    progress: Callable[[float, float | None], None] = field(default=_unheard, repr=False)
    """Tell it how far the vendor says to be: so much is done, of so much in all if that is known. Never raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a vendor gave in exchange for a credential."""

    access_token: str = field(repr=False)
    expires_at: float
    """Seconds since the epoch."""
    credential: str | None = field(default=None, repr=False)
    """What has to be kept in the credential's place from now on, when the vendor took the old one back by this."""


Exchange = Callable[[Secret], Awaitable[Grant]]
"""Asks a vendor for an access token in exchange for a credential; raises `AdapterError`."""


class TokenStore(Protocol):
    """Access tokens of accounts. Of all replicas that share it, one at a time asks for a new one.

    An adapter that keeps several tokens of one account apart, by whom they speak for, names each `ACCOUNT WORD` in the
    target's `account`.
    """

    async def access_token(self, invocation: Invocation, exchange: Exchange, *, refused: str = "") -> Secret:
        """The account's access token: the one that is kept while it is good for a minute more and is not the one
        that the vendor has just `refused`, or a new one.

        A credential that `exchange` says is to be kept is kept before its access token is used. The invocation
        learns every secret. Raises `AdapterError`: what `exchange` raises, or `unavailable` and `deadline` when
        nobody could be asked in time. Nothing was done to the world then.
        """
        ...


class Pauses(Protocol):
    """Until when vendors asked to be left alone, for every replica that shares it."""

    async def seconds_left(self, names: Sequence[str]) -> float:
        """How long the longest of these pauses still is; 0.0 when there is none. Never raises: a vendor who is asked
        too early says so again.
        """
        ...

    async def pause(self, name: str, seconds: float) -> None:
        """Leave this alone for so long; a longer pause that is known already stays. Never raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text block of an output."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """A binary block of an output, e.g. a screenshot."""

    mime_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The adapter stopped reading: `read_bytes` were kept of at least `seen_bytes`."""

    read_bytes: int
    seen_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What an operation brought back: a JSON value for programs, blocks for a model, a line for a person."""

    structured: Any = field(default=None, repr=False)
    content: tuple[Text | Binary, ...] = field(default=(), repr=False)
    receipt: str = ""
    """One sentence that says what was done. It must not quote content that a stranger wrote."""
    cut: Cut | None = None
    attempts: int = 1


class Finding(StrEnum):
    """What `reconcile` learned about an effect whose outcome was unknown."""

    DONE = "done"
    NOT_DONE = "not_done"
    STILL_UNKNOWN = "still_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that an adapter can do.

    `arguments` is the TypedDict of what an agent sends; the registry refuses a tool whose input schema
    disagrees with it. `prepare` is pure, takes the validated arguments and returns the prepared ones, a
    JSON object with everything that policy may want to judge (parsed recipients, a URL's host). It
    raises `ArgumentProblem` and nothing else. `invoke` raises `AdapterError` and nothing else.
    """

    name: str
    arguments: type
    side_effect: SideEffect
    prepare: Callable[[dict[str, Any]], dict[str, Any]]
    invoke: Callable[[Invocation], Awaitable[Output]]
    has_native_key: bool = False
    """The vendor takes an idempotency key, so a write may be repeated with the same `effect_id`."""
    needs_credential: bool = False
    reconcile: Callable[[Invocation], Awaitable[Finding]] | None = None
    upstream: str = ""
    """What exactly stands behind it, for the audit: an upstream's own name and the digest that is pinned."""
    preview: Callable[[Invocation], Awaitable[Any]] | None = None
    """What is and what would be after `invoke`, as JSON, e.g. `{"was": …, "will_be": …}`: shown to whoever approves. It
    only reads, and raises `AdapterError` and nothing else.
    """


class Adapter(Protocol):
    """One vendor."""

    @property
    def name(self) -> str:
        """The name that a tool's binding uses, e.g. `web`."""
        ...

    @property
    def operations(self) -> Mapping[str, Operation]:
        """Every operation by name."""
        ...

    @property
    def open_circuits(self) -> int:
        """How many of its vendor's servers failed so often that they are left alone for the moment."""
        ...

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection's hosts and options; empty when all is well."""
        ...

    async def close(self) -> None:
        """Let go of pools and sockets. Calling it twice is harmless."""
        ...
