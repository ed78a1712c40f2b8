"""Strict reading of YAML and JSON files that people write: settings, manifests, policy data.

A duplicate key, an unknown key and a wrong type are problems, each with its file, line and rule, and
all of them are reported together.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pydantic
import yaml

MAX_FILE_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 100
"""Of what is in what. Whatever is made of a document can be written as JSON again, which has an end of its own."""
MAX_SAFE_INTEGER = 2**53 - 1
"""Beyond it JSON's readers disagree about a number (RFC 7493, 2.2)."""

Location = tuple[str | int, ...]
M = TypeVar("M", bound=pydantic.BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """One thing wrong with one file. `line` counts from 1; 0 means the whole file."""

    file: str
    line: int
    rule: str
    message: str
    is_warning: bool = False
    path: str = ""
    """A JSON Pointer to the place in its document; empty for the whole."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.message}"


class Unreadable(Exception):  # noqa: N818 - it carries problems, and is always turned into them
    """A file that cannot be read as a document at all."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One YAML document: its value, and the line of every key and item in it."""

    file: str
    value: Any
    lines: dict[Location, int]

    def line(self, location: Iterable[str | int]) -> int:
        """The line of the nearest enclosing node that has one."""
        path = tuple(location)
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[:-1]
        return self.lines.get((), 1)

    def problem(self, location: Location, rule: str, message: str, *, is_warning: bool = False) -> Problem:
        """A problem at a place in this document."""
        path = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in location)
        line = self.line(location)
        return Problem(file=self.file, line=line, rule=rule, message=message, is_warning=is_warning, path=path)


def read_documents(path: Path) -> list[Document]:
    """Every document of one YAML file (JSON is YAML). Raises `Unreadable`."""
    return documents_of(_read_text(path), str(path))


def documents_of(text: str, file: str) -> list[Document]:
    """Every document of a YAML text; problems name it `file`. Raises `Unreadable`."""
    documents = []
    loader = None
    try:
        loader = yaml.CSafeLoader(text)  # libyaml: bounds nesting itself, and takes JSON's tabs
        while loader.check_node():
            builder = _Builder(loader)
            node = loader.get_node()
            assert node is not None
            documents.append(Document(file=file, value=builder.build(node, ()), lines=builder.lines))
    except _Refused as error:
        raise _unreadable(file, error.line, error.rule, error.message) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or "cannot be read as YAML"
        raise _unreadable(file, mark.line + 1 if mark else 0, "yaml", problem) from error
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise _unreadable(file, 0, "yaml", "cannot be read as YAML") from error
    finally:
        if loader is not None:
            loader.dispose()
    return documents


def read_document(path: Path) -> Document:
    """The one document of a YAML file; an empty file is an empty mapping. Raises `Unreadable`."""
    documents = read_documents(path)
    if not documents:
        return Document(file=str(path), value={}, lines={})
    if len(documents) > 1:
        raise _unreadable(str(path), 0, "one_document", "holds more than one YAML document")
    return documents[0]


def parse(model: type[M], document: Document, at: Location = ()) -> tuple[M | None, list[Problem]]:
    """The document's part at `at` as a model, or None and every problem in it."""
    value = document.value
    for key in at:
        value = value[key]
    try:
        return model.model_validate(value), []
    except pydantic.ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        problems = [
            document.problem(at + _plain(item["loc"]), _RULES.get(item["type"], item["type"]), _sentence(item))
            for item in found
            if not _is_aftermath(item, found)
        ]
        return None, problems


def _is_aftermath(item: Any, found: Sequence[Any]) -> bool:
    """Whether a list only counts as too short because of a wrong item in it."""
    depth = len(item["loc"])
    return item["type"] == "too_short" and any(
        len(other["loc"]) > depth and other["loc"][:depth] == item["loc"] for other in found
    )


_RULES = {"extra_forbidden": "unknown_key", "string_pattern_mismatch": "pattern"}


def _plain(location: tuple[Any, ...]) -> Location:
    return tuple(part for part in location if isinstance(part, str | int))


def _sentence(item: Any) -> str:
    where = ".".join(str(part) for part in item["loc"])
    return f"{where}: {item['msg']}" if where else str(item["msg"])


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)  # what a device or a pipe holds, its size does not tell
        if len(raw) > MAX_FILE_BYTES:
            raise _unreadable(str(path), 0, "size", f"is larger than {MAX_FILE_BYTES} bytes")
        return raw.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise _unreadable(str(path), 0, "utf8", "is not UTF-8") from error
    except OSError as error:
        raise _unreadable(str(path), 0, "readable", f"cannot be read: {error.strerror}") from error


def _unreadable(file: str, line: int, rule: str, message: str) -> Unreadable:
    return Unreadable(Problem(file=file, line=line, rule=rule, message=message))


class _Refused(Exception):  # noqa: N818 - it never leaves this module
    """A node that strict reading refuses."""

    def __init__(self, node: yaml.Node, rule: str, message: str) -> None:
        super().__init__(message)
        self.line = node.start_mark.line + 1
        self.rule = rule
        self.message = message


class _Builder:
    """Makes the value of one document and notes the line of every key and item."""

    def __init__(self, loader: yaml.CSafeLoader) -> None:
        self.lines: dict[Location, int] = {}
        self._loader = loader
        self._seen: set[int] = set()

    def build(self, node: yaml.Node, at: Location) -> Any:
        """The node's value. Aliases are refused: they hide what a file says, and nested ones grow
        without bound.
        """
        if len(at) > MAX_DEPTH:
            raise _Refused(node, "depth", f"is nested more than {MAX_DEPTH} levels")
        self.lines.setdefault(at, node.start_mark.line + 1)
        if id(node) in self._seen:
            raise _Refused(node, "alias", "aliases are not allowed; write the value out")
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, at)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*at, index)) for index, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, at: Location) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                raise _Refused(key_node, "key", "keys must be strings; put this one in quotes")
            if key in result:
                first = self.lines[(*at, key)]
                raise _Refused(key_node, "duplicate_key", f"the key {key!r} stands twice; the first is in line {first}")
            self.lines[(*at, key)] = key_node.start_mark.line + 1
            result[key] = self.build(value_node, (*at, key))
        return result

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind == "timestamp":
            return node.value  # a date is a string here, as it is in JSON
        if kind == "merge":
            raise _Refused(node, "merge_key", "merge keys are not allowed; write the keys out")
        if kind not in {"str", "int", "float", "bool", "null"}:
            raise _Refused(node, "tag", f"the tag {node.tag} is not allowed")
        # YAML 1.1 reads `no` as false and 17:00 as 1020, which nobody means.
        if (kind == "bool" and node.value.lower() not in {"true", "false"}) or (kind != "str" and ":" in node.value):
            raise _Refused(node, "ambiguous", f"{node.value} is not what it looks like in YAML; put it in quotes")
        value = self._loader.construct_object(node, deep=True)
        if kind == "str":
            return _text_or_number(node, value)
        if isinstance(value, float) and not math.isfinite(value):
            raise _Refused(node, "finite", "a number must be finite")
        if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
            raise _Refused(node, "integer_range", f"an integer must be within ±{MAX_SAFE_INTEGER}; put it in quotes")
        return value


_EXPONENT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?[eE][+-]?[0-9]+")


def _text_or_number(node: yaml.ScalarNode, text: str) -> str | float:
    """What JSON makes of a bare word: YAML 1.1 takes 1e3 for text."""
    if node.style or not _EXPONENT.fullmatch(text):
        return text
    number = float(text)
    if not math.isfinite(number):
        raise _Refused(node, "finite", "a number must be finite")
    return number
