"""Rows of `http_api` against httpbin, which says what it was asked and does what it is told."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fakes.recipes.http_api import TEXT, build, recipe
from real.httpbin import HttpBin

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, Output, Secret, SideEffect, Target
from adapters.http_api.adapter import HttpApiAdapter
from adapters.recipes import Recipe
from gateway.clock import SystemClock

READ, WRITE = SideEffect.READ, SideEffect.WRITE
proved = pytest.mark.proves("http_api", "request", "success")
failing = pytest.mark.proves("http_api", "request", "failure")


@asynccontextmanager
async def _adapter(port: int) -> AsyncIterator[HttpApiAdapter]:
    adapter = build(SystemClock(), port)
    try:
        yield adapter
    finally:
        await adapter.close()


async def asked(
    httpbin: HttpBin,
    row: Recipe,
    arguments: Mapping[str, Any] | None = None,
    *,
    credential: str | None = None,
    seconds: float = 10.0,
    **options: Any,
) -> Output:
    """What came of it."""
    async with _adapter(httpbin.port) as adapter:
        target = Target(
            name="httpbin",
            account="acme/httpbin",
            hosts=(f"127.0.0.1:{httpbin.port}",),
            options={"base_url": httpbin.url, **options},
        )
        assert adapter.check_target(target) == []
        operation = adapter.make(row)
        invocation = Invocation(
            arguments=operation.prepare(dict(arguments or {})),
            target=target,
            credential=None if credential is None else Secret(credential),
            deadline=SystemClock.monotonic() + seconds,
            effect_id="eff-1",
        )
        return await operation.invoke(invocation)


async def refused(httpbin: HttpBin, row: Recipe, **more: Any) -> AdapterError:
    """The error that it ends with."""
    with pytest.raises(AdapterError) as caught:
        await asked(httpbin, row, **more)
    return caught.value


def get(path: str, **options: Any) -> Recipe:
    """A row that gets something."""
    return recipe({"method": "GET", "path": path, **options}, {}, READ)


@proved
async def test_a_query_arrives_as_it_is_said(httpbin: HttpBin) -> None:
    """Lists, numbers, truths and what has to be escaped."""
    properties = {"tags": {"type": "array", "items": TEXT}, "page": {"type": "integer"}, "open": {"type": "boolean"}}
    query = {
        "tag": {"argument": "/tags"},
        "csv": {"argument": "/tags", "style": "comma"},
        "page": {"argument": "/page"},
        "open": {"argument": "/open"},
        "per": {"value": 20},
    }
    row = recipe({"method": "GET", "path": "/get", "query": query, "answer": {"pointer": "/args"}}, properties, READ)
    output = await asked(httpbin, row, {"tags": ["a&b", "größe +"], "open": True})
    assert output.structured == {"tag": ["a&b", "größe +"], "csv": "a&b,größe +", "open": "true", "per": "20"}


@proved
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_json_arrives_as_it_is_said(httpbin: HttpBin, method: str) -> None:
    """With every method that may carry it."""
    options = {
        "method": method,
        "path": "/anything/{name}",
        "body": {"type": "json", "fields": {"n": {"argument": "/n"}, "by": {"value": ["agent"]}}},
    }
    row = recipe(options, {"name": TEXT, "n": {"type": "integer"}}, WRITE, required=("name",))
    output = await asked(httpbin, row, {"name": "a b", "n": 9007199254740991})
    assert output.structured["method"] == method
    assert output.structured["json"] == {"n": 9007199254740991, "by": ["agent"]}
    assert output.structured["headers"]["Content-Type"] == "application/json"
    assert output.structured["url"].endswith(("/anything/a b", "/anything/a%20b"))


@proved
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_a_form_arrives_as_it_is_said(httpbin: HttpBin, method: str) -> None:
    """Escaped, with a list as several fields."""
    options = {
        "method": method,
        "path": f"/{method.lower()}",
        "body": {"type": "form", "fields": {"text": {"argument": "/text"}, "tag": {"argument": "/tags"}}},
        "answer": {"pointer": "/form"},
    }
    row = recipe(options, {"text": TEXT, "tags": {"type": "array", "items": TEXT}}, WRITE)
    output = await asked(httpbin, row, {"text": "a=b&c\nd ä", "tags": ["x", "y"]})
    assert output.structured == {"text": "a=b&c\nd ä", "tag": ["x", "y"]}


@proved
async def test_headers_arrive_as_they_are_said(httpbin: HttpBin) -> None:
    """The row's, the call's, the connection's and the key."""
    options = {
        "method": "POST",
        "path": "/anything",
        "headers": {"X-Row": {"value": "r"}, "X-Call": {"argument": "/name"}},
        "key_header": "Idempotency-Key",
        "answer": {"pointer": "/headers"},
    }
    row = recipe(options, {"name": TEXT}, WRITE)
    headers = (await asked(httpbin, row, {"name": "c"}, headers={"X-Connection": "k"})).structured
    assert (headers["X-Row"], headers["X-Call"], headers["X-Connection"]) == ("r", "c", "k")
    assert headers["Idempotency-Key"] == "eff-1"


