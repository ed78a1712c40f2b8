"""Rows of `http_api` against servers of our own: what goes out, what comes back, and what never does."""

import asyncio
import gzip
import logging
import traceback
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import pytest
import yaml
from fakes.clock import FakeClock
from fakes.recipes.http_api import (
    NOTE,
    NOTE_ARGUMENTS,
    NOTE_OPTIONS,
    NOTE_PROPERTIES,
    TEXT,
    WELL,
    build,
    recipe,
    target,
)
from fakes.vendor import CREDENTIAL, Answer, Said, VendorServer, vendor_server

from adapters.base import (
    AdapterError,
    ArgumentProblem,
    ErrorKind,
    Happened,
    Invocation,
    Output,
    Secret,
    SideEffect,
    Target,
)
from adapters.http_api.adapter import HttpApiAdapter
from adapters.recipes import Recipe, RecipeProblem

BEARER = {"auth": {"kind": "bearer"}}
READ = SideEffect.READ


@dataclass
class Bench:
    """An adapter before one server."""

    adapter: HttpApiAdapter
    port: int
    clock: FakeClock
    learned: list[str] = field(default_factory=list)

    async def ask(
        self,
        row: Recipe,
        arguments: Mapping[str, Any],
        *,
        connection: Target | None = None,
        credential: str | None = CREDENTIAL,
        seconds: float = 5.0,
    ) -> Output:
        """Make, prepare and carry out."""
        operation = self.adapter.make(row)
        invocation = Invocation(
            arguments=operation.prepare(dict(arguments)),
            target=connection or target(self.port, **BEARER),
            credential=None if credential is None else Secret(credential),
            deadline=self.clock.monotonic() + seconds,
            effect_id="eff-1",
            learn=lambda secret: self.learned.append(secret.reveal()),
            assertion=self._assertion,
        )
        return await operation.invoke(invocation)

    async def fail(self, row: Recipe, arguments: Mapping[str, Any], **more: Any) -> AdapterError:
        """The error that it ends with."""
        with pytest.raises(AdapterError) as caught:
            await self.ask(row, arguments, **more)
        return caught.value

    async def _assertion(self) -> Secret:
        return Secret("header.claims.signature")


@asynccontextmanager
async def bench(port: int) -> AsyncIterator[Bench]:
    """Closed when the block ends."""
    clock = FakeClock(sleeps_pass=True)
    adapter = build(clock, port)
    try:
        yield Bench(adapter, port, clock)
    finally:
        await adapter.close()


@asynccontextmanager
async def service(answer: Answer | Said) -> AsyncIterator[tuple[Bench, VendorServer]]:
    """A service that answers so, and the adapter before it."""
    async with vendor_server(answer) as server, bench(server.port) as one:
        yield one, server


def reading(path: str, **options: Any) -> Recipe:
    """A row that gets something, by an argument `name`."""
    required = ("name",) if "name" in path else ()
    return recipe({"method": "GET", "path": path, **options}, dict.fromkeys(required, TEXT), READ, required=required)


# -- what goes out ------------------------------------------------------------------------------------


async def test_a_request_is_what_the_row_says() -> None:
    """Method, path, query, headers and body; the answer's part is the result."""
    async with service(Said(WELL, 201)) as (one, server):
        output = await one.ask(NOTE, NOTE_ARGUMENTS)
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/api/v1/customers/c-7/notes")
    assert asked.query == {"expand": ["owner"], "tag": ["a", "b"]}
    assert asked.json == {"text": "Called.", "source": "agent"}
    assert asked.headers["X-Reason"] == "follow-up"
    assert asked.headers["Content-Type"] == "application/json"
    assert asked.headers["Authorization"] == f"Bearer {CREDENTIAL}"
    assert output.structured == {"id": "n-1"}
    assert output.receipt == "POST /v1/customers/{customer_id}/notes was answered with HTTP 201."


async def test_a_connections_headers_are_in_every_request() -> None:
    """And its assertion of who calls, where it has an audience."""
    async with service(Said(WELL)) as (one, server):
        connection = target(one.port, audience="crm", headers={"x-api-version": "2"}, **BEARER)
        await one.ask(NOTE, NOTE_ARGUMENTS, connection=connection)
    (asked,) = server.asked
    assert asked.headers["X-Api-Version"] == "2"
    assert asked.headers["Tollhouse-Assertion"] == "header.claims.signature"


async def test_a_key_makes_a_write_repeatable() -> None:
    """Each time with the same one."""
    answers = iter([Said(status=503), Said(WELL)])
    row = recipe({**NOTE_OPTIONS, "key_header": "Idempotency-Key"}, NOTE_PROPERTIES, required=("customer_id",))
    async with service(lambda _asked: next(answers)) as (one, server):
        output = await one.ask(row, NOTE_ARGUMENTS)
    assert [asked.headers["Idempotency-Key"] for asked in server.asked] == ["eff-1", "eff-1"]
    assert output.attempts == 2


