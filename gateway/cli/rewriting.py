"""One row of a manifest is written anew in its place; everything else of the file stays, to the byte."""

import os
import tempfile
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Any

from gateway.cli.manifests import LISTS, written
from gateway.documents import Document, Location, Unreadable, documents_of
from gateway.errors import StartError

_TO_DO = "replace the row by hand with what is shown"


def rewritten(text: str, document: Document, at: Location, value: dict[str, Any]) -> str:
    """The text of a manifest with another row in the place of one. `document` is the one of the text's documents that
    holds it, at `at`. Comments inside of the row are gone.

    Raises `StartError` when the row does not stand as an item of a block list, or the file would mean something else
    afterwards; nothing is half done.
    """
    lines = text.splitlines(keepends=True)
    start = document.line(at) - 1
    indent = _dash(lines[start]) if start < len(lines) else None
    if indent is None:
        why = f"the row in {document.file}, line {start + 1}, is no item of a block list; {_TO_DO}"
        raise StartError(why, _by_hand(value))
    end = start + 1
    while end < len(lines) and _is_inside(lines[end], indent):
        end += 1
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#"):
        end -= 1  # what stands between two rows is of the later one
    item = _item(value, indent)
    if lines[start].endswith("\r\n"):
        item = item.replace("\n", "\r\n")
    changed = "".join([*lines[:start], item, *lines[end:]])
    _demand_same(text, changed, document, at, value)
    return changed


def text_of(path: Path) -> str:
    """What the file holds, with the ends of lines that it has. Raises `StartError`."""
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(f"{path} cannot be read any more; nothing was changed in it") from error


def save(path: Path, text: str) -> None:
    """The file holds the text, or what it held before, also after a crash. It keeps its mode, its owner where that can
    be, and the links that lead to it. Raises `StartError`.
    """
    fresh = None
    try:
        path = path.resolve(strict=True)
        known = path.stat()
        descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            with suppress(PermissionError):
                os.fchown(descriptor, known.st_uid, known.st_gid)
            os.fchmod(descriptor, known.st_mode & 0o777)
            os.fsync(descriptor)
        Path(fresh).replace(path)
    except OSError as error:
        if fresh is not None:
            Path(fresh).unlink(missing_ok=True)
        raise StartError(f"{path} cannot be written: {error.strerror}; nothing was changed in it") from error


def _dash(line: str) -> int | None:
    """How far the dash of a list's item is indented; None when the line is no such item."""
    bare = line.lstrip(" ")
    return len(line) - len(bare) if bare.startswith("- ") else None


def _is_inside(line: str, indent: int) -> bool:
    """Whether a line is of an item whose dash is indented so far, or between it and what comes next."""
    bare = line.lstrip(" ")
    return not bare.strip() or bare.startswith("#") or len(line) - len(bare) > indent


def _by_hand(value: dict[str, Any]) -> tuple[str, ...]:
    return tuple(written([("tool", value)]).splitlines())


def _item(value: dict[str, Any], indent: int) -> str:
    """The row as an item of a block list."""
    text = written([("tool", value)])
    item = textwrap.dedent("".join(text.splitlines(keepends=True)[1:]))
    return textwrap.indent(item, " " * indent)


def _demand_same(before: str, after: str, document: Document, at: Location, value: dict[str, Any]) -> None:
    list_name, index = at
    try:
        old = [one.value for one in documents_of(before, document.file)]
        new = [one.value for one in documents_of(after, document.file)]
    except Unreadable as error:
        why = f"{document.file} could not be read any more with the new row in it; {_TO_DO}"
        raise StartError(why, _by_hand(value)) from error
    for one in old:
        if isinstance(one, dict) and one == document.value and list_name in one:
            one[list_name][index] = value
            break
    if list_name != LISTS["tool"] or old != new:
        raise StartError(f"{document.file} would say something else with the new row in it; {_TO_DO}", _by_hand(value))
