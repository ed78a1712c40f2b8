"""One file of a repository, at a branch, a tag or a commit."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Invocation, Output
from adapters.github.answers import sha_of, text, url, whole
from adapters.github.limits import CORE
from adapters.github.places import below
from adapters.transport.api import Api
from adapters.transport.calls import Call
from adapters.transport.replies import Reply, malformed


class Files:
    """Reads files."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def get(self, invocation: Invocation) -> Output:
        """The file as text, or as base64 when it is no text. A larger one than is wanted is not read in part: half a
        file that is written back is a file that is lost.
        """
        arguments = invocation.arguments
        call = Call(path=below(arguments, "/contents", arguments["path"]), query={"ref": arguments["ref"]})
        reply = await self._api.ask(invocation, call, limit=CORE)
        item = _file(reply, arguments["path"])
        data = _content(reply, item, arguments["max_bytes"])
        content, encoding = _readable(data)
        structured = {
            "path": arguments["path"],
            "ref": arguments["ref"],
            "sha": sha_of(reply, item),
            "bytes": len(data),
            "encoding": encoding,
            "content": content,
            "url": url(item.get("html_url")),
        }
        receipt = f"Read a file of {len(data):,} bytes in {arguments['full_name']}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)


def _file(reply: Reply, path: str) -> Mapping[str, Any]:
    if isinstance(reply.value, list):
        raise _invalid("`path` is a folder; name a file in it.")
    if not isinstance(reply.value, dict):
        malformed(reply)
    kind = reply.value.get("type")
    if kind in ("dir", "symlink", "submodule"):
        raise _invalid("`path` is no file: it is a folder, a link that leads out of the repository, or a submodule.")
    if kind != "file":
        malformed(reply)
    if reply.value.get("path", path) != path:
        raise _invalid("`path` is a link that leads to another file; name that file itself.")
    return reply.value


def _content(reply: Reply, item: Mapping[str, Any], most: int) -> bytes:
    size, encoding, content = whole(item.get("size")), text(item.get("encoding")), text(item.get("content"))
    if size is not None and size > most:
        raise _too_large(size, most)
    if encoding != "base64" or content is None:
        malformed(reply)
    try:
        data = base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        malformed(reply)
    if len(data) > most:
        raise _too_large(len(data), most)
    return data


def _readable(data: bytes) -> tuple[str, str]:
    """The content and its encoding."""
    try:
        if b"\0" not in data:
            return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    return base64.b64encode(data).decode(), "base64"


def _too_large(size: int, most: int) -> AdapterError:
    message = f"The file has {size:,} bytes, and `max_bytes` is {most:,}; it is not read in part."
    return AdapterError(ErrorKind.TOO_LARGE, message, happened=Happened.NO, fault=Fault.REFUSED)


def _invalid(message: str) -> AdapterError:
    return AdapterError(ErrorKind.INVALID, message, happened=Happened.NO)
