"""A server's content as blocks."""

import base64
import json
from typing import Any

import pytest

from adapters.base import Binary, Cut, Text
from adapters.mcp_upstream.blocks import MAX_BLOCKS, MAX_BYTES, Content, read_blocks

PIXEL = b"\x89PNG\r\n"
ENCODED = base64.b64encode(PIXEL).decode()


def read(*content: Any, room: int = MAX_BYTES) -> Content:
    """Of these blocks."""
    return read_blocks(content, room=room)


def test_texts_come_as_they_are() -> None:
    """In their order."""
    content = read({"type": "text", "text": "a\u200b\0"}, {"type": "text", "text": "", "annotations": {"priority": 1}})
    assert (content.blocks, content.left_out, content.cut) == ([Text(text="a\u200b\0"), Text(text="")], 0, None)


@pytest.mark.parametrize(
    ("kind", "mime_type", "told"),
    [
        ("image", "image/png", "image/png"),
        ("image", "IMAGE/SVG+XML; charset=utf-8", "image/svg+xml"),
        ("audio", "audio/wav", "audio/wav"),
    ],
)
def test_images_and_recordings_are_decoded(kind: str, mime_type: str, told: str) -> None:
    """With the type that the server says, without parameters."""
    content = read({"type": kind, "data": ENCODED, "mimeType": mime_type})
    assert content.blocks == [Binary(mime_type=told, data=PIXEL)]


def test_a_resource_says_which_it_is_and_what_it_holds() -> None:
    """Text or bytes."""
    text = {"uri": "file:///a", "mimeType": "text/plain", "text": "hello"}
    blob = {"uri": "file:///b", "blob": ENCODED}
    content = read({"type": "resource", "resource": text}, {"type": "resource", "resource": blob})
    assert content.blocks == [
        Text(text='{"resource":{"uri":"file:///a","mime_type":"text/plain"}}'),
        Text(text="hello"),
        Text(text='{"resource":{"uri":"file:///b"}}'),
        Binary(mime_type="application/octet-stream", data=PIXEL),
    ]


def test_a_link_is_told_and_not_followed() -> None:
    """On one line, whatever stands in it."""
    link = {"type": "resource_link", "uri": "http://10.0.0.1/", "name": 'a"\n}', "title": 7, "size": 1, "_meta": {}}
    (block,) = read(link).blocks
    assert isinstance(block, Text)
    assert "\n" not in block.text
    assert json.loads(block.text) == {"resource": {"uri": "http://10.0.0.1/", "name": 'a"\n}'}}


@pytest.mark.parametrize(
    "raw",
    [
        "text",
        None,
        [],
        {},
        {"type": "tool_use", "text": "x"},
        {"type": ["text"], "text": "x"},
        {"type": "text"},
        {"type": "text", "text": 7},
        {"type": "image", "data": ENCODED},
        {"type": "image", "data": ENCODED, "mimeType": "text/html"},
        {"type": "image", "data": ENCODED, "mimeType": "image/png\r\nX: 1"},
        {"type": "audio", "data": ENCODED, "mimeType": "image/png"},
        {"type": "image", "mimeType": "image/png"},
        {"type": "image", "data": f"{ENCODED[:-1]}", "mimeType": "image/png"},
        {"type": "image", "data": f" {ENCODED}", "mimeType": "image/png"},
        {"type": "image", "data": ENCODED.replace("+", "-") + "é", "mimeType": "image/png"},
        {"type": "image", "data": "-_-_", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a"}},
        {"type": "resource", "resource": "file:///a"},
        {"type": "resource", "resource": {"uri": "file:///a", "blob": "%%%%"}},
        {"type": "resource_link", "name": "a"},
    ],
    ids=ascii,
)
def test_what_cannot_be_shown_is_left_out_and_counted(raw: Any) -> None:
    """The rest is shown."""
    content = read({"type": "text", "text": "before"}, raw, {"type": "text", "text": "after"})
    assert content.blocks == [Text(text="before"), Text(text="after")]
    assert (content.left_out, content.cut) == (1, None)


def test_blocks_have_bounds() -> None:
    """What does not fit is left out, and how much that was is told."""
    content = read(*({"type": "text", "text": text} for text in ("é", "1234567", "ab")), room=6)
    assert content.blocks == [Text(text="é"), Text(text="ab")]
    assert (content.left_out, content.cut) == (1, Cut(read_bytes=4, seen_bytes=11))
    assert read({"type": "image", "data": ENCODED, "mimeType": "image/png"}, room=5).blocks == []


def test_there_are_so_many_blocks_and_no_more() -> None:
    """Of the server's."""
    content = read(*({"type": "text", "text": "x"} for _ in range(MAX_BLOCKS + 5)))
    assert (len(content.blocks), content.left_out) == (MAX_BLOCKS, 5)
    assert content.cut == Cut(read_bytes=MAX_BLOCKS, seen_bytes=MAX_BLOCKS + 1)


def test_little_is_told_of_a_resource() -> None:
    """However much its server says of it."""
    (block,) = read({"type": "resource_link", "uri": "file:///a", "description": "x" * 100_000}).blocks
    assert isinstance(block, Text)
    assert len(block.text) < 1100


def test_half_a_character_breaks_nothing() -> None:
    """Not in a text, not in what is told of a resource."""
    content = read({"type": "text", "text": "\ud800"}, {"type": "resource_link", "uri": "\ud800"})
    assert (len(content.blocks), content.left_out) == (2, 0)
