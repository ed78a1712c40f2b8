"""Arguments as bytes become one JSON object, or a refusal that names the field.

The common case is proved harmless cheaply: orjson reads the bytes, one look at every value finds odd
numbers and counts leaves, and writing the value back shows that no duplicate key was swallowed. Only
what fails that proof is read again by a slower reader that knows where everything stood.
"""

import json
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from adapters.base import ArgumentIssue
from gateway.errors import Reason, Refusal

MAX_SAFE_INTEGER = 2**53 - 1
MAX_DEPTH = 64
MAX_ISSUES = 20
MAX_PATH = 200
"""Characters of a path in an issue; keys are the agent's and may be of any length."""

_ODD = 1 << 60
"""More leaves than any limit: what `_leaves` says of a value that needs the slower reader."""


def read_object(raw: bytes, *, max_bytes: int, max_leaves: int, max_depth: int = MAX_DEPTH) -> dict[str, Any]:
    """The one JSON object in `raw`; whole-number floats have become integers.

    Raises `Refusal`: `arguments_too_large` for size, leaves and depth, else `arguments_malformed`.
    """
    if len(raw) > max_bytes:
        raise _too_large("", "maxBytes", f"The arguments may have at most {max_bytes} bytes; send less.")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise _unreadable(raw, max_leaves, max_depth) from error
    if (
        type(value) is dict
        and _leaves(value.values(), max_depth, max_leaves) <= max_leaves
        and _keeps_every_key(raw, value)
    ):
        return value
    return _read_slowly(raw, value, max_leaves, max_depth)


def _keeps_every_key(raw: bytes, value: Any) -> bool:
    r"""Whether no duplicate key was swallowed; False also when that cannot be told.

    A swallowed member takes at least two quotes with it. Written back, a value has as many quotes as its
    text unless the text spells one as `\u0022`, so without that spelling a loss cannot be made up for.
    """
    return b"\\u0022" not in raw and raw.count(b'"') == orjson.dumps(value).count(b'"')


def _leaves(items: Collection[Any], levels: int, limit: int) -> int:
    """How many leaves there are (an empty container is one), or `_ODD`. Does not count far beyond `limit`."""
    if levels == 0 or len(items) > limit:
        return _ODD
    count = 0
    for item in items:
        kind = type(item)
        if kind is str or kind is bool or item is None:
            count += 1
        elif kind is dict:
            count += _leaves(item.values(), levels - 1, limit) or 1
        elif kind is list:
            count += _leaves(item, levels - 1, limit) or 1
        else:
            count += _ODD if _is_odd(item) else 1
    return count


def _is_odd(number: float) -> bool:
    if type(number) is int:
        return not -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER
    return number.is_integer()


def _read_slowly(raw: bytes, value: Any, max_leaves: int, max_depth: int) -> dict[str, Any]:
    """The object with whole floats made integers, or every issue with its path."""
    if type(value) is not dict:
        raise _malformed(_issue("", "object", "The arguments must be one JSON object."))
    _check_shape(raw, max_leaves, max_depth)
    exact = _parse(raw)
    flaws = list(_flaws(exact, ""))
    if flaws:
        raise _malformed(*flaws[:MAX_ISSUES])
    assert isinstance(exact, dict)
    return exact


def _parse(raw: bytes) -> Any:
    """The value with a `_Flaw` wherever something must be refused. Raises `ValueError`."""
    return json.loads(
        raw.decode(), object_pairs_hook=_pairs, parse_int=_integer, parse_float=_number, parse_constant=_constant
    )


def _check_shape(raw: bytes, max_leaves: int, max_depth: int) -> None:
    """Raises `Refusal` for too many leaves or levels, duplicate members included.

    Ends early on whatever it refuses, so that hostile bytes cannot buy time with it.
    """
    structure = _structure(raw)
    if any(pair in structure for pair in (b"][", b"]{", b"}[", b"}{")):
        raise _malformed(_NOT_JSON)
    commas, depth = 0, 0
    for byte in structure:
        if byte == 0x2C:
            commas += 1
        else:
            depth += 1 if byte in b"[{" else -1
        if depth < 0:
            raise _malformed(_NOT_JSON)
        if depth > max_depth:
            raise _too_large("", "maxDepth", f"The arguments may be nested at most {max_depth} levels deep.")
        # Leaves, an empty container counted as one, are exactly one more than the commas between them.
        if commas >= max_leaves:
            raise _too_large("", "maxLeaves", f"The arguments may hold at most {max_leaves} values; send fewer.")


