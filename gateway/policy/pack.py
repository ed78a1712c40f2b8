"""Policy folders, read into one frozen pack. Whatever is wrong is reported together."""

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.documents import MAX_FILE_BYTES, Unreadable, read_document
from gateway.policy.base import PolicyProblem, PolicyUnusable

TEST_SUFFIX = "_test.rego"
DATA_NAMES = frozenset({"data.json", "data.yaml"})
IGNORED_SUFFIXES = (".schema.json", ".md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One Rego file: the name that problems show, and its text."""

    name: str
    text: str = field(repr=False)
    place: str = ""
    """The number of its folder and its path in it, such as `0/lib/hours.rego`: the same wherever folders stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A policy: what the live engine loads, and the tests that come with it."""

    modules: tuple[Module, ...]
    tests: tuple[Module, ...]
    data: dict[str, Any] = field(repr=False)
    revision: str
    """`sha256:` and hex over the names and bytes of modules and data. Tests do not count: they decide nothing."""

    @property
    def data_json(self) -> str:
        """The data as JSON text."""
        return json.dumps(self.data, allow_nan=False)


def read_pack(folders: Sequence[Path]) -> Pack:
    """Everything in these folders, in order. Raises `PolicyUnusable` with every problem."""
    reader = _Reader()
    for index, folder in enumerate(folders):
        reader.read_folder(index, folder)
    return reader.pack()


def stamp(folders: Sequence[Path]) -> tuple[tuple[str, int, int, int], ...]:
    """Name, time, size and inode of every file: it differs when something was written, added or removed."""
    stamps = []
    for folder in folders:
        for path in _files(folder):
            try:
                status = path.stat()
            except OSError:
                continue  # gone between listing and looking: the next look sees the listing without it
            stamps.append((str(path), status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(stamps)


def _files(folder: Path) -> list[Path]:
    """Every file below the folder, sorted. Names with a leading dot are left out: a mounted ConfigMap
    keeps its former revisions in such folders, and its files are symlinks into one of them.
    """
    found = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(root, name) for name in names if not name.startswith(".")]
    return sorted(found)


class _Reader:
    """Collects modules, data and problems over all folders."""

    def __init__(self) -> None:
        self._modules: list[Module] = []
        self._tests: list[Module] = []
        self._data: dict[str, Any] = {}
        self._problems: list[PolicyProblem] = []
        self._hash = hashlib.sha256()

    def read_folder(self, index: int, folder: Path) -> None:
        if not folder.is_dir():
            self._problem(folder, "folder", "is not a folder; give a folder of .rego files")
            return
        for path in _files(folder):
            relative = path.relative_to(folder)
            if path.name in DATA_NAMES:
                self._read_data(path, f"{index}/{relative.as_posix()}", relative.parent.parts)
            elif path.suffix == ".rego":
                self._read_module(path, f"{index}/{relative.as_posix()}")
            elif not path.name.endswith(IGNORED_SUFFIXES):
                expected = "*.rego, data.json, data.yaml, *.schema.json or *.md"
                self._problem(path, "unknown_file", f"would not be read; expected {expected}")

    def pack(self) -> Pack:
        if not self._modules and not self._problems:
            self._problems.append(
                PolicyProblem(file="-", rule="empty", message="there is no .rego file to decide with")
            )
        if self._problems:
            raise PolicyUnusable(*self._problems)
        return Pack(
            modules=tuple(self._modules),
            tests=tuple(self._tests),
            data=self._data,
            revision=f"sha256:{self._hash.hexdigest()}",
        )

    def _read_module(self, path: Path, name: str) -> None:
        raw = self._bytes(path)
        try:
            text = raw.decode() if raw is not None else None
        except UnicodeDecodeError:
            self._problem(path, "utf8", "is not UTF-8")
            return
        if raw is None or text is None:
            return
        if path.name.endswith(TEST_SUFFIX):
            self._tests.append(Module(name=str(path), text=text, place=name))
            return
        self._count(name, raw)
        self._modules.append(Module(name=str(path), text=text, place=name))

    def _read_data(self, path: Path, name: str, keys: tuple[str, ...]) -> None:
        raw = self._bytes(path)
        if raw is None:
            return
        value = self._json(path, raw) if path.suffix == ".json" else self._yaml(path, raw)
        if value is None:
            return
        if not isinstance(value, dict):
            self._problem(path, "data", "must hold an object")
            return
        self._count(name, raw)
        for key in reversed(keys):
            value = {key: value}
        self._merge(path, self._data, value, ())

    def _count(self, name: str, raw: bytes) -> None:
        """Lengths go in front, so that no two different sets of files have the same revision."""
        for part in (name.encode("utf-8", "surrogateescape"), raw):
            self._hash.update(len(part).to_bytes(8, "big"))
            self._hash.update(part)

    def _merge(self, path: Path, into: dict[str, Any], value: dict[str, Any], at: tuple[str, ...]) -> None:
        for key, item in value.items():
            if key not in into:
                into[key] = item
            elif isinstance(into[key], dict) and isinstance(item, dict):
                self._merge(path, into[key], item, (*at, key))
            else:
                where = ".".join((*at, key))
                self._problem(path, "duplicate_data", f"data.{where} is already set by another file")

    def _json(self, path: Path, raw: bytes) -> Any:
        try:
            return json.loads(raw, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            self._problem(path, "json", str(error) or "is nested too deeply")
            return None

    def _yaml(self, path: Path, raw: bytes) -> Any:
        try:
            value = read_document(path).value
            json.dumps(value, allow_nan=False)
        except Unreadable as error:
            self._problem(path, error.problem.rule, f"line {error.problem.line}: {error.problem.message}")
            return None
        except ValueError:
            self._problem(path, "yaml", "holds a number that JSON does not have")
            return None
        if self._bytes(path) != raw:
            self._problem(path, "changed", "changed while it was read; load again")
            return None
        return value

    def _bytes(self, path: Path) -> bytes | None:
        try:
            if path.stat().st_size <= MAX_FILE_BYTES:
                return path.read_bytes()
            self._problem(path, "size", f"is larger than {MAX_FILE_BYTES} bytes")
        except OSError as error:
            self._problem(path, "readable", f"cannot be read: {error.strerror}")
        return None

    def _problem(self, path: Path, rule: str, message: str) -> None:
        self._problems.append(PolicyProblem(file=str(path), rule=rule, message=message))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice")
        found[key] = value
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