async def test_a_post_that_is_a_read_is_repeated() -> None:
    """What it does to the world is what the row says, and not its method."""
    answers = iter([Said(status=502), Said({"hits": []})])
    body = {"type": "json", "content": {"argument": ""}}
    row = recipe({"method": "POST", "path": "/search", "body": body}, {"q": TEXT}, READ)
    async with service(lambda _asked: next(answers)) as (one, _):
        assert (await one.ask(row, {"q": "x"})).structured == {"hits": []}


async def test_a_row_may_not_say_what_its_connection_says() -> None:
    """Nothing is sent, and nobody's header wins over the credential's."""
    row = reading("/{name}", headers={"X-Key": {"argument": "/name"}}, query={"api_key": {"value": "x"}})
    async with service(Said({})) as (one, server):
        header = {"kind": "header", "name": "x-key"}
        query = {"kind": "query", "name": "api_key"}
        for auth in (header, {**header, "name": "X_KEY"}, query, {**query, "name": "API_KEY"}):
            error = await one.fail(row, {"name": "a"}, connection=target(one.port, auth=auth))
            assert (error.kind, error.happened) == (ErrorKind.INVALID, Happened.NO)
            assert "row" in error.message
    assert server.asked == []


async def test_prepared_arguments_of_an_older_row_are_refused() -> None:
    """A call that waited for its approval may meet a row that has changed."""
    async with service(Said({})) as (one, server):
        invocation = Invocation(
            arguments={"other": 1},
            target=target(one.port),
            credential=None,
            deadline=one.clock.monotonic() + 5,
            effect_id="e",
        )
        with pytest.raises(AdapterError) as caught:
            await one.adapter.make(reading("/{name}")).invoke(invocation)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.INVALID, Happened.NO)
    assert server.asked == []


# -- what comes back ----------------------------------------------------------------------------------


async def test_a_text_and_nothing() -> None:
    """As the row says; HEAD brings nothing but that it is there."""
    async with service(Said(body=b"hello", headers={"Content-Type": "text/plain"})) as (one, server):
        assert (await one.ask(reading("/a", answer={"type": "text"}), {})).structured == {"text": "hello"}
        assert (await one.ask(reading("/a", answer={"type": "none"}), {})).structured == {}
        head = recipe({"method": "HEAD", "path": "/a"}, {}, READ)
        assert (await one.ask(head, {})).structured == {}
    assert [asked.headers["Accept"] for asked in server.asked] == ["*/*"] * 3


@pytest.mark.parametrize("status", [200, 201, 202, 204])
async def test_a_write_without_an_answer_is_done(status: int) -> None:
    """Its receipt says so."""
    row = recipe({"method": "DELETE", "path": "/a"}, {})
    async with service(Said(body=b"", status=status)) as (one, _):
        output = await one.ask(row, {})
    assert output.structured is None
    assert str(status) in output.receipt


async def test_a_redirect_is_not_followed() -> None:
    """Wherever it leads: the credential stays here."""
    async with service(Said(status=302, headers={"Location": "http://evil.test/"})) as (one, server):
        read = await one.fail(reading("/a"), {})
        write = await one.fail(NOTE, NOTE_ARGUMENTS)
    assert (read.kind, read.happened) == (ErrorKind.MALFORMED, Happened.NO)
    assert (write.kind, write.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)
    assert len(server.asked) == 2


async def test_an_answer_that_grows_while_it_is_unpacked_is_cut() -> None:
    """A few bytes can be a gigabyte."""
    bomb = gzip.compress(b" " * (64 * 1024 * 1024))
    async with service(Said(body=bomb, headers={"Content-Encoding": "gzip"})) as (one, _):
        assert (await one.fail(reading("/a"), {})).kind is ErrorKind.TOO_LARGE


async def test_a_service_that_wants_a_pause_gets_it() -> None:
    """For all rows of the account, and for no other account."""
    async with service(Said(status=429, headers={"Retry-After": "600"})) as (one, server):
        first = await one.fail(NOTE, NOTE_ARGUMENTS)
        second = await one.fail(reading("/a", answer={"type": "text"}), {})
        assert len(server.asked) == 1
        base = target(one.port, **BEARER)
        other = Target(name="crm", account="other/crm", hosts=base.hosts, options=base.options)
        await one.fail(NOTE, NOTE_ARGUMENTS, connection=other)
        assert len(server.asked) == 2
    assert first.kind is second.kind is ErrorKind.RATE_LIMITED
    assert second.retry_after_seconds == pytest.approx(600, abs=1)