@proved
@pytest.mark.parametrize("path", ["/gzip", "/deflate"])
async def test_an_answer_may_be_compressed(httpbin: HttpBin, path: str) -> None:
    """In the two ways that are asked for."""
    output = await asked(httpbin, get(path))
    assert output.structured["gzipped" if path == "/gzip" else "deflated"] is True


@proved
async def test_a_text_is_brought_as_it_is(httpbin: HttpBin) -> None:
    """In its charset."""
    output = await asked(httpbin, get("/encoding/utf8", answer={"type": "text"}))
    assert "Unicode Demo" in output.structured["text"]
    assert "╯  ╰──┴──╯" in output.structured["text"]


@proved
async def test_head_says_that_it_is_there(httpbin: HttpBin) -> None:
    """And brings nothing."""
    assert (await asked(httpbin, recipe({"method": "HEAD", "path": "/get"}, {}, READ))).structured == {}


@proved
async def test_basic_and_bearer_proof_is_taken(httpbin: HttpBin) -> None:
    """By a server that checks it."""
    basic = await asked(httpbin, get("/basic-auth/bot/pa%20ss"), credential="bot:pa ss", auth={"kind": "basic"})
    assert basic.structured == {"authenticated": True, "user": "bot"}
    bearer = await asked(httpbin, get("/bearer"), credential="t-1", auth={"kind": "bearer"})
    assert bearer.structured == {"authenticated": True, "token": "t-1"}


@proved
async def test_proof_in_the_query_or_a_header_arrives(httpbin: HttpBin) -> None:
    """As one value."""
    query = await asked(httpbin, get("/get"), credential="a&b", auth={"kind": "query", "name": "api_key"})
    assert query.structured["args"] == {"api_key": "a&b"}
    auth = {"kind": "header", "name": "X-Api-Key", "form": "Key {}"}
    assert (await asked(httpbin, get("/get"), credential="k", auth=auth)).structured["headers"]["X-Api-Key"] == "Key k"


@failing
@pytest.mark.parametrize(
    ("path", "options", "kind"),
    [
        (
            "/basic-auth/bot/secret",
            {"credential": "bot:wrong", "auth": {"kind": "basic"}},
            ErrorKind.NEEDS_AUTHORISATION,
        ),
        ("/bearer", {}, ErrorKind.NEEDS_AUTHORISATION),
        ("/status/400", {}, ErrorKind.INVALID),
        ("/status/403", {}, ErrorKind.FORBIDDEN),
        ("/status/404", {}, ErrorKind.NOT_FOUND),
        ("/status/409", {}, ErrorKind.CONFLICT),
        ("/status/418", {}, ErrorKind.INVALID),
        ("/status/429", {}, ErrorKind.RATE_LIMITED),
        ("/status/500", {}, ErrorKind.UNAVAILABLE),
        ("/redirect/1", {}, ErrorKind.MALFORMED),
        ("/html", {}, ErrorKind.MALFORMED),
        ("/image/png", {}, ErrorKind.MALFORMED),
        ("/brotli", {}, ErrorKind.MALFORMED),
    ],
)
async def test_what_goes_wrong_says_what(httpbin: HttpBin, path: str, options: dict[str, Any], kind: ErrorKind) -> None:
    """And that a read did nothing."""
    error = await refused(httpbin, get(path), **options)
    assert (error.kind, error.happened) == (kind, Happened.NO)


@failing
async def test_what_is_late_is_left_at_the_deadline(httpbin: HttpBin) -> None:
    """Of a write nobody knows what came of it; of a read it is known."""
    write = recipe({"method": "POST", "path": "/delay/5"}, {}, WRITE)
    error = await refused(httpbin, write, seconds=0.5)
    assert (error.kind, error.happened, error.attempts) == (ErrorKind.DEADLINE, Happened.UNKNOWN, 1)
    error = await refused(httpbin, get("/delay/5"), seconds=0.5)
    assert (error.kind, error.happened) == (ErrorKind.DEADLINE, Happened.NO)


@failing
@pytest.mark.parametrize(
    ("status", "happened"),
    [(400, Happened.NO), (404, Happened.NO), (429, Happened.NO), (500, Happened.UNKNOWN), (503, Happened.UNKNOWN)],
)
async def test_a_write_that_fails_says_whether_it_happened(httpbin: HttpBin, status: int, happened: Happened) -> None:
    """And is not tried again."""
    row = recipe({"method": "POST", "path": "/status/{code}"}, {"code": {"type": "integer"}}, WRITE, required=("code",))
    error = await refused(httpbin, row, arguments={"code": status})
    assert (error.happened, error.attempts) == (happened, 1)
