"""What a commit is to change."""

import base64
import hashlib
from typing import Any

import pytest

from adapters.base import AdapterError, ArgumentProblem, ErrorKind, Happened
from adapters.github.changes import Entry, bytes_of, changes_to, prepare_commit

COMMIT = {"owner": "Acme", "repository": "Site", "branch": "cart", "message": " Keep it, @Ann \r\n"}


def blob(data: bytes, mode: str = "100644") -> Entry:
    """A file that is there."""
    sha = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    return Entry(mode=mode, kind="blob", sha=sha, size=len(data))


def wrong(**more: Any) -> list[tuple[str, str]]:
    """Where the arguments are wrong, and by which rule."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare_commit({**COMMIT, **more})
    return [(issue.path, issue.rule) for issue in caught.value.issues]


def text(path: str, content: str = "x") -> dict[str, str]:
    """A file to be."""
    return {"path": path, "content": content}


def test_a_commit_says_everything_that_it_touches() -> None:
    """Its paths, sizes, and whom its message tells."""
    files = [text("b.txt", "ä"), {"path": "a.bin", "content": "AAE\n=", "encoding": "base64"}]
    prepared = prepare_commit({**COMMIT, "files": files, "deleted_paths": ["c"], "expected_head": "A" * 40})
    assert prepared == {
        "owner": "acme",
        "repository": "site",
        "full_name": "acme/site",
        "branch": "cart",
        "message": "Keep it, @Ann",
        "mentions": ["ann"],
        "files": [
            {"path": "b.txt", "content": "ä", "encoding": "utf-8", "bytes": 2},
            {"path": "a.bin", "content": "AAE=", "encoding": "base64", "bytes": 2},
        ],
        "deleted_paths": ["c"],
        "paths": ["a.bin", "b.txt", "c"],
        "touches_workflows": False,
        "start_from": None,
        "expected_head": "a" * 40,
    }
    assert [bytes_of(file) for file in prepared["files"]] == ["ä".encode(), b"\x00\x01"]


@pytest.mark.parametrize(
    "more", [{"files": [text(".github/workflows/x.yml")]}, {"deleted_paths": [".github/workflows/x"]}]
)
def test_a_commit_that_touches_workflows_says_so(more: dict[str, Any]) -> None:
    """Also by deleting one."""
    assert prepare_commit({**COMMIT, **more})["touches_workflows"] is True


def test_a_commit_is_of_something_and_of_not_too_much() -> None:
    """Files that are deleted count too."""
    assert wrong() == [("/files", "count")]
    assert wrong(files=[text(f"{number}") for number in range(50)], deleted_paths=["x"]) == [("/files", "count")]
    assert wrong(files=[text("a", "x" * 1_000_001)]) == [("/files", "size")]
    assert prepare_commit({**COMMIT, "files": [text(f"{number}", "x" * 20_000) for number in range(50)]})


def test_what_is_wrong_with_a_file_names_the_file() -> None:
    """Each place once."""
    files = [text("../x"), {"path": "a", "content": "no base64!", "encoding": "base64"}, text("b", "\ud800"), text("c")]
    assert wrong(files=files, deleted_paths=["c", ".git/x"], start_from="HEAD", message="\n") == [
        ("/files/0/path", "path"),
        ("/files/1/content", "encoding"),
        ("/files/2/content", "encoding"),
        ("/deleted_paths/1", "path"),
        ("/deleted_paths/0", "unique"),
        ("/message", "empty"),
        ("/start_from", "branch"),
    ]


def test_an_agent_cannot_write_the_mark_of_an_effect() -> None:
    """Which would let one call pass for another."""
    assert wrong(files=[text("a")], message="x\n\nTollhouse-Effect: 00") == [("/message", "reserved")]


def test_what_becomes_of_each_path_is_told() -> None:
    """A file that is executable stays so."""
    files = [
        text("new"),
        text("same", "s"),
        text("run", "other"),
        {"path": "bin", "content": "AA==", "encoding": "base64"},
    ]
    prepared = prepare_commit({**COMMIT, "files": files, "deleted_paths": ["old"]})
    there = {"same": blob(b"s"), "run": blob(b"r", "100755"), "bin": blob(b"b"), "old": blob(b"o"), "new": None}
    changes = changes_to(prepared, there)
    assert [(change.path, change.what, change.mode, change.was_bytes) for change in changes] == [
        ("new", "added", "100644", None),
        ("same", "unchanged", "100644", 1),
        ("run", "changed", "100755", 1),
        ("bin", "changed", "100644", 1),
        ("old", "deleted", "100644", 1),
    ]
    assert [change.is_text for change in changes] == [True, True, True, False, True]
    assert base64.b64encode(changes[3].data or b"") == b"AA=="


@pytest.mark.parametrize(
    ("more", "entry", "kind"),
    [
        ({"files": [text("a", "s")]}, blob(b"s"), ErrorKind.CONFLICT),
        ({"files": [text("a")]}, blob(b"s", "120000"), ErrorKind.INVALID),
        ({"files": [text("a")]}, Entry(mode="040000", kind="tree", sha="", size=None), ErrorKind.INVALID),
        ({"files": [text("a")]}, Entry(mode="160000", kind="commit", sha="", size=None), ErrorKind.INVALID),
        ({"deleted_paths": ["a"]}, None, ErrorKind.CONFLICT),
        ({"deleted_paths": ["a"]}, Entry(mode="040000", kind="tree", sha="", size=None), ErrorKind.CONFLICT),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_is(
    more: dict[str, Any], entry: Entry | None, kind: ErrorKind
) -> None:
    """Nothing to commit, a link that would become a file, a folder, and what is gone already."""
    with pytest.raises(AdapterError) as caught:
        changes_to(prepare_commit({**COMMIT, **more}), {"a": entry})
    assert (caught.value.kind, caught.value.happened) == (kind, Happened.NO)
