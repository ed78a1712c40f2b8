"""Strict reading of YAML and JSON files that people write: settings, manifests, policy data.

A duplicate key, an unknown key and a wrong type are problems, each with its file, line and rule, and
all of them are reported together.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pydantic
import yaml

MAX_FILE_BYTES = 8 * 1024 * 1024

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

    def problem(self, location: Iterable[str | int], rule: str, message: str, *, is_warning: bool = False) -> Problem:
        """A problem at a place in this document."""
        return Problem(file=self.file, line=self.line(location), rule=rule, message=message, is_warning=is_warning)


class _Loader(yaml.SafeLoader):
    """SafeLoader without aliases-as-bombs and without merge keys or silent duplicates."""


def read_documents(path: Path) -> list[Document]:
    """Every document of one YAML file (JSON is YAML). Raises `Unreadable`."""
    text = _read_text(path)
    loader = _Loader(text)
    documents = []
    try:
        while loader.check_node():
            node = loader.get_node()
            lines: dict[Location, int] = {}
            value = _construct(loader, node, (), lines, str(path), set())
            documents.append(Document(file=str(path), value=value, lines=lines))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _unreadable(path, mark.line + 1 if mark else 0, "yaml", error.problem or "cannot be read as YAML") from error
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise _unreadable(path, 0, "yaml", "cannot be read as YAML") from error
    finally:
        loader.dispose()
    return documents


def read_document(path: Path) -> Document:
    """The one document of a YAML file; an empty file is an empty mapping. Raises `Unreadable`."""
    documents = read_documents(path)
    if not documents:
        return Document(file=str(path), value={}, lines={})
    if len(documents) > 1:
        raise _unreadable(path, 0, "one_document", "holds more than one YAML document")
    return documents[0]


def parse(model: type[M], document: Document, at: Location = ()) -> tuple[M | None, list[Problem]]:
    """The document's part at `at` as a model, or None and every problem in it."""
    value = document.value
    for key in at:
        value = value[key]
    try:
        return model.model_validate(value), []
    except pydantic.ValidationError as error:
        problems = [
            document.problem(at + _plain(item["loc"]), item["type"], _sentence(item))
            for item in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        return None, problems


def _plain(location: tuple[Any, ...]) -> Location:
    return tuple(part for part in location if isinstance(part, str | int))


def _sentence(item: Any) -> str:
    where = ".".join(str(part) for part in item["loc"])
    return f"{where}: {item['msg']}" if where else str(item["msg"])


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise _unreadable(path, 0, "size", f"is larger than {MAX_FILE_BYTES} bytes")
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise _unreadable(path, 0, "utf8", "is not UTF-8") from error
    except OSError as error:
        raise _unreadable(path, 0, "readable", f"cannot be read: {error.strerror}") from error


def _unreadable(path: Path, line: int, rule: str, message: str) -> Unreadable:
    return Unreadable(Problem(file=str(path), line=line, rule=rule, message=message))


def _construct(
    loader: _Loader, node: yaml.Node, at: Location, lines: dict[Location, int], file: str, open_nodes: set[int]
) -> Any:
    """The node's value; notes the line of every key and item. Aliases are refused: they hide what a
    file says, and nested ones grow without bound."""
    lines.setdefault(at, node.start_mark.line + 1)
    if id(node) in open_nodes:
        raise yaml.MarkedYAMLError(problem="aliases are not allowed", problem_mark=node.start_mark)
    open_nodes.add(id(node))
    if isinstance(node, yaml.MappingNode):
        return _construct_mapping(loader, node, at, lines, file, open_nodes)
    if isinstance(node, yaml.SequenceNode):
        return [
            _construct(loader, item, (*at, index), lines, file, open_nodes) for index, item in enumerate(node.value)
        ]
    return _scalar(loader, node)


def _construct_mapping(
    loader: _Loader, node: yaml.MappingNode, at: Location, lines: dict[Location, int], file: str, open_nodes: set[int]
) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = _scalar(loader, key_node) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, Hashable) or not isinstance(key, str):
            raise yaml.MarkedYAMLError(problem="keys must be strings", problem_mark=key_node.start_mark)
        if key in result:
            raise yaml.MarkedYAMLError(problem=f"duplicate key {key!r}", problem_mark=key_node.start_mark)
        lines[(*at, key)] = key_node.start_mark.line + 1
        result[key] = _construct(loader, value_node, (*at, key), lines, file, open_nodes)
    return result


def _scalar(loader: _Loader, node: yaml.Node) -> Any:
    if node.tag == "tag:yaml.org,2002:merge":
        raise yaml.MarkedYAMLError(problem="merge keys are not allowed", problem_mark=node.start_mark)
    if node.tag in _PLAIN_TAGS:
        return loader.construct_object(node, deep=True)
    if node.tag == "tag:yaml.org,2002:timestamp":
        return node.value  # a date is a string here, as it is in JSON
    raise yaml.MarkedYAMLError(problem=f"the tag {node.tag} is not allowed", problem_mark=node.start_mark)


_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null")}
