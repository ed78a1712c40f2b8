"""Reads what an engine answered. Anything that is not exactly a decision is a denial.

The checks are written out because they run on every call; a test holds them equal to
`policies/decision.schema.json`.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from adapters.base import Fault
from gateway.call import Decision, DecisionEffect, Obligation
from gateway.errors import PolicyReason, Reason, Refusal

MAX_REASONS = 16
MAX_OBLIGATIONS = 16
MAX_TEXT = 300

_KEYS = {"effect", "reasons", "obligations"}
_EFFECTS = {effect.value: effect for effect in DecisionEffect}
_CODE = re.compile(r"[a-z0-9_.:-]{1,64}")
_POINTER = re.compile(r"(/([^~/]|~[01])*)+")


def read_decision(raw: str | bytes, revision: str) -> Decision:
    """The decision in a JSON text, or `Refusal(policy_invalid)`, fault `malformed`."""
    return decision_of(_parse(raw), revision)


def decision_of(answer: Any, revision: str) -> Decision:
    """The same for an answer that was read already, by a reader as strict as the one here."""
    if type(answer) is not dict or answer.keys() != _KEYS:
        _invalid()
    effect = answer["effect"]
    if type(effect) is not str or effect not in _EFFECTS:
        _invalid()
    reasons = tuple(map(_reason, _list(answer["reasons"], 0, MAX_REASONS)))
    obligations = tuple(map(_obligation, _list(answer["obligations"], 0, MAX_OBLIGATIONS)))
    if effect == "allow" and any(each.type == "approval" for each in obligations):
        _invalid()  # it asks for an approval and for none
    return Decision(effect=_EFFECTS[effect], reasons=reasons, obligations=obligations, revision=revision)


def undefined() -> Refusal:
    """What an undefined answer becomes."""
    return Refusal(Reason.POLICY_UNDEFINED, "No policy rule covers this call, so it is not allowed.")


def _invalid() -> NoReturn:
    message = "The policy gave an answer that is not a decision, so this call is not allowed."
    raise Refusal(Reason.POLICY_INVALID, message, fault=Fault.MALFORMED)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        _invalid()
    return found


def _constant(_name: str) -> NoReturn:
    _invalid()


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant)


def _parse(raw: str | bytes) -> Any:
    try:
        return _DECODER.decode(raw if isinstance(raw, str) else raw.decode())
    except (ValueError, RecursionError) as error:
        message = "The policy gave an answer that cannot be read, so this call is not allowed."
        raise Refusal(Reason.POLICY_INVALID, message, fault=Fault.MALFORMED) from error


def _list(value: Any, least: int, most: int) -> list[Any]:
    if type(value) is not list or not least <= len(value) <= most:
        _invalid()
    return value


def _reason(value: Any) -> PolicyReason:
    if type(value) is not dict or not value.keys() <= {"code", "message", "advice"}:
        _invalid()
    code = value.get("code")
    if type(code) is not str or _CODE.fullmatch(code) is None:
        _invalid()
    return PolicyReason(code=code, message=_text(value.get("message", "")), advice=_text(value.get("advice", "")))


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > MAX_TEXT or not _is_sendable(value):
        _invalid()
    return value


def _is_sendable(text: str) -> bool:
    """Whether it can leave as UTF-8: JSON can spell half a surrogate pair, UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _obligation(value: Any) -> Obligation:
    if type(value) is not dict or value.keys() != {"type", "value"}:
        _invalid()
    kind = value["type"]
    check = _OBLIGATIONS.get(kind) if type(kind) is str else None
    if check is None or not check(value["value"]):
        _invalid()
    return Obligation(type=kind, value=value["value"])


def _is_whole(value: Any, least: int, most: int) -> bool:
    """A JSON integer, which may be written as 5.0. True is not one, though Python says so."""
    if type(value) is float:
        return value.is_integer() and least <= value <= most
    return type(value) is int and least <= value <= most


def _has_keys(value: Any, keys: set[str]) -> bool:
    return type(value) is dict and value.keys() == keys


def _are_texts(value: Any, most: int, is_good: Callable[[str], bool]) -> bool:
    if type(value) is not list or not 1 <= len(value) <= most:
        return False
    return all(type(item) is str and is_good(item) for item in value)


def _is_redaction(value: Any) -> bool:
    return _has_keys(value, {"paths"}) and _are_texts(value["paths"], 64, _is_pointer)


def _is_pointer(text: str) -> bool:
    return len(text) <= 256 and _POINTER.fullmatch(text) is not None


def _is_rate(value: Any) -> bool:
    if not _has_keys(value, {"per_minute", "burst"}):
        return False
    per_minute = value["per_minute"]
    return type(per_minute) in (int, float) and 1e-6 < per_minute <= 1e6 and _is_whole(value["burst"], 1, 1_000_000)


def _is_approval(value: Any) -> bool:
    return (
        _has_keys(value, {"roles", "count", "expires_in_seconds"})
        and _are_texts(value["roles"], 16, lambda role: 1 <= len(role) <= 128)
        and _is_whole(value["count"], 1, 10)
        and _is_whole(value["expires_in_seconds"], 1, 30 * 24 * 3600)
    )


_OBLIGATIONS: Mapping[str, Callable[[Any], bool]] = {
    "redact": _is_redaction,
    "max_result_bytes": lambda value: _is_whole(value, 1, 16 * 1024 * 1024),
    "require_key": lambda value: value is True,
    "mark_untrusted": lambda value: value is True,
    "log_level": lambda value: type(value) is str and value in {"full", "normal", "minimal"},
    "rate": _is_rate,
    "approval": _is_approval,
}
