"""A file is put where Slack says, if the connection allows it, and shared once."""

import base64
import hashlib
import json
from typing import Any

import pytest
from fakes.cases.slack import FILE, UPLOAD, uploading
from fakes.vendor import Answer, Asked, Said, desk, vendor_server

from adapters.base import AdapterError, ArgumentProblem, ErrorKind, Happened, Invocation, Secret, Target
from adapters.slack.marks import block_id
from adapters.slack.uploads import MAX_BYTES, prepare_upload, upload
from adapters.transport.replies import Reply


def places(url: str, **more: Any) -> Answer:
    """Slack wants the file there."""

    def answer(asked: Asked) -> Said:
        if asked.path == "/files.getUploadURLExternal":
            return Said({"ok": True, "upload_url": url.format(host=asked.headers["Host"]), "file_id": FILE, **more})
        return uploading(asked)

    return answer


async def refused(answer: Answer, arguments: dict[str, Any] | None = None) -> tuple[AdapterError, list[Asked]]:
    """What an upload ends with that fails, and what was asked."""
    async with vendor_server(answer) as server, desk(server) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("slack", "upload_file", arguments or UPLOAD)
    return caught.value, server.asked


async def test_the_three_steps_of_an_upload() -> None:
    """A place, the bytes without any credential, and the words with a mark."""
    async with vendor_server(uploading) as server, desk(server) as at:
        output = await at.ask(
            "slack", "upload_file", {**UPLOAD, "mentions": ["here"], "thread_ts": "1767225600.000300"}
        )
    place, put, share = server.asked
    assert place.form == {"filename": "report.csv", "length": "4"}
    assert (put.method, put.path, put.body) == ("POST", "/upload/v1/abc", b"a,b\n")
    assert "Authorization" not in put.headers
    assert json.loads(share.form["files"]) == [{"id": FILE, "title": "report.csv"}]
    assert (share.form["channel_id"], share.form["thread_ts"]) == ("C0FA2M81QXR", "1767225600.000300")
    (block,) = json.loads(share.form["blocks"])
    assert block["block_id"] == block_id("eff-1")
    assert block["text"] == {"type": "mrkdwn", "text": "<!here> The numbers", "verbatim": True}
    assert output.structured == {"file": FILE, "channel": "C0FA2M81QXR", "size_bytes": 4}
    assert at.learned == [f"{server.url}/upload/v1/abc"]


async def test_bytes_are_sent_as_they_are() -> None:
    """Whatever they are."""
    content = bytes(range(256))
    arguments = {"channel": "C0FA2M81QXR", "filename": "a.bin", "comment": "x"}
    async with vendor_server(uploading) as server, desk(server) as at:
        await at.ask("slack", "upload_file", {**arguments, "content_base64": base64.b64encode(content).decode()})
    assert server.asked[1].body == content


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/upload", "http://169.254.169.254/latest", "https://evil.example/u"]
)
async def test_a_place_beyond_the_connections_hosts_is_not_gone_to(url: str) -> None:
    """Not a byte of the file leaves, and an operator is told what to do."""
    error, asked = await refused(places(url))
    assert (error.kind, error.happened) == (ErrorKind.ADDRESS_REFUSED, Happened.NO)
    assert "operator" in error.message
    assert len(asked) == 1


class Places:
    """Methods of a Slack that is asked over TLS, and wants files put somewhere else."""

    async def read(self, _invocation: Invocation, _method: str, _form: Any) -> Reply:
        """A place that others can read."""
        value = {"ok": True, "upload_url": "http://files.slack.com/upload", "file_id": FILE}
        return Reply(status=200, headers={}, value=value, happened=Happened.NO)


class Closed:
    """A transport through which nothing may go."""

    async def send(self, request: Any) -> None:
        """Never."""
        raise AssertionError(request)


async def test_a_place_that_others_could_read_is_not_gone_to() -> None:
    """Slack's own API is asked over TLS, so the file goes over TLS too."""
    invocation = Invocation(
        arguments=prepare_upload(UPLOAD),
        target=Target(name="slack", hosts=("slack.com", "files.slack.com")),
        credential=Secret("xoxb-1"),
        deadline=10.0,
        effect_id="eff-1",
    )
    with pytest.raises(AdapterError) as caught:
        await upload(Places(), Closed(), invocation)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.ADDRESS_REFUSED, Happened.NO)


