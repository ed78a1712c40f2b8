"""What a row says of the method that its tool is bound to."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.base import ArgumentIssue
from adapters.grpc_upstream.closure import digest_of
from adapters.grpc_upstream.files import BadDescriptors, MethodName
from adapters.grpc_upstream.metadata import is_free_name
from adapters.grpc_upstream.methods import MAX_BYTES, Method, method_of
from adapters.recipes import RecipeProblem

OPTIONS = frozenset({"method", "descriptors", "pin", "key_metadata"})
_PIN = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_MAX_TEXT = MAX_BYTES * 4 // 3 + 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The method, and the name of the metadata in which the service takes a key of its own; empty when in none."""

    method: Method
    key_metadata: str


def read_binding(options: Mapping[str, Any]) -> Binding:
    """The binding. Raises `RecipeProblem` with every issue."""
    found = _Issues()
    for option in sorted(options.keys() - OPTIONS):
        found.note(option, "unknown", f"is not known; known are {', '.join(sorted(OPTIONS))}")
    name = _name(options.get("method"), found)
    data = _descriptors(options.get("descriptors"), found)
    pin = options.get("pin")
    if not isinstance(pin, str) or not _PIN.fullmatch(pin):
        found.note("pin", "pin", "must be sha256: and 64 hexadecimal digits in lower case")
    elif data is not None and digest_of(data) != pin:
        found.note("pin", "pin", "is not the digest of the descriptors; import the method again")
    key_metadata = options.get("key_metadata", "")
    if "key_metadata" in options and not is_free_name(key_metadata):
        found.note("key_metadata", "name", "must be a name of metadata in lower case that nothing else uses")
    method = _method(name, data, found)
    if found.issues or method is None:
        raise RecipeProblem(*found.issues)
    return Binding(method=method, key_metadata=key_metadata)


class _Issues:
    def __init__(self) -> None:
        self.issues: list[ArgumentIssue] = []

    def note(self, option: str, rule: str, message: str) -> None:
        pointer = option.replace("~", "~0").replace("/", "~1")
        self.issues.append(ArgumentIssue(path=f"/{pointer}", rule=rule, message=f"{option} {message}."))


def _name(value: Any, found: _Issues) -> MethodName | None:
    try:
        return MethodName.of(value if isinstance(value, str) else "")
    except ValueError:
        found.note("method", "method", "must be package.Service/Method")
        return None


def _descriptors(value: Any, found: _Issues) -> bytes | None:
    try:
        if isinstance(value, str) and 0 < len(value) <= _MAX_TEXT:
            return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        pass
    found.note("descriptors", "base64", f"must be a FileDescriptorSet in base64, of {MAX_BYTES} bytes at most")
    return None


def _method(name: MethodName | None, data: bytes | None, found: _Issues) -> Method | None:
    if name is None or data is None:
        return None
    try:
        return method_of(name, data)
    except BadDescriptors as problem:
        found.note("descriptors", "descriptors", f"cannot be used: {problem}")
        return None
