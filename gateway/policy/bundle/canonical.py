"""What a bundle's signature says of a file: its digest, computed as OPA does.

Policies are hashed as they are. Data and manifest are hashed in a form that does not depend on white space or on
the order of keys: keys sorted by their UTF-8 bytes, numbers as they were written.
"""

import hashlib
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from gateway.documents import Unreadable, documents_of
from gateway.policy.bundle.archive import MANIFEST
from gateway.policy.bundle.problem import unusable

SHA256 = "SHA-256"

_ALGORITHMS: dict[str, Callable[..., Any]] = {
    SHA256: hashlib.sha256,
    "SHA-384": hashlib.sha384,
    "SHA-512": hashlib.sha512,
}
"""OPA knows more; what is weaker than these is not taken."""
_YAML = ("data.yaml", "data.yml")
_STRUCTURED = ("data.json", MANIFEST, *_YAML)
_LINE_ENDS = {0x2028: "\\u2028", 0x2029: "\\u2029"}
"""Go escapes these two, Python does not."""


class _Number(str):
    """A number, as it was written."""

    __slots__ = ()


def file_digest(name: str, content: bytes, algorithm: str = SHA256) -> str:
    """The file's digest in lower-case hex. Raises `PolicyUnusable` when it cannot be read as what its name says,
    or the algorithm is not known.
    """
    if algorithm not in _ALGORITHMS:
        raise unusable("hash", f"is hashed by {algorithm!a}; expected {', '.join(_ALGORITHMS)}", file=name)
    is_structured = name.rpartition("/")[2] in _STRUCTURED
    hashed = canonical(name, content) if is_structured else content
    return str(_ALGORITHMS[algorithm](hashed).hexdigest())


def canonical(name: str, content: bytes) -> bytes:
    """The form of a document that is hashed. Raises `PolicyUnusable`."""
    parts: list[str] = []
    try:
        _write(_parsed(name, content), parts.append)
        return "".join(parts).encode()
    except Unreadable as error:
        raise unusable(error.problem.rule, error.problem.message, file=f"{name}:{error.problem.line}") from error
    except (ValueError, RecursionError) as error:
        raise unusable("json", "cannot be read as JSON of text that UTF-8 has", file=name) from error


def strict_json(content: bytes) -> Any:
    """The value, numbers as they were written. Raises `ValueError` and `RecursionError`."""
    return json.loads(
        content.decode(),
        parse_int=_Number,
        parse_float=_Number,
        parse_constant=_no_constant,
        object_pairs_hook=_unique,
    )


def _parsed(name: str, content: bytes) -> Any:
    """YAML that is JSON counts as JSON: OPA looks in this order too."""
    try:
        return strict_json(content)
    except ValueError:
        if name.rpartition("/")[2] not in _YAML:
            raise
    (document,) = documents_of(content.decode(), name)
    return document.value


def _write(value: Any, write: Callable[[str], None]) -> None:
    if isinstance(value, _Number):
        write(value)
    elif isinstance(value, dict):
        write("{")
        for index, key in enumerate(sorted(value)):
            write(f"{',' if index else ''}{_text(key)}:")
            _write(value[key], write)
        write("}")
    elif isinstance(value, list):
        write("[")
        for index, item in enumerate(value):
            if index:
                write(",")
            _write(item, write)
        write("]")
    elif isinstance(value, str):
        write(_text(value))
    else:
        write(_go_float(value) if isinstance(value, float) else json.dumps(value))


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_LINE_ENDS)


def _go_float(value: float) -> str:
    """A number of YAML, as Go writes it: plain between 1e-6 and 1e21, the exponent without zeros in front."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        plain = format(Decimal(repr(value)), "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    return re.sub(r"e([+-])0+", r"e\1", repr(value)).replace(".0e", "e")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