@pytest.mark.parametrize(
    "value",
    [
        {"ok": True},
        {"ok": True, "upload_url": 7, "file_id": FILE},
        {"ok": True, "upload_url": "ftp://files.slack.com/", "file_id": FILE},
        {"ok": True, "upload_url": "http://127.0.0.1/", "file_id": "../x"},
    ],
)
async def test_a_place_that_is_none_is_malformed(value: Any) -> None:
    """Nothing was shared."""
    error, asked = await refused(lambda _asked: Said(value))
    assert (error.kind, error.happened, len(asked)) == (ErrorKind.MALFORMED, Happened.NO, 1)


@pytest.mark.parametrize(
    ("status", "kind"), [(403, ErrorKind.UNAVAILABLE), (500, ErrorKind.UNAVAILABLE), (429, ErrorKind.RATE_LIMITED)]
)
async def test_a_place_that_does_not_take_the_file(status: int, kind: ErrorKind) -> None:
    """Nothing is shared then."""

    def answer(asked: Asked) -> Said:
        return Said({}, status=status) if asked.path.startswith("/upload/") else uploading(asked)

    error, asked = await refused(answer)
    assert (error.kind, error.happened) == (kind, Happened.NO)
    assert not [one for one in asked if one.path.endswith("completeUploadExternal")]


async def test_sharing_is_not_repeated() -> None:
    """The first two steps may be: nobody sees them."""

    def answer(asked: Asked) -> Said:
        return Said(cut=True) if asked.path.endswith("completeUploadExternal") else uploading(asked)

    error, asked = await refused(answer)
    assert error.happened is Happened.UNKNOWN
    assert [one.path for one in asked].count("/files.completeUploadExternal") == 1


@pytest.mark.parametrize("files", [None, [], [{"id": "FOTHER"}], "x"])
async def test_a_file_that_slack_does_not_name_is_malformed(files: Any) -> None:
    """And was shared all the same."""

    def answer(asked: Asked) -> Said:
        if asked.path.endswith("completeUploadExternal"):
            return Said({"ok": True, "files": files})
        return uploading(asked)

    error, _ = await refused(answer)
    assert (error.kind, error.happened) == (ErrorKind.MALFORMED, Happened.YES)


def test_prepare_tells_policy_what_the_file_is() -> None:
    """Its name, ending, size and digest, beside its content."""
    prepared = prepare_upload({**UPLOAD, "comment": "1 < 2", "filename": "Report.v2.CSV"})
    assert (prepared["filename"], prepared["extension"], prepared["size_bytes"]) == ("Report.v2.CSV", "csv", 4)
    assert prepared["sha256"] == hashlib.sha256(b"a,b\n").hexdigest()
    assert (prepared["text"], prepared["content_base64"], prepared["thread_ts"]) == ("a,b\n", None, None)
    assert prepared["comment"] == "1 &lt; 2"
    assert prepare_upload({**UPLOAD, "filename": "Makefile"})["extension"] == ""


NEITHER = {name: value for name, value in UPLOAD.items() if name != "text"}


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (NEITHER, ("/text", "one_of")),
        ({**UPLOAD, "content_base64": "YQ=="}, ("/text", "one_of")),
        ({**NEITHER, "content_base64": "a b"}, ("/content_base64", "content")),
        ({**NEITHER, "content_base64": "YQ=="[:3]}, ("/content_base64", "content")),
        ({**UPLOAD, "text": "\ud800"}, ("/text", "content")),
        ({**UPLOAD, "text": "x" * (MAX_BYTES + 1)}, ("/text", "size")),
        ({**UPLOAD, "filename": "../etc/passwd"}, ("/filename", "filename")),
        ({**UPLOAD, "filename": ".."}, ("/filename", "filename")),
        ({**UPLOAD, "filename": "a\r\nb"}, ("/filename", "filename")),
        ({**UPLOAD, "filename": "invoice\u202efdp.exe"}, ("/filename", "filename")),
        ({**UPLOAD, "filename": "virus.exe "}, ("/filename", "filename")),
        ({**UPLOAD, "filename": "virus.exe."}, ("/filename", "filename")),
        ({**UPLOAD, "filename": "virus.exe. "}, ("/filename", "filename")),
        ({**UPLOAD, "filename": "virus.ex\u200be"}, ("/filename", "filename")),
        ({**UPLOAD, "comment": "<" * 1000}, ("/comment", "max_length")),
        ({**UPLOAD, "thread_ts": "x"}, ("/thread_ts", "format")),
    ],
)
def test_what_cannot_be_uploaded(arguments: dict[str, Any], wanted: tuple[str, str]) -> None:
    """With its place and rule."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare_upload(arguments)
    assert wanted in [(issue.path, issue.rule) for issue in caught.value.issues]
