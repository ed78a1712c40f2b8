"""What one call leaves behind, gathered while it goes along the path and made into its line at the end."""

import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Protocol

import orjson

from adapters.base import Happened, Secret
from gateway.audit.base import Begin, Line, LineKind
from gateway.call import Arguments, Decision, Failure, Outcome, Pending, Principal, Request, Result, Step, Whose
from gateway.clock import rfc3339
from gateway.errors import Reason
from gateway.interrupt import Interrupt
from gateway.rows import Connection, Tool
from gateway.store.unknowns import account_of

ARGUMENTS_BYTES = {"minimal": 0, "normal": 1024, "full": 16 * 1024}
"""How much of the arguments' redacted form a line holds, by the level that policy asks for."""

Nanoseconds = Callable[[], int]


class Lent(Protocol):
    """A credential for one call."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The first is for the adapter; none of them may be found in what leaves."""
        ...

    @property
    def lease_id(self) -> str:
        """What it was issued under; empty for one that somebody keeps."""
        ...

    def end(self) -> None:
        """Forget it and give it back. Neither waits nor raises."""
        ...


class Trail:
    """The one mutable thing on the path: each step writes down here what it found, and nothing reads
    it to decide anything but the steps after it and the line.
    """

    __slots__ = (
        "_lent",
        "_marks",
        "_ns",
        "approval_id",
        "arguments",
        "attempts",
        "call_id",
        "connection",
        "costs",
        "credential",
        "decision",
        "effect_id",
        "engine",
        "happened",
        "interrupt",
        "is_asked",
        "key",
        "kind",
        "lease",
        "now",
        "principal",
        "progress",
        "replay",
        "request",
        "result",
        "revision",
        "secrets",
        "time",
        "tool",
        "upstream",
        "whose",
    )

    def __init__(  # noqa: PLR0915 - a field each
        self,
        *,
        kind: LineKind,
        call_id: str,
        principal: Principal,
        request: Request,
        now: float,
        nanoseconds: Nanoseconds = time.perf_counter_ns,
    ) -> None:
        self.kind = kind
        self.call_id = call_id
        self.effect_id = call_id
        self.principal = principal
        self.request = request
        self.now = now
        self.time = rfc3339(now)
        self.tool: Tool | None = None
        self.connection: Connection | None = None
        self.upstream = ""
        self.progress: tuple[float, float | None] | None = None
        """How far the vendor said to be: so much, of so much in all."""
        self.arguments: Arguments | None = None
        self.decision: Decision | None = None
        self.engine = ""
        self.revision = ""
        """The policy that is active when the call begins: in every line, also of a call that never reaches it."""
        self.key = ""
        self.credential = ""
        self.lease = ""
        self._lent: Lent | None = None
        self.approval_id = ""
        """Of an execution: the approval that it is for."""
        self.is_asked = False
        """Whether the adapter ran: what a read costs is spent then."""
        self.costs: Mapping[str, int] = {}
        """What the call costs, by unit."""
        self.whose = Whose.OURS
        self.secrets: tuple[Secret, ...] = ()
        self.attempts = 0
        self.happened: Happened | None = None
        self.interrupt: Interrupt | None = None
        """What stops the call, while somebody can."""
        self.result: Result | None = None
        self.replay = False
        self._ns = nanoseconds
        self._marks: list[tuple[str, int]] = []

    def approve(self, approval_id: str, effect_id: str, key: str) -> None:
        """The call is an execution: it goes on under the names of the call that was parked."""
        self.approval_id, self.effect_id, self.key = approval_id, effect_id, key

    def lend(self, lent: Lent) -> None:
        """What the call was lent, which it gives back at its end."""
        self.secrets, self.lease, self._lent = lent.secrets, lent.lease_id, lent

    @property
    def lent(self) -> Secret | None:
        """The credential, once it was lent: whatever else was learned is no credential."""
        return None if self._lent is None else self._lent.secrets[0]

    def learn(self, secret: Secret) -> None:
        """One more that may not be found in what leaves, which an adapter got or made."""
        self.secrets = (*self.secrets, secret)

    def advance(self, done: float, total: float | None) -> None:
        """The vendor says to be so far."""
        self.progress = (done, total)

    def give_back(self) -> None:
        """Every secret is forgotten, and the lease of the credential ended. Harmless when there was none."""
        if self._lent is not None:
            self._lent.end()
        for secret in self.secrets:
            secret.drop()

    def enter(self, step: Step) -> None:
        """The call is at this step from now on."""
        self._marks.append((step._value_, self._ns()))

    @property
    def step(self) -> str:
        """The step that the call is at."""
        return self._marks[-1][0] if self._marks else ""

    def audit_us(self) -> int:
        """Microseconds since the line was made: how long it took to be durable."""
        return (self._ns() - self._marks[-1][1]) // 1000

    def begin_record(self) -> Begin:
        """What the journal keeps of the call's beginning."""
        principal, request = self.principal, self.request
        return Begin(
            time=self.time,
            kind=self.kind,
            call_id=self.call_id,
            tenant=principal.tenant,
            principal=principal.id,
            principal_kind=principal.kind._value_,
            agent=principal.agent,
            proof=principal.proof,
            surface=request.surface._value_,
            tool=request.tool[:128],
            run_id=request.run_id[:128],
            step_id=request.step_id[:128],
        )

    def intent_record(self) -> bytes:
        """What the store keeps of a write or send before it goes out: enough to tell of it after a crash.

        Of the arguments it holds their digest alone: the credential is not known yet, so that nobody could take it
        out of them.
        """
        return orjson.dumps(
            self.begin_record()._asdict()
            | {
                "effect_id": self.effect_id,
                "mode": self.request.mode[:64],
                "tool_version": self.tool.version if self.tool else "",
                "side_effect": self.tool.side_effect if self.tool else "",
                "connection": self.connection.name if self.connection else "",
                "upstream": self.upstream,
                "arguments_digest": self.arguments.digest if self.arguments else "",
                "decision": self.decision.effect if self.decision else "",
                "policy_engine": self.engine,
                "policy_revision": self.decision.revision if self.decision else self.revision,
                "policy_reasons": tuple(reason.code for reason in self.decision.reasons) if self.decision else (),
                "approval_id": self.approval_id,
                "credential": self.connection.credential if self.connection else "",
                "key_digest": self.key,
                "account": account_of(self.tool.binding, self.connection) if self.tool and self.connection else "",
            }
        )

    def line(self, outcome: Outcome, shown_arguments: str = "") -> Line:
        """The call's line. Call it once, at the end. `shown_arguments` hold nothing private and are cut here."""
        marks = self._marks
        stopped_at = "" if isinstance(outcome, Result) else marks[-1][0]
        self.enter(Step.AUDIT)
        principal, request, tool, decision = self.principal, self.request, self.tool, self.decision
        shown, is_cut = _cut(shown_arguments, ARGUMENTS_BYTES[_level(decision)])
        result = outcome if isinstance(outcome, Result) else None
        return Line(
            time=self.time,
            kind=self.kind,
            call_id=self.call_id,
            effect_id=self.effect_id,
            tenant=principal.tenant,
            principal=principal.id,
            principal_kind=principal.kind._value_,
            agent=principal.agent,
            proof=principal.proof,
            surface=request.surface._value_,
            run_id=request.run_id[:128],
            step_id=request.step_id[:128],
            mode=request.mode[:64],
            tool=request.tool[:128],
            tool_version=tool.version if tool else "",
            side_effect=tool.side_effect._value_ if tool else "",
            connection=self.connection.name if self.connection else "",
            upstream=self.upstream,
            arguments_digest=self.arguments.digest if self.arguments else "",
            arguments=shown,
            arguments_cut=is_cut,
            decision=decision.effect._value_ if decision else "",
            policy_engine=self.engine,
            policy_revision=decision.revision if decision else self.revision,
            policy_reasons=tuple(reason.code for reason in decision.reasons) if decision else (),
            obligations=tuple(obligation.type for obligation in decision.obligations) if decision else (),
            approval_id=outcome.approval_id if isinstance(outcome, Pending) else self.approval_id,
            key_digest=self.key,
            credential=self.credential,
            lease=self.lease,
            attempts=self.attempts,
            happened=self.happened._value_ if self.happened else "",
            outcome=outcome_word(outcome),
            reason=outcome.reason._value_ if isinstance(outcome, Failure) else "",
            fault=outcome.fault._value_ if isinstance(outcome, Failure) and outcome.fault else "",
            stopped_at=stopped_at,
            replay=self.replay,
            cost=dict(self.costs) if self.costs else {},
            duration_us=(marks[-1][1] - marks[0][1]) // 1000,
            steps_us={step: (then - now) // 1000 for (step, now), (_, then) in pairwise(marks)},
            result_bytes=len(result.structured_json) if result else 0,
            truncated=result is not None and result.truncation is not None,
            redacted=result.redacted_paths if result else (),
            scrubbed=result.scrubbed if result else 0,
        )


def _level(decision: Decision | None) -> str:
    """How much policy wants to be written down; of several wishes, the one for the least."""
    if decision is None or not decision.obligations:
        return "normal"
    asked = {obligation.value for obligation in decision.obligations if obligation.type == "log_level"}
    return min(asked, key=lambda level: ARGUMENTS_BYTES[level], default="normal")


def _cut(text: str, most: int) -> tuple[str, bool]:
    """The text in at most so many bytes of UTF-8, and whether it was longer."""
    raw = text.encode("utf-8", "replace") if len(text) * 4 > most else b""
    if len(raw) <= most:
        return text, False
    return raw[:most].decode("utf-8", "ignore"), True


def outcome_word(outcome: Outcome) -> str:
    """`ok`, `pending`, `cancelled`, `unknown`, or an error code."""
    if isinstance(outcome, Result):
        return "ok"
    if isinstance(outcome, Pending):
        return "pending"
    if outcome.reason is Reason.CANCELLED:
        return "cancelled"
    if outcome.reason is Reason.OUTCOME_UNKNOWN:
        return "unknown"
    return outcome.code._value_
