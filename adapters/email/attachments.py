"""Files that go with a message: checked, and described so that policy can judge them.

Which types and names may be sent is for policy to say. Here it is made sure that what policy saw is what a mail
program will show: one name, one type, and exactly these bytes.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from typing import Any, TypedDict

from adapters.base import ArgumentIssue
from adapters.email.addresses import header_problem

MAX_ATTACHMENTS = 10
MAX_BYTES = 2_500_000
"""Of all attachments of a message, decoded."""
MAX_FILENAME = 150

_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")
_COMPOSITE = ("multipart/", "message/")
_NOT_IN_NAMES = frozenset('/\\:*?"<>|')


class Attachment(TypedDict):
    """One file, as an agent sends it."""

    filename: str
    content_type: str
    content_base64: str


def prepare_attachments(entries: list[dict[str, Any]], issues: list[ArgumentIssue]) -> list[dict[str, Any]]:
    """Each file with its `extension`, decoded `size` and `sha256` beside what was given; adds to the issues."""
    if len(entries) > MAX_ATTACHMENTS:
        message = f"a message may have {MAX_ATTACHMENTS} attachments"
        issues.append(ArgumentIssue(path="/attachments", rule="max_items", message=message))
        return []
    prepared = [_one(entry, f"/attachments/{index}", issues) for index, entry in enumerate(entries)]
    if sum(file["size"] for file in prepared) > MAX_BYTES:
        message = f"the attachments of a message may have {MAX_BYTES} bytes in all, decoded"
        issues.append(ArgumentIssue(path="/attachments", rule="max_bytes", message=message))
    return prepared


def content_of(file: Mapping[str, Any]) -> bytes:
    """The bytes of a prepared attachment."""
    return base64.b64decode(file["content_base64"], validate=True)


def _one(entry: Mapping[str, Any], path: str, issues: list[ArgumentIssue]) -> dict[str, Any]:
    filename = _filename(entry["filename"], f"{path}/filename", issues)
    content = _content(entry["content_base64"], f"{path}/content_base64", issues)
    return {
        "filename": filename,
        "extension": filename.rpartition(".")[2].lower() if "." in filename else "",
        "content_type": _content_type(entry["content_type"], f"{path}/content_type", issues),
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "content_base64": entry["content_base64"],
    }


def _filename(name: str, path: str, issues: list[ArgumentIssue]) -> str:
    if problem := header_problem(name):
        issues.append(ArgumentIssue(path=path, rule=problem[0], message=problem[1]))
    elif not name.isprintable():
        message = "must not hold characters that cannot be seen, such as marks that turn the direction of writing"
        issues.append(ArgumentIssue(path=path, rule="filename", message=message))
    elif not 0 < len(name) <= MAX_FILENAME or _NOT_IN_NAMES & set(name) or name != name.strip(". "):
        message = f"must be a plain file name of 1 to {MAX_FILENAME} characters, without a path, such as report.pdf"
        issues.append(ArgumentIssue(path=path, rule="filename", message=message))
    return name


def _content_type(content_type: str, path: str, issues: list[ArgumentIssue]) -> str:
    folded = content_type.lower()
    if not _TYPE.fullmatch(folded) or folded.startswith(_COMPOSITE):
        message = "must be a media type without parameters, such as application/pdf, and none of multipart or message"
        issues.append(ArgumentIssue(path=path, rule="content_type", message=message))
    return folded


def _content(encoded: str, path: str, issues: list[ArgumentIssue]) -> bytes:
    """The bytes, when the text is the one way to write them: what is ignored by some readers is refused."""
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        content = b""
    if not content or base64.b64encode(content).decode() != encoded:
        message = "must be the file's bytes in base64 with padding, without line breaks, and not empty"
        issues.append(ArgumentIssue(path=path, rule="base64", message=message))
    return content
