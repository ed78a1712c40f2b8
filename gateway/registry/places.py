"""Rows with the place where they stand, so that every problem can name a file and a line."""

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel

from gateway.documents import Document, Location, Problem, Unreadable, documents_of, parse, read_documents
from gateway.registry.manifest import AgentRow, ConnectionRow, ToolRow

SUFFIXES = (".yaml", ".yml", ".json")
R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed(Generic[R]):
    """One row and where it stands."""

    row: R
    document: Document
    at: Location
    is_builtin: bool = False

    def problem(self, below: Location, rule: str, message: str, *, is_warning: bool = False) -> Problem:
        """A problem at a field of this row."""
        return self.document.problem((*self.at, *below), rule, message, is_warning=is_warning)

    @property
    def place(self) -> str:
        """`FILE:LINE`."""
        return f"{self.document.file}:{self.document.line(self.at)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Every row that could be read."""

    tools: list[Placed[ToolRow]] = field(default_factory=list)
    connections: list[Placed[ConnectionRow]] = field(default_factory=list)
    agents: list[Placed[AgentRow]] = field(default_factory=list)
    unread: dict[str, set[str]] = field(default_factory=lambda: {"tools": set(), "connections": set(), "agents": set()})
    """The names of rows that are there and could not be read: whoever names one is not wrong."""


def read_rows(paths: Sequence[Path], builtin: Mapping[str, str]) -> tuple[Rows, list[Problem]]:
    """The rows of every manifest in `paths` and of the texts in `builtin`, and what cannot be read."""
    rows, problems = Rows(), []
    for name, text in builtin.items():
        try:
            problems += _add(rows, documents_of(text, name), is_builtin=True)
        except Unreadable as error:
            problems.append(error.problem)
    for path in paths:
        files, wrong = _manifests(path)
        problems += wrong
        for file in files:
            try:
                problems += _add(rows, read_documents(file), is_builtin=False)
            except Unreadable as error:
                problems.append(error.problem)
    return rows, problems


def _add(rows: Rows, documents: Iterable[Document], *, is_builtin: bool) -> list[Problem]:
    problems = []
    for document in documents:
        if document.value is None:
            continue
        if not isinstance(document.value, dict):
            problems.append(document.problem((), "manifest", "a manifest is a mapping with tools, connections, agents"))
            continue
        for key in document.value:
            problems += _add_list(rows, document, key, is_builtin=is_builtin)
    return problems


def _add_list(rows: Rows, document: Document, key: str, *, is_builtin: bool) -> Iterator[Problem]:
    if key not in {"tools", "connections", "agents"}:
        yield document.problem((key,), "unknown_key", f"{key}: a manifest holds tools, connections and agents only")
    elif not isinstance(document.value[key], list):
        yield document.problem((key,), "list", f"{key} must be a list")
    elif key == "tools":
        rows.tools.extend((yield from _place(ToolRow, document, key, rows.unread, is_builtin=is_builtin)))
    elif key == "connections":
        rows.connections.extend((yield from _place(ConnectionRow, document, key, rows.unread, is_builtin=is_builtin)))
    else:
        rows.agents.extend((yield from _place(AgentRow, document, key, rows.unread, is_builtin=is_builtin)))


def _place(
    model: type[R], document: Document, key: str, unread: dict[str, set[str]], *, is_builtin: bool
) -> Generator[Problem, None, list[Placed[R]]]:
    """Yields what is wrong with the rows of one list, and returns those that could be read."""
    placed = []
    for index, value in enumerate(document.value[key]):
        at: Location = (key, index)
        row, problems = parse(model, document, at)
        yield from problems
        if row is not None:
            placed.append(Placed(row=row, document=document, at=at, is_builtin=is_builtin))
        elif isinstance(value, dict):
            unread[key].add(str(value.get("name", "")))
    return placed


def _manifests(path: Path) -> tuple[list[Path], list[Problem]]:
    """The manifest files of one configured path, in order, and what is wrong with it."""
    if path.is_file():
        return [path], []
    if not path.is_dir():
        return [], [_whole(path, "exists", "there is no such file or folder")]
    files, problems = [], []
    for file in _walk(path):
        if file.resolve().is_relative_to(path.resolve()):
            files.append(file)
        else:
            problems.append(_whole(file, "symlink", "is a link that leads out of its folder"))
    if not files and not problems:
        problems.append(_whole(path, "empty", "holds no manifest (*.yaml, *.yml, *.json)", is_warning=True))
    return files, problems


def _walk(folder: Path) -> Iterator[Path]:
    """Manifests below the folder, sorted. Hidden names are passed over: Kubernetes keeps the versions of
    a mounted ConfigMap in them.
    """
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names) if name.endswith(SUFFIXES) and name[0] != ".")


def _whole(path: Path, rule: str, message: str, *, is_warning: bool = False) -> Problem:
    return Problem(file=str(path), line=0, rule=rule, message=message, is_warning=is_warning)
