"""Files that go with a message."""

import base64
import hashlib
from typing import Any

import pytest

from adapters.base import ArgumentIssue
from adapters.email.attachments import MAX_ATTACHMENTS, MAX_BYTES, content_of, prepare_attachments


def file(**changes: Any) -> dict[str, Any]:
    """A good one, changed."""
    return {"filename": "Report.PDF", "content_type": "Application/PDF", "content_base64": "JVBERi0="} | changes


def issues_of(*files: dict[str, Any]) -> list[tuple[str, str]]:
    """Path and rule of every issue."""
    issues: list[ArgumentIssue] = []
    prepare_attachments(list(files), issues)
    return [(issue.path, issue.rule) for issue in issues]


def test_policy_is_told_what_a_file_is() -> None:
    """Name, ending, type, size and digest."""
    issues: list[ArgumentIssue] = []
    (prepared,) = prepare_attachments([file()], issues)
    assert not issues
    assert prepared == {
        "filename": "Report.PDF",
        "extension": "pdf",
        "content_type": "application/pdf",
        "size": 5,
        "sha256": hashlib.sha256(b"%PDF-").hexdigest(),
        "content_base64": "JVBERi0=",
    }
    assert content_of(prepared) == b"%PDF-"


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../a",
        "a/b",
        "a\\b",
        "C:a",
        " a.pdf",
        "a.exe.",
        "a\r\nX: y",
        "a\0b",
        "a\u202efdp.exe",
        "a\u200b.pdf",
        'a"b',
        "a|b",
        "=?utf-8?q?a?=",
        "x" * 151,
        "\ud800",
    ],
)
def test_g17_a_name_is_one_plain_name(name: str) -> None:
    """No path, no header, nothing that shows another name than policy saw."""
    ((path, _),) = issues_of(file(filename=name))
    assert path == "/attachments/0/filename"


@pytest.mark.parametrize(
    "kind", ["", "pdf", "text/html; charset=x", "multipart/mixed", "message/rfc822", "a/b\r\nX: y", "a/b c", "ä/b"]
)
def test_g17_a_type_is_one_plain_type(kind: str) -> None:
    """Without parameters, and no message in the message."""
    assert issues_of(file(content_type=kind)) == [("/attachments/0/content_type", "content_type")]


@pytest.mark.parametrize("encoded", ["", "JVBERi0", "JVBERi0=\n", "JVBERi1=", "JVBE Ri0=", "####", "JVBERi0==", "ä"])
def test_bytes_are_written_in_one_way(encoded: str) -> None:
    """What some readers skip, others read."""
    assert issues_of(file(content_base64=encoded)) == [("/attachments/0/content_base64", "base64")]


def test_number_and_size_have_bounds() -> None:
    """Counted decoded, over all files."""
    half = file(content_base64=base64.b64encode(b"x" * (MAX_BYTES // 2)).decode())
    assert issues_of(half, half) == []
    assert issues_of(half, half, file()) == [("/attachments", "max_bytes")]
    assert issues_of(*[file()] * (MAX_ATTACHMENTS + 1)) == [("/attachments", "max_items")]
