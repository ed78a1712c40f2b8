"""Recovery: which calls a crash cut off, and what the line of each says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.base import Happened
from gateway.audit.base import Begin, Line, LineKind
from gateway.audit.records import Ledger, decode
from gateway.call import Step
from gateway.errors import Reason

_BEFORE_SENDING = {step.value for step in Step if step not in {Step.ADAPTER, Step.RESULT, Step.AUDIT}}
_FROM_BEGIN = tuple(name for name in Begin._fields if name != "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """A call that began and has no line."""

    kind: str
    call_id: str
    tenant: str
    begin: Mapping[str, Any] = field(repr=False)
    is_adopted: bool
    """Another gateway's, that we were about to close."""

    @property
    def call(self) -> tuple[str, str]:
        """What tells it from others."""
        return self.kind, self.call_id


def cut_off(ledger: Ledger, written: Iterable[Mapping[str, Any]]) -> tuple[CutOff, ...]:
    """The calls of this ledger that have no line. `written` holds at least every line with a number after
    `ledger.audit_seq`. The ledger learns of what it missed, so that its next snapshot is right.
    """
    for line in written:
        ledger.end(line["kind"], line["call_id"], line["seq"])
    return tuple(_cut_off(decode(raw)) for raw in ledger.begins.values())


def _cut_off(begin: dict[str, Any]) -> CutOff:
    return CutOff(
        kind=begin["kind"],
        call_id=begin["call_id"],
        tenant=begin["tenant"],
        begin=begin,
        is_adopted=begin["type"] == "adopted",
    )


def begin_of(intent: Mapping[str, Any]) -> Begin:
    """The beginning of a call as its intent tells of it. Raises `KeyError` and `ValueError`."""
    return Begin(kind=LineKind(intent["kind"]), **{name: str(intent[name]) for name in _FROM_BEGIN})


def happened_by(line: Mapping[str, Any]) -> Happened:
    """What a line says of the effect of its call.

    1. It says so itself.
    2. The call was carried out: it happened.
    3. The call stopped before anything was sent: it did not. Otherwise nobody knows.
    """
    if line.get("happened"):
        return Happened(line["happened"])
    if line["outcome"] == "ok":
        return Happened.YES
    return Happened.NO if line.get("stopped_at") in _BEFORE_SENDING else Happened.UNKNOWN


def line_of(begin: Mapping[str, Any], intent: Mapping[str, Any], happened: Happened | None) -> Line:
    """The line of a call that was cut off: what its begin and its intent say, and that nobody knows the rest."""
    return Line(
        kind=LineKind(begin["kind"]),
        outcome="unknown",
        reason=Reason.OUTCOME_UNKNOWN.value,
        recovered=True,
        happened=happened.value if happened else "",
        **{name: begin[name] for name in _FROM_BEGIN},
        **{name: _fit(intent[name], kind) for name, kind in _FROM_INTENT.items() if _fits(intent.get(name), kind)},
    )


_TYPES: dict[str, type] = {
    name: dict if isinstance(default, Mapping) else type(default) for name, default in Line._field_defaults.items()
}
_FROM_INTENT = {
    name: _TYPES[name]
    for name in (
        *("effect_id", "mode", "tool_version", "side_effect", "connection", "upstream", "arguments_digest"),
        *(
            "arguments",
            "arguments_cut",
            "decision",
            "policy_engine",
            "policy_revision",
            "policy_reasons",
            "obligations",
        ),
        *("approval_id", "key_digest", "credential", "cost"),
    )
}
"""The fields of a line that an intent may fill, with the type of each."""


def _fits(value: Any, kind: type) -> bool:
    if kind is tuple:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return type(value) is kind


def _fit(value: Any, kind: type) -> Any:
    return tuple(value) if kind is tuple else value
