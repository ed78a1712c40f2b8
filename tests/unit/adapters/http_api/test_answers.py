"""An answer is read as the row says, and never as more than it is."""

from typing import Any

import pytest
from multidict import CIMultiDict

from adapters.base import AdapterError, Cut, ErrorKind, Happened
from adapters.http_api.answers import Answer, read_answer, read_json, read_nothing, read_text
from adapters.http_api.options import Issues, Part
from adapters.transport.messages import Response
from adapters.transport.urls import canonical_url

GREETING = '{"a": "größe"}'


def response(body: bytes, kind: str = "", status: int = 200, cut: Cut | None = None) -> Response:
    """An answer to a write."""
    return Response(
        status=status,
        url=canonical_url("https://a.example/"),
        headers=CIMultiDict({"content-type": kind} if kind else {}),
        body=body,
        cut=cut,
        happened=Happened.YES if status < 300 else Happened.UNKNOWN,
        retry_after_seconds=None,
    )


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (GREETING.encode(), "application/json"),
        (GREETING.encode(), "application/vnd.api+json; charset=utf-8"),
        (GREETING.encode(), "text/html"),
        (GREETING.encode(), ""),
        (GREETING.encode("cp1252"), "application/json; charset=ISO-8859-1"),
        (GREETING.encode(), 'application/json; charset="unheard-of"'),
        (GREETING.encode("utf-8-sig"), "application/json"),
        (GREETING.encode("utf-16"), "application/json"),
        (GREETING.encode("utf-16-le"), "application/json; charset=utf-16le"),
    ],
)
def test_json_is_read_in_its_charset_whatever_type_it_is_sent_as(body: bytes, kind: str) -> None:
    """What parses is JSON."""
    assert read_json(response(body, kind)).value == {"a": "größe"}


@pytest.mark.parametrize("body", [b"<html>", b"{", b"\xff\xfe\x00", b'{"a": NaN}', b"a=b"], ids=repr)
def test_what_is_no_json_is_malformed(body: bytes) -> None:
    """And nobody knows what it means for the effect: it may be a page to sign in on."""
    with pytest.raises(AdapterError) as caught:
        read_json(response(body, "application/json"))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)


@pytest.mark.parametrize("read", [read_json, read_text])
def test_an_answer_that_was_cut_is_too_large(read: Any) -> None:
    """Half an answer is none."""
    with pytest.raises(AdapterError) as caught:
        read(response(b'"xx', cut=Cut(read_bytes=3, seen_bytes=9)))
    assert caught.value.kind is ErrorKind.TOO_LARGE


def test_a_text_is_read_in_its_charset() -> None:
    """What is not of it is shown as such."""
    assert read_text(response("größe".encode("cp1252"), "text/plain; charset=latin1")).value == "größe"
    assert read_text(response(b"a\xffb", "text/plain")).value == "a\ufffdb"
    assert read_text(response(b"", "")).value == ""


def test_of_an_error_nothing_is_read() -> None:
    """Its status is enough, however large or broken it is."""
    cut = Cut(read_bytes=1, seen_bytes=9)
    for read in (read_json, read_text, read_nothing):
        reply = read(response(b"\xff<html>", "text/html; charset=utf-16", 500, cut))
        assert (reply.status, reply.value) == (500, None)


def test_nothing_is_nothing() -> None:
    """Also of a good answer that was cut."""
    assert read_nothing(response(b"xx", cut=Cut(read_bytes=2, seen_bytes=9))).value is None


def test_the_result_is_where_the_pointer_leads() -> None:
    """A null there is a null."""
    reply = read_json(response(b'{"data": {"items": [null, 7]}}'))
    assert Answer("json", ("data", "items", "1")).structured(reply) == 7
    assert Answer("json", ("data", "items", "0")).structured(reply) is None
    assert Answer("json").structured(reply) == {"data": {"items": [None, 7]}}
    assert Answer("none").structured(reply) == {}
    assert Answer("text").structured(read_text(response(b"hi"))) == {"text": "hi"}


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b'{"data": []}', b'{"error": "no"}', b"7"])
def test_an_answer_without_its_result_is_malformed(body: bytes) -> None:
    """It may be somebody else's, so nobody knows whether it was done."""
    with pytest.raises(AdapterError) as caught:
        Answer("json", ("data", "id")).structured(read_json(response(body)))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)


@pytest.mark.parametrize(
    ("raw", "method", "answer", "where"),
    [
        ({}, "GET", Answer("json"), []),
        ({}, "HEAD", Answer("none"), []),
        ({"pointer": "/a~1b/0"}, "POST", Answer("json", ("a/b", "0")), []),
        ({"type": "text"}, "GET", Answer("text"), []),
        ({"type": "text", "pointer": "/a"}, "GET", None, ["/pointer"]),
        ({"type": "xml"}, "GET", None, ["/type"]),
        ({"type": "json"}, "HEAD", None, ["/type"]),
        ({"pointer": "a"}, "GET", None, ["/pointer"]),
        ({"pointer": 7}, "GET", None, ["/pointer"]),
    ],
)
def test_what_a_row_says_of_the_answer(raw: Any, method: str, answer: Answer | None, where: list[str]) -> None:
    """Or what is wrong with it."""
    issues: Issues = []
    read = read_answer(Part(raw, "", issues), method)
    assert [issue.path for issue in issues] == where
    assert answer is None or read == answer
