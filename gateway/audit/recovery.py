"""Recovery: every call that a crash cut off gets its one line, and every key the standing that is certain."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.base import Happened
from gateway.audit.base import Begin, Line, LineKind
from gateway.audit.records import Ledger, decode, encode
from gateway.call import Step
from gateway.errors import Reason

KEEP_SECONDS = 24 * 60 * 60.0
"""How long a key is remembered once its effect is done."""

_BEFORE_SENDING = {step.value for step in Step if step not in {Step.ADAPTER, Step.RESULT, Step.AUDIT}}
_FROM_BEGIN = tuple(name for name in Begin._fields if name != "kind")
_RUNS = {LineKind.CALL.value, LineKind.EXECUTION.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What a restart has to write down."""

    lines: tuple[Line, ...]
    """One for each call that has none."""
    keys: tuple[dict[str, Any], ...]
    """One for each key that is taken: `key`, `call_id`, `effect_id`, `arguments_digest`, `standing` (`done` or
    `unknown`) and, when done, `until` in seconds since the epoch.
    """


def recover(ledger: Ledger, written: Iterable[dict[str, Any]], now: float) -> Recovery:
    """What is to be done after the crash of a gateway that left this ledger and these lines.

    `written` holds at least every line with a number after `ledger.audit_seq`. The ledger learns of what it
    missed, so that its next snapshot is right. Doing it again changes nothing.
    """
    endings: dict[str, dict[str, Any]] = {}
    intents = {call_id: decode(raw) for call_id, raw in ledger.intents.items()}
    for line in written:
        if line["kind"] in _RUNS:
            endings[line["call_id"]] = line
        ledger.end(line["kind"], line["call_id"], line["seq"])
    keys = _settle_keys(ledger, endings, now)
    begun = [decode(raw) for raw in ledger.begins.values()]
    return Recovery(lines=tuple(_line(begin, intents.get(begin["call_id"], {})) for begin in begun), keys=keys)


def _settle_keys(ledger: Ledger, endings: dict[str, dict[str, Any]], now: float) -> tuple[dict[str, Any], ...]:
    taken = []
    for raw, _until in list(ledger.keys.values()):
        record = decode(raw)
        if record["type"] == "intent":
            record = _standing(record, endings.get(record["call_id"]), now)
            ledger.apply(record, encode(record))
        if record["type"] != "released" and record.get("until", now + 1) > now:
            taken.append({**record, "standing": "done" if record["type"] == "settled" else "unknown"})
    return tuple(taken)


def _standing(intent: dict[str, Any], ending: dict[str, Any] | None, now: float) -> dict[str, Any]:
    """The record that settles an intent.

    1. Its call has no line, or one that does not tell: unknown, and the key stays taken.
    2. The line says that it happened, whatever became of its result: done.
    3. The line says that it did not, or that the call stopped before anything was sent: free.
    """
    record = {name: intent[name] for name in ("key", "call_id", "effect_id", "arguments_digest")}
    match _happened(ending) if ending else Happened.UNKNOWN:
        case Happened.YES:
            return {"type": "settled", **record, "until": now + KEEP_SECONDS}
        case Happened.NO:
            return {"type": "released", **record}
        case _:
            return {"type": "unknown", **record}


def _happened(ending: dict[str, Any]) -> str:
    if ending.get("happened"):
        return str(ending["happened"])
    if ending["outcome"] == "ok":
        return Happened.YES
    return Happened.NO if ending.get("stopped_at") in _BEFORE_SENDING else Happened.UNKNOWN


def _line(begin: dict[str, Any], intent: dict[str, Any]) -> Line:
    """The line of a call that was cut off: what its begin and its intent say, and that nobody knows the rest."""
    known = {**intent, **intent.get("fields", {})}
    return Line(
        kind=LineKind(begin["kind"]),
        outcome="unknown",
        reason=Reason.OUTCOME_UNKNOWN.value,
        recovered=True,
        happened=Happened.UNKNOWN.value if intent else "",
        **{name: begin[name] for name in _FROM_BEGIN},
        **{name: _fit(known[name], kind) for name, kind in _FROM_INTENT.items() if _fits(known.get(name), kind)},
    )


_TYPES: dict[str, type] = {
    name: dict if isinstance(default, Mapping) else type(default) for name, default in Line._field_defaults.items()
}
_FROM_INTENT = {
    name: _TYPES[name]
    for name in (
        *("effect_id", "mode", "tool_version", "side_effect", "connection", "arguments_digest", "arguments"),
        *("arguments_cut", "decision", "policy_engine", "policy_revision", "policy_reasons", "obligations"),
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
