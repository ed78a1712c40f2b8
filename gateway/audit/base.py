"""Begin and step 14: a call begins in the journal and ends in exactly one line.

`Line` is the allow-list: what is not a field here cannot reach the audit. Field order is the order in
the file; time comes first.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol


class LineKind(StrEnum):
    """What a line tells of."""

    CALL = "call"
    EXPLAIN = "explain"
    EXECUTION = "execution"
    DECISION = "decision"
    RESOLUTION = "resolution"
    ADMIN = "admin"


_NONE: Mapping[str, Any] = MappingProxyType({})


class Begin(NamedTuple):
    """What the journal knows of a call from its first moment: enough to write its line after a crash. The intent
    of a write or send, which is in the store, holds the same and more.
    """

    time: str
    kind: LineKind
    call_id: str
    tenant: str
    principal: str
    principal_kind: str
    agent: str
    proof: str
    surface: str
    tool: str
    run_id: str = ""
    step_id: str = ""


class Line(NamedTuple):
    """One audit line. The writer adds `writer`, `seq`, `prev` and `hash`. A tuple, since one is made for
    every call and a frozen dataclass of so many fields takes five times as long.
    """

    time: str
    """RFC 3339, UTC, microseconds: when the call began."""
    kind: LineKind
    call_id: str
    tenant: str
    principal: str
    principal_kind: str
    agent: str
    proof: str
    surface: str
    tool: str
    outcome: str
    """`ok`, an error code, `pending`, `cancelled` or `unknown`."""
    effect_id: str = ""
    run_id: str = ""
    step_id: str = ""
    mode: str = ""
    tool_version: str = ""
    side_effect: str = ""
    connection: str = ""
    upstream: str = ""
    """What exactly stood behind the tool, where its row says so: an upstream's own name, and the pinned digest."""
    arguments_digest: str = ""
    arguments: str = ""
    """The redacted canonical arguments, cut at 1 KiB."""
    arguments_cut: bool = False
    decision: str = ""
    policy_engine: str = ""
    policy_revision: str = ""
    policy_reasons: tuple[str, ...] = ()
    obligations: tuple[str, ...] = ()
    approval_id: str = ""
    key_digest: str = ""
    credential: str = ""
    """The reference; never the value."""
    lease: str = ""
    """Of a credential that was issued for this call alone: what it was issued under."""
    attempts: int = 0
    reason: str = ""
    fault: str = ""
    happened: str = ""
    """For a write or send that was tried: `yes`, `no` or `unknown`."""
    stopped_at: str = ""
    """The step that ended the call; empty when it was carried out."""
    roles: tuple[str, ...] = ()
    """Of who decided: those that counted."""
    note: str = ""
    """What a person said about a deed of theirs, cut at 300 characters."""
    replay: bool = False
    delivered: bool = True
    """False when the answer was withheld because this line could not be written in time."""
    recovered: bool = False
    """True when a restart wrote this line for a call that a crash cut off."""
    result_bytes: int = 0
    truncated: bool = False
    redacted: tuple[str, ...] = ()
    scrubbed: int = 0
    cost: Mapping[str, Any] = _NONE
    duration_us: int = 0
    steps_us: Mapping[str, int] = _NONE

    def __repr__(self) -> str:
        return f"Line({self.kind}, {self.call_id}, {self.outcome})"


class Journal(Protocol):
    """The write-ahead record of calls: each begins here before anything else, and is here until it has its line."""

    def begin(self, begin: Begin) -> None:
        """The call is in the journal and survives a kill of the process.

        Never waits for a disk's sync. Raises `Refusal`; there was no call then: `journal_unavailable`, or
        `audit_unavailable` while lines cannot be written, since the call could not end.
        """
        ...

    async def sync(self) -> None:
        """What has begun is on stable storage. Raises `Refusal(journal_unavailable)`."""
        ...

    def forget(self, kind: str, call_id: str) -> None:
        """The call has its line elsewhere: none is owed here. Never raises."""
        ...


class Sink(Protocol):
    """Where lines end."""

    @property
    def is_healthy(self) -> bool:
        """Whether lines can be written; while they cannot, no call may begin."""
        ...

    async def append(self, line: Line) -> None:
        """The line is on stable storage. Raises `Refusal(audit_unavailable)`; the answer must not leave
        then, and the sink still owes the line: it writes it as soon as it can.
        """
        ...
