"""Uploading a file: Slack gives a place to put it, the bytes go there, and then it is shared with words in a channel.

Until it is shared nobody sees it, so that only the last of the three requests is an effect.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

import orjson

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Invocation, Output, Secret, Target
from adapters.slack.answers import items
from adapters.slack.fields import SlackFields
from adapters.slack.marks import block_id
from adapters.slack.methods import Methods
from adapters.transport.api import USER_AGENT
from adapters.transport.client import Transport
from adapters.transport.fields import is_odd
from adapters.transport.messages import Request
from adapters.transport.replies import Reply, malformed
from adapters.transport.urls import UrlProblem, WebUrl, canonical_url

MAX_BYTES = 500_000
MAX_COMMENT = 3000
"""Characters as they are sent: as many as a block of text takes."""
_FILENAME = re.compile(r"[^/\\:*?\"<>|]{1,200}")
_ANSWER_BYTES = 64 * 1024


class UploadArguments(TypedDict):
    """What an agent sends to `upload_file`."""

    channel: str
    filename: str
    comment: str
    text: NotRequired[str]
    content_base64: NotRequired[str]
    mentions: NotRequired[list[str]]
    thread_ts: NotRequired[str]


def prepare_upload(arguments: dict[str, Any]) -> dict[str, Any]:
    """The file with `extension`, `size_bytes` and `sha256`, where it goes, and the words beside it as they are sent."""
    fields = SlackFields(arguments)
    text, encoded = arguments.get("text"), arguments.get("content_base64")
    content = _content(fields, text, encoded)
    prepared = {
        **fields.channel(),
        "thread_ts": None if arguments.get("thread_ts") is None else fields.timestamp("thread_ts"),
        **_filename(fields, arguments["filename"]),
        **fields.text("comment", MAX_COMMENT),
        "text": text,
        "content_base64": encoded,
        "size_bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    return fields.checked(prepared)


async def upload(methods: Methods, transport: Transport, invocation: Invocation) -> Output:
    """The file's id and where it was shared. Raises `AdapterError`."""
    arguments = invocation.arguments
    content = _bytes(arguments["text"], arguments["content_base64"])
    asked = {"filename": arguments["filename"], "length": len(content)}
    url, file_id = _place(await methods.read(invocation, "files.getUploadURLExternal", asked))
    invocation.learn(Secret(url.text))  # whoever has it can put something else in the file's place
    await _put(transport, invocation, url, content)
    reply = await methods.write(invocation, "files.completeUploadExternal", _share(invocation, file_id))
    if not any(one.get("id") == file_id for one in items(reply, "files")):
        malformed(reply)
    structured = {"file": file_id, "channel": arguments["channel"], "size_bytes": len(content)}
    receipt = f"Uploaded {len(content):,} bytes to {arguments['channel']} (file {file_id})."
    return Output(structured=structured, receipt=receipt, attempts=reply.attempts)


def _content(fields: SlackFields, text: str | None, encoded: str | None) -> bytes:
    if (text is None) == (encoded is None):
        fields.issue("/text", "one_of", "Give the file's content in `text` or in `content_base64`, and not in both.")
        return b""
    try:
        content = _bytes(text, encoded)
    except (binascii.Error, ValueError):
        path, what = ("/text", "text that can be sent") if encoded is None else ("/content_base64", "standard base64")
        fields.issue(path, "content", f"The content must be {what}.")
        return b""
    if not 0 < len(content) <= MAX_BYTES:
        path = "/text" if encoded is None else "/content_base64"
        fields.issue(path, "size", f"The content must have from 1 to {MAX_BYTES} bytes.")
    return content


def _bytes(text: str | None, encoded: str | None) -> bytes:
    """Raises ValueError (of which `UnicodeError` and `binascii.Error` are kinds) for what is none."""
    return base64.b64decode(encoded, validate=True) if encoded is not None else (text or "").encode()


def _filename(fields: SlackFields, filename: str) -> dict[str, Any]:
    # A dot or blank at the end, or what nobody sees, would hide what kind of file it is from policy.
    if not _FILENAME.fullmatch(filename) or is_odd(filename) or filename != filename.strip().rstrip("."):
        message = "`filename` must be a file's name of at most 200 characters, without folders and special characters."
        fields.issue("/filename", "filename", message)
    _, dot, extension = filename.rpartition(".")
    return {"filename": filename, "extension": extension.lower() if dot else ""}


def _place(reply: Reply) -> tuple[WebUrl, str]:
    """Where Slack wants the bytes, and what it calls the file."""
    text, file_id = reply.value.get("upload_url"), reply.value.get("file_id")
    if not isinstance(text, str) or not isinstance(file_id, str) or not re.fullmatch(r"[A-Z0-9]{1,40}", file_id):
        malformed(reply)
    try:
        return canonical_url(text), file_id
    except UrlProblem:
        malformed(reply)


async def _put(transport: Transport, invocation: Invocation, url: WebUrl, content: bytes) -> None:
    """The URL is Slack's word and no more: it is gone to if the connection names its host and the guard lets it."""
    target = invocation.target
    _check_private(target, url)
    request = Request(
        method="POST",
        url=url,
        headers={"User-Agent": USER_AGENT, "Content-Type": "application/octet-stream"},
        body=content,
        deadline=invocation.deadline,
        circuit=target.account or target.name,
        max_bytes=_ANSWER_BYTES,
        hosts=target.hosts,
        is_read=True,  # nobody sees it yet, and the same bytes may be put there again
        follows=False,
    )
    try:
        response = await transport.send(request)
    except AdapterError as error:
        if error.kind is ErrorKind.ADDRESS_REFUSED:
            message = "Slack takes files at a host that the connection does not name; an operator has to add it."
            raise _refused(message) from error
        raise
    if response.error is not None:
        raise _failed(response.status, response.attempts, response.retry_after_seconds)


def _check_private(target: Target, url: WebUrl) -> None:
    if url.scheme != "https" and not str(target.options.get("base_url", "https:")).startswith("http:"):
        raise _refused("Slack asks for the file over a connection that others can read; nothing was sent.")


def _refused(message: str) -> AdapterError:
    return AdapterError(ErrorKind.ADDRESS_REFUSED, message, happened=Happened.NO, fault=Fault.REFUSED)


def _failed(status: int, attempts: int, wait: float | None) -> AdapterError:
    kind, fault = (ErrorKind.RATE_LIMITED, None) if status == 429 else (ErrorKind.UNAVAILABLE, Fault.ERROR)
    message = "Slack gave a place for the file and then did not take it; nothing was shared. Try again later."
    return AdapterError(kind, message, happened=Happened.NO, fault=fault, retry_after_seconds=wait, attempts=attempts)


def _share(invocation: Invocation, file_id: str) -> Mapping[str, str | None]:
    """The words are a block, because a block has an id by which the message is found again."""
    arguments = invocation.arguments
    words = {"type": "mrkdwn", "text": arguments["comment"], "verbatim": True}
    block = {"type": "section", "block_id": block_id(invocation.effect_id), "text": words}
    return {
        "files": orjson.dumps([{"id": file_id, "title": arguments["filename"]}]).decode(),
        "channel_id": arguments["channel"],
        "thread_ts": arguments["thread_ts"],
        "blocks": orjson.dumps([block]).decode(),
    }