def _structure(raw: bytes) -> bytes:
    """Commas and brackets outside of strings, in order."""
    outside = raw.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    return b"".join(outside).translate(None, _NOT_STRUCTURE)


_NOT_STRUCTURE = bytes(byte for byte in range(256) if byte not in b",[]{}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flaw:
    """Stands in a value where something must be refused."""

    rule: str
    message: str


_TOO_BIG = _Flaw(
    rule="integer_range",
    message=f"is a number beyond ±{MAX_SAFE_INTEGER}, which would lose digits; send it as a string.",
)
_DUPLICATE = _Flaw(rule="duplicate_key", message="stands more than once in the same object; send it once.")
_SURROGATE = _Flaw(rule="unicode", message="holds half of a surrogate pair, which is not text; leave it out.")
_NOT_FINITE = _Flaw(rule="finite", message="is not a finite number; JSON has no NaN and no Infinity.")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                result[key] = _DUPLICATE
            seen.add(key)
    return result


def _integer(text: str) -> int | _Flaw:
    # The length first: turning a million digits into an int takes for ever.
    number = int(text) if len(text) <= 17 else _ODD
    return number if -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER else _TOO_BIG


def _number(text: str) -> float | _Flaw:
    number = float(text)
    if math.isinf(number):
        return _TOO_BIG
    if not number.is_integer():
        return number
    return int(number) if abs(number) <= MAX_SAFE_INTEGER else _TOO_BIG


def _constant(_text: str) -> _Flaw:
    return _NOT_FINITE


def _flaws(value: Any, path: str) -> Iterator[ArgumentIssue]:
    """An issue for every flaw in a value of at most 64 levels."""
    match value:
        case _Flaw():
            yield _issue(path, value.rule, _sentence(path, value))
        case str() if not _is_text(value):
            yield _issue(path, _SURROGATE.rule, _sentence(path, _SURROGATE))
        case dict():
            for key, item in value.items():
                below = f"{path}/{escape(key)}"
                if not _is_text(key):
                    yield _issue(below, _SURROGATE.rule, "The name of a property holds half of a surrogate pair.")
                yield from _flaws(item, below)
        case list():
            for index, item in enumerate(value):
                yield from _flaws(item, f"{path}/{index}")


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _sentence(path: str, flaw: _Flaw) -> str:
    return f"`{printable(path.rpartition('/')[2])}` {flaw.message}"


def _unreadable(raw: bytes, max_leaves: int, max_depth: int) -> Refusal:
    """Why bytes that are not JSON are not. Nothing that fails here is ever let through."""
    try:
        _check_shape(raw, max_leaves, max_depth)
        flaws = list(_flaws(_parse(raw), ""))[:MAX_ISSUES]
    except Refusal as refusal:
        return refusal
    except UnicodeDecodeError as error:
        return _malformed(_issue("", "utf8", f"The arguments are not UTF-8: byte {error.start} is wrong."))
    except json.JSONDecodeError as error:
        return _malformed(_issue("", "json", f"The arguments are not JSON: character {error.pos} is unexpected."))
    except (ValueError, RecursionError):
        flaws = []
    return _malformed(*(flaws or [_NOT_JSON]))


_NOT_JSON = ArgumentIssue(path="", rule="json", message="The arguments are not JSON.")


def _issue(path: str, rule: str, message: str) -> ArgumentIssue:
    return ArgumentIssue(path=printable(path), rule=rule, message=message)


def escape(key: str) -> str:
    """A property's name as one segment of a JSON Pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def printable(text: str) -> str:
    """Text that can be encoded and shown: at most `MAX_PATH` characters, no control characters."""
    cut = text if len(text) <= MAX_PATH else f"{text[:MAX_PATH]}…"
    return cut if cut.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in cut)


def _malformed(*issues: ArgumentIssue) -> Refusal:
    first = issues[0].message
    return Refusal(Reason.ARGUMENTS_MALFORMED, f"The arguments cannot be read. {first}", issues=issues)


def _too_large(path: str, rule: str, message: str) -> Refusal:
    return Refusal(Reason.ARGUMENTS_TOO_LARGE, message, issues=(_issue(path, rule, message),))
