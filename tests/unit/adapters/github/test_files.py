"""One file of a repository."""

import base64
from typing import Any

import pytest
from fakes.cases.github import PLACE
from fakes.cases.github import file as file_at
from fakes.vendor import Said, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened

PATH = "docs/a b.md"
README = {**PLACE, "path": PATH}


def file(data: bytes = b"# Site\n", /, **more: Any) -> dict[str, Any]:
    """What GitHub has under the path."""
    return file_at(data, **{"path": PATH, **more})


async def got(answer: Any, **more: Any) -> Any:
    """The structured output, or the error."""
    async with vendor_server(Said(answer)) as server, desk(server) as at:
        try:
            output = await at.ask("github", "get_file", {**README, **more})
        except AdapterError as error:
            return error
    (asked,) = server.asked
    assert asked.path == "/repos/acme/site/contents/docs/a b.md"
    assert asked.query == ({"ref": [more["ref"]]} if "ref" in more else {})
    return output.structured


@pytest.mark.parametrize(
    ("data", "content", "encoding"),
    [
        ("Grüße\n".encode(), "Grüße\n", "utf-8"),
        (b"", "", "utf-8"),
        (b"\xff\xfe", "//4=", "base64"),
        (b"a\0b", base64.b64encode(b"a\0b").decode(), "base64"),
    ],
)
async def test_a_file_is_text_or_base64(data: bytes, content: str, encoding: str) -> None:
    """A text with a NUL in it is none."""
    read = await got(file(data), ref="main")
    assert (read["content"], read["encoding"], read["bytes"], read["ref"]) == (content, encoding, len(data), "main")


@pytest.mark.parametrize(
    "answer",
    [file(b"x" * 11), file(b"x", size=11), file(size=11, encoding="none", content=""), file(b"x" * 11, size=1)],
)
async def test_a_file_that_is_too_large_is_not_read_in_part(answer: Any) -> None:
    """Whatever GitHub says of its size. How large it is, is told."""
    error = await got(answer, max_bytes=10)
    assert (error.kind, error.happened) == (ErrorKind.TOO_LARGE, Happened.NO)
    assert "11 bytes" in error.message
    assert (await got(file(b"x" * 10), max_bytes=10))["bytes"] == 10


@pytest.mark.parametrize("answer", [[], [file()], *({"type": kind} for kind in ("dir", "symlink", "submodule"))])
async def test_what_is_no_file_is_told(answer: Any) -> None:
    """A folder comes as a list."""
    assert (await got(answer)).kind is ErrorKind.INVALID


@pytest.mark.parametrize("path", ["secrets/prod.yaml", "docs/A b.md", None, 7])
async def test_a_link_to_another_file_is_not_followed(path: Any) -> None:
    """GitHub follows it, and policy has judged the path that was asked for."""
    error = await got(file(path=path))
    assert (error.kind, error.happened) == (ErrorKind.INVALID, Happened.NO)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        file(content=None),
        file(content="no base64!"),
        file(encoding="rot13"),
        file(sha=None),
        {"type": "file"},
    ],
)
async def test_a_file_of_another_shape_is_malformed(answer: Any) -> None:
    """Never half a file."""
    assert (await got(answer)).kind is ErrorKind.MALFORMED
