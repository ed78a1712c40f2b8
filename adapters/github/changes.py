"""What a commit is to change: from what an agent sends to what policy judges, and what it means for a branch."""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.github import names
from adapters.github.paths import check_apart, path_in_repository, touches_workflows
from adapters.github.preparation import place_of
from adapters.github.texts import MAX_MESSAGE, filled_text_of, mentions_in
from adapters.transport.fields import Fields

MAX_FILES = 50
MAX_BYTES = 1_000_000
"""Of all files of one commit."""
PLAIN, EXECUTABLE = "100644", "100755"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a branch has under a path."""

    mode: str
    kind: str
    sha: str
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What becomes of one path. `data` is None for a file that is deleted."""

    path: str
    what: str
    """added, changed, unchanged or deleted."""
    mode: str
    data: bytes | None = field(repr=False)
    is_text: bool = True
    was_bytes: int | None = None


def prepare_commit(arguments: dict[str, Any]) -> dict[str, Any]:
    """The commit to be. `paths` are all that it touches; `touches_workflows`: GitHub would run some of them."""
    fields = Fields(arguments)
    files = [_file(one, f"/files/{index}", fields) for index, one in enumerate(arguments.get("files") or [])]
    deleted = [
        path_in_repository(path, f"/deleted_paths/{index}", fields)
        for index, path in enumerate(arguments.get("deleted_paths") or [])
    ]
    _check_all(files, deleted, fields)
    paths = sorted({*(file["path"] for file in files), *deleted})
    start = arguments.get("start_from")
    message = filled_text_of(arguments["message"], "/message", fields, most=MAX_MESSAGE).strip()
    prepared = {
        **place_of(arguments, fields),
        "branch": names.branch_of(arguments["branch"], "/branch", fields),
        "message": message,
        "mentions": mentions_in(message),
        "files": files,
        "deleted_paths": deleted,
        "paths": paths,
        "touches_workflows": touches_workflows(paths),
        "start_from": None if start is None else names.branch_of(start, "/start_from", fields),
        "expected_head": names.commit_of(arguments.get("expected_head"), "/expected_head", fields),
    }
    return fields.checked(prepared)


def changes_to(arguments: Mapping[str, Any], entries: Mapping[str, Entry | None]) -> list[Change]:
    """What becomes of each path, on a branch that has these entries. Raises `AdapterError` for what cannot be done."""
    changes = [_written(index, file, entries[file["path"]]) for index, file in enumerate(arguments["files"])]
    deleted = enumerate(arguments["deleted_paths"])
    changes += [_deleted(index, path, entries[path]) for index, path in deleted]
    if all(change.what == "unchanged" for change in changes):
        raise impossible(ErrorKind.CONFLICT, "The branch has every file just so already; there is nothing to commit.")
    return changes


def bytes_of(file: Mapping[str, Any]) -> bytes:
    """What a prepared file holds."""
    content: str = file["content"]
    return base64.b64decode(content) if file["encoding"] == "base64" else content.encode()


def impossible(kind: ErrorKind, message: str) -> AdapterError:
    """It is certain before anything is done that it cannot be done."""
    return AdapterError(kind, message, happened=Happened.NO)


def _file(file: Mapping[str, Any], at: str, fields: Fields) -> dict[str, Any]:
    encoding, content = file.get("encoding") or "utf-8", file["content"]
    try:
        if encoding == "base64":
            data = base64.b64decode("".join(content.split()), validate=True)
            content = base64.b64encode(data).decode()
        else:
            data = content.encode()
    except (binascii.Error, ValueError):
        fields.issue(f"{at}/content", "encoding", f"is not {encoding}")
        data, content = b"", ""
    path = path_in_repository(file["path"], f"{at}/path", fields)
    return {"path": path, "content": content, "encoding": encoding, "bytes": len(data)}


def _check_all(files: list[dict[str, Any]], deleted: list[str], fields: Fields) -> None:
    places = {f"/files/{index}/path": file["path"] for index, file in enumerate(files)}
    places |= {f"/deleted_paths/{index}": path for index, path in enumerate(deleted)}
    check_apart(places, fields)
    if not 0 < len(files) + len(deleted) <= MAX_FILES:
        fields.issue("/files", "count", f"give 1 to {MAX_FILES} files, those of `deleted_paths` counted in")
    if sum(file["bytes"] for file in files) > MAX_BYTES:
        fields.issue("/files", "size", f"must have {MAX_BYTES:,} bytes at most, all files together")


def _written(index: int, file: Mapping[str, Any], entry: Entry | None) -> Change:
    data = bytes_of(file)
    if entry is None:
        what = "added"
    elif entry.kind != "blob" or entry.mode not in (PLAIN, EXECUTABLE):
        where = f"/files/{index}/path"
        raise impossible(ErrorKind.INVALID, f"{where} is a folder, a link or a submodule on the branch, and no file.")
    else:
        what = "unchanged" if entry.sha == _blob_id(data) else "changed"
    return Change(
        path=file["path"],
        what=what,
        mode=PLAIN if entry is None else entry.mode,
        data=data,
        is_text=file["encoding"] == "utf-8",
        was_bytes=None if entry is None else entry.size,
    )


def _deleted(index: int, path: str, entry: Entry | None) -> Change:
    if entry is None or entry.kind != "blob":
        where = f"/deleted_paths/{index}"
        raise impossible(ErrorKind.CONFLICT, f"{where} is no file on the branch; it may be deleted already.")
    return Change(path=path, what="deleted", mode=entry.mode, data=None, was_bytes=entry.size)


def _blob_id(data: bytes) -> str:
    """What Git calls a file with this content."""
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()
