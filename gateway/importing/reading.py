"""An OpenAPI document, read strictly and within bounds: JSON, or YAML without aliases.

Not `gateway.documents`: that is for files of this project, which are small and keep to its rules. Descriptions are
megabytes large, are JSON most of the time, and in YAML write the status 200 without quotes.
"""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import orjson
import yaml

from gateway.errors import StartError

MAX_BYTES = 32 * 1024 * 1024
MAX_YAML_BYTES = 16 * 1024 * 1024
MAX_VALUES = 1_500_000
MAX_DEPTH = 200
_VERSION = re.compile(r"3\.[01](\.[0-9]{1,4})?")


def read_description(path: Path) -> dict[str, Any]:
    """The document in a file. Raises `StartError`, one sentence, for whatever is no OpenAPI 3.0 or 3.1 document, or
    is larger or deeper than any that people write.
    """
    return description_of(_bytes_of(path), str(path))


def description_of(raw: bytes, file: str) -> dict[str, Any]:
    """The document in these bytes, which messages call `file`. Raises `StartError`."""
    if len(raw) > MAX_BYTES:
        _refuse(file, f"is larger than {MAX_BYTES >> 20} MiB")
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    value = _json(raw, file) if raw.lstrip()[:1] in (b"{", b"[") else _yaml(raw, file)
    return _checked(value, file)


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)  # what a device or a pipe holds, its size does not tell
    except OSError as error:
        raise StartError(f"{path} cannot be read: {error.strerror}") from error


def _checked(value: Any, file: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(file, "holds no object, so it is no OpenAPI document")
    version = value.get("openapi")
    if "swagger" in value and version is None:
        _refuse(file, "is Swagger 2; convert it to OpenAPI 3 first")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        _refuse(file, "is no OpenAPI 3.0 or 3.1 document: its `openapi` does not say so")
    if not isinstance(value.get("paths"), dict):
        _refuse(file, "has no `paths`, so there is nothing to make tools of")
    return value


def _refuse(file: str, why: str) -> NoReturn:
    raise StartError(f"{file} {why}")


def _json(raw: bytes, file: str) -> Any:
    """The first reading is for what the second takes: NaN, half characters, endless numbers, deep nesting."""
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") > MAX_VALUES:
        _refuse(file, f"holds more than {MAX_VALUES} values")
    try:
        orjson.loads(raw)
        return json.loads(raw, object_pairs_hook=_pairs, parse_int=_whole)
    except _Twice as twice:
        raise StartError(f"{file} has the key {twice.key!r} twice in one object") from twice
    except (ValueError, RecursionError) as error:
        where = f": {error.msg} in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise StartError(f"{file} cannot be read as JSON{where}") from error


class _Twice(Exception):  # noqa: N818 - it never leaves this module
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key[:100]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Twice(key)
            seen.add(key)
    return found


def _whole(text: str) -> float:
    """An integer; one of more digits than anything needs, which turning into an int would take long, is a float."""
    return int(text) if len(text) <= 30 else float(text)


def _yaml(raw: bytes, file: str) -> Any:
    if len(raw) > MAX_YAML_BYTES:
        _refuse(file, f"is larger than {MAX_YAML_BYTES >> 20} MiB; as JSON it may have {MAX_BYTES >> 20}")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise StartError(f"{file} is not UTF-8") from error
    loader = None
    try:
        loader = yaml.CSafeLoader(text)
        return _Builder().build(_events(loader))
    except _Wrong as wrong:
        raise StartError(f"{file}:{wrong.line}: {wrong}") from wrong
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise StartError(f"{file}:{line}: cannot be read as YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise StartError(f"{file} cannot be read as YAML") from error
    finally:
        if loader is not None:
            loader.dispose()


def _events(loader: yaml.CSafeLoader) -> Iterator[yaml.Event]:
    while loader.check_event():
        event = loader.get_event()
        assert event is not None
        yield event


class _Wrong(Exception):  # noqa: N818 - it never leaves this module
    def __init__(self, event: yaml.Event, message: str) -> None:
        super().__init__(message)
        self.line = event.start_mark.line + 1 if event.start_mark else 0


class _Builder:
    """Makes a value of events, one after the other: nothing that was refused has taken any memory."""

    def __init__(self) -> None:
        self._open: list[dict[str, Any] | list[Any]] = []
        self._keys: list[str | None] = []
        """The key that each open mapping waits for a value of."""
        self._count = 0
        self._documents: list[Any] = []

    def build(self, events: Iterator[yaml.Event]) -> Any:
        """The value of the one document. Raises `_Wrong`."""
        for event in events:
            self._count += 1
            if self._count > MAX_VALUES:
                raise _Wrong(event, f"there are more than {MAX_VALUES} values")
            self._take(event)
        return self._documents[0] if self._documents else None

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise _Wrong(event, "aliases are not allowed; write the value out")
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._enter(event, {} if isinstance(event, yaml.MappingStartEvent) else [])
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
            self._keys.pop()

    def _enter(self, event: yaml.Event, value: dict[str, Any] | list[Any]) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise _Wrong(event, f"values are nested more than {MAX_DEPTH} levels deep")
        self._add(event, value)
        self._open.append(value)
        self._keys.append(None)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            raise _Wrong(event, f"the tag {event.tag[:100]} is not allowed")
        if self._open and isinstance(self._open[-1], dict) and self._keys[-1] is None:
            self._key(event)
        else:
            is_text = bool(event.style) or event.tag is not None
            self._add(event, event.value if is_text else _plain(event.value))

    def _key(self, event: yaml.ScalarEvent) -> None:
        key = event.value
        assert isinstance(self._open[-1], dict)
        if key == "<<" and not event.style:
            raise _Wrong(event, "merge keys are not allowed; write the keys out")
        if key in self._open[-1]:
            raise _Wrong(event, f"the key {key[:100]!r} stands twice in one mapping")
        self._keys[-1] = key

    def _add(self, event: yaml.Event, value: Any) -> None:
        if not self._open:
            if self._documents:
                raise _Wrong(event, "there is more than one YAML document")
            self._documents.append(value)
        elif isinstance(holder := self._open[-1], list):
            holder.append(value)
        elif (key := self._keys[-1]) is None:
            raise _Wrong(event, "keys must be strings")
        else:
            holder[key] = value
            self._keys[-1] = None


_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,29})")
_NUMBER = re.compile(r"[-+]?[0-9]{1,30}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,3})?")


def _plain(text: str) -> Any:
    """What a bare word is in YAML 1.2: unlike in 1.1, `no` is a text, and so are dates and 17:00."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text) and not re.fullmatch(r"[-+]?0[0-9]+", text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text