async def test_a_service_that_fails_again_and_again_is_left_alone() -> None:
    """A circuit of its account opens."""
    async with service(Said(status=500)) as (one, server):
        kinds = [(await one.fail(NOTE, NOTE_ARGUMENTS)).kind for _ in range(6)]
        assert one.adapter.open_circuits == 1
    assert kinds == [ErrorKind.UNAVAILABLE] * 5 + [ErrorKind.CIRCUIT_OPEN]
    assert len(server.asked) == 5


BROKEN = {
    "cut off": b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{",
    "in a way that nobody asked for": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Encoding: br\r\n\r\n{}",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nx",
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("kind", ["json", "text"])
async def test_an_answer_that_was_not_read_tells_nothing(name: str, kind: str) -> None:
    """Its status may be that of a proxy, with a page of its own; so nobody knows whether the effect is there."""
    row = recipe({"method": "POST", "path": "/a", "answer": {"type": kind}}, {})
    async with wire(BROKEN[name]) as (one, _):
        error = await one.fail(row, {})
    assert (error.happened, error.attempts) == (Happened.UNKNOWN, 1)


async def test_an_answer_that_nobody_wants_to_read_need_not_be_readable() -> None:
    """Where the row has it that the status is enough, it is."""
    row = recipe({"method": "POST", "path": "/a", "answer": {"type": "none"}}, {})
    async with wire(BROKEN["cut off"]) as (one, _):
        assert (await one.fail(row, {})).happened is Happened.YES


async def test_a_request_without_a_body_has_no_type_of_one() -> None:
    """Nothing but what the row says is in a request."""
    async with wire() as (one, received):
        await one.ask(recipe({"method": "POST", "path": "/a", "answer": {"type": "none"}}, {}), {})
    assert b"content-type" not in received.received.lower()


# -- attacks ------------------------------------------------------------------------------------------


@dataclass
class Wire:
    """What arrived, byte for byte."""

    says: bytes
    port: int = 0
    received: bytearray = field(default_factory=bytearray)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        self.received += await reader.readuntil(b"\r\n\r\n")
        writer.write(self.says)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def wire(
    says: bytes = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
) -> AsyncIterator[tuple[Bench, Wire]]:
    """A server that keeps what it hears."""
    one = Wire(says)
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
    one.port = server.sockets[0].getsockname()[1]
    try:
        async with bench(one.port) as at:
            yield at, one
    finally:
        server.close()
        await server.wait_closed()


EVIL = (
    *("//evil.test/x", "@evil.test", "evil.test:80", "http://evil.test/", "\\\\evil.test", "?admin=1", "#x", "a?b#c"),
    *(
        "/etc",
        "a/b",
        "a;b",
        "%2f",
        "a&b=c",
        "HTTP/1.1",
        "x HTTP/1.1",
        "a%3fb",
        "\u2028",
        "\uff0f",
        "💚",
        "a:b",
        "{name}",
    ),
)


@pytest.mark.parametrize("text", EVIL, ids=ascii)
async def test_an_argument_stays_in_its_segment(text: str) -> None:
    """Or it is refused; the request line is the row's."""
    row = reading("/v1/{name}/end", query={"q": {"argument": "/name"}})
    async with wire() as (one, received):
        try:
            await one.ask(row, {"name": text})
        except ArgumentProblem:
            assert not received.received
            return
    line, *headers = received.received.decode().split("\r\n")
    method, place, version = line.split(" ")
    path, _, query = place.partition("?")
    assert (method, version) == ("GET", "HTTP/1.1")
    assert path.startswith("/api/v1/")
    assert path.endswith("/end")
    assert path.count("/") == 4
    assert query.count("=") == 1
    assert query.startswith("q=")
    assert "#" not in place
    assert f"Host: 127.0.0.1:{one.port}" in headers
    assert path.split("/")[3] == quote(text, safe="")


@pytest.mark.parametrize("text", ["a\r\nX-Evil: 1", "a\nb", "a\r", "\0", "a\x0b", "ä", "a\r\n\r\nGET / HTTP/1.1"])
async def test_an_argument_stays_in_its_header(text: str) -> None:
    """It is refused before anything is sent."""
    row = recipe({"method": "GET", "path": "/a", "headers": {"X-A": {"argument": "/name"}}}, {"name": TEXT}, READ)
    async with wire() as (one, received):
        with pytest.raises(ArgumentProblem):
            await one.ask(row, {"name": text})
    assert not received.received


async def test_no_proxy_netrc_or_cookie_is_in_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a request carries is what the row and the connection say."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with wire() as (one, received):
        await one.ask(reading("/a"), {}, connection=target(one.port), credential=None)
    names = [line.partition(":")[0] for line in received.received.decode().split("\r\n")[1:] if line]
    assert sorted(names) == ["Accept", "Accept-Encoding", "Host", "User-Agent"]


async def test_another_host_than_the_connections_is_not_reached() -> None:
    """A connection whose base URL is not among its hosts sends nothing."""
    async with service(Said({})) as (one, server):
        base = {"base_url": f"http://127.0.0.1:{one.port}", **BEARER}
        connection = Target(name="c", account="a/c", hosts=("api.vendor.example",), options=base)
        assert one.adapter.check_target(connection)
        assert (await one.fail(reading("/a"), {}, connection=connection)).kind is ErrorKind.ADDRESS_REFUSED
    assert server.asked == []


async def test_a_secret_in_the_query_is_in_no_error_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever goes wrong, whatever a service quotes, and however deep one looks."""
    caplog.set_level(logging.DEBUG)
    answers = [
        Said(cut=True),
        Said(status=500),
        Said({"q": CREDENTIAL}, 400),
        Said(body=b"<html>"),
        Said(status=302, headers={"Location": f"/?api_key={CREDENTIAL}"}),
        Said(body=b"x", headers={"Content-Encoding": "br"}),
    ]
    for answer in answers:
        async with service(answer) as (one, _):
            await _fail_in_silence(one)
    for words in (
        b"rubbish\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA" + b"a" * 99_999,
    ):
        async with wire(words) as (one, _):
            await _fail_in_silence(one)
    async with bench(1) as one:
        await _fail_in_silence(one)
    ours = [record.getMessage() for record in caplog.records if record.name != "aiohttp.access"]  # not the servers'
    assert not [message for message in ours if CREDENTIAL in message]


async def _fail_in_silence(one: Bench) -> None:
    error = await one.fail(reading("/a"), {}, connection=target(one.port, auth={"kind": "query", "name": "api_key"}))
    shown = "".join(traceback.format_exception(error))
    assert CREDENTIAL not in f"{shown} {error!r} {error.__dict__} {error.__cause__!r} {error.__context__!r}"


async def test_a_secret_in_the_query_is_escaped() -> None:
    """It is one value, whatever is in it."""
    async with wire() as (one, received):
        connection = target(one.port, auth={"kind": "query", "name": "api key"})
        await one.ask(reading("/a"), {}, connection=connection, credential="a&b=c#d+e%20")
    place = received.received.decode().split(" ")[1]
    assert parse_qs(place.partition("?")[2]) == {"api key": ["a&b=c#d+e%20"]}


# -- connections and rows -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "base_url"),
        ({"base_url": "http://crm.example.com/"}, "https"),
        ({"base_url": "https://other.example.com/"}, "hosts"),
        ({"base_url": "https://crm.example.com/?a=b"}, "query"),
        ({"base_url": "https://bot:pw@crm.example.com/"}, "user name"),
        ({"base_url": "https://crm.example.com/", "token": "x"}, "token"),
        ({"base_url": "https://crm.example.com/", "auth": {"kind": "digest"}}, "auth/kind"),
        ({"base_url": 7}, "base_url"),
    ],
)
def test_a_connection_that_cannot_be_used_is_told_of(options: dict[str, Any], words: str) -> None:
    """When it is loaded."""
    connection = Target(name="crm", hosts=("crm.example.com",), options=options)
    problems = build(FakeClock(), 1).check_target(connection)
    assert any(words in problem for problem in problems), problems


def test_the_example_of_the_documentation_works() -> None:
    """Its connection has no problem, and its rows make operations that take what they say."""
    page = (Path(__file__).parents[4] / "docs" / "http_api.md").read_text("utf-8")
    rows = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])
    adapter = build(FakeClock(), 1)
    (connection,) = rows["connections"]
    as_target = Target(name="crm", hosts=tuple(connection["hosts"]), options=connection["options"])
    assert adapter.check_target(as_target) == []
    made = [adapter.make(_recipe_of(row)) for row in rows["tools"]]
    assert [one.upstream for one in made] == ["POST /v1/customers/{customer_id}/notes", "POST /v1/customers/search"]
    assert [one.has_native_key for one in made] == [True, False]
    made[0].prepare({"customer_id": "c-7", "text": "Called."})


def _recipe_of(row: dict[str, Any]) -> Recipe:
    return Recipe(
        tool=row["name"],
        operation=row["binding"]["operation"],
        side_effect=SideEffect(row["side_effect"]),
        options=row["binding"]["options"],
        input_schema=row["input_schema"],
        output_schema=row.get("output_schema"),
    )


def test_an_operation_says_what_stands_behind_it() -> None:
    """For the audit: the row's own words."""
    operation = build(FakeClock(), 1).make(NOTE)
    assert operation.upstream == "POST /v1/customers/{customer_id}/notes"
    assert not operation.needs_credential
    assert operation.reconcile is None


def test_a_bad_row_makes_nothing() -> None:
    """And says where it is bad."""
    with pytest.raises(RecipeProblem) as caught:
        build(FakeClock(), 1).make(recipe({"method": "GET"}, {}, READ))
    assert "/path" in str(caught.value)
