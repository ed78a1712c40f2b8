"""Fetching small documents: what is never done, and how every failure is named."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from fakes.authorities import Authority
from fakes.clock import FakeClock
from fakes.collector import collector
from fakes.http import (
    DocumentServer,
    bomb,
    breaking_off,
    chunked,
    document_server,
    dripping,
    hanging,
    redirecting,
    resetting,
    serving,
    setting_cookies,
)

from adapters.base import Fault
from gateway.clients.http import FetchFailed, HttpClient, _mapped
from gateway.watched import FileUnusable

TOKEN = "s3cr3t-token"


@pytest.fixture
async def server() -> AsyncIterator[DocumentServer]:
    async with document_server() as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    client = HttpClient(timeout_seconds=0.4, max_bytes=100_000, token=lambda: TOKEN)
    yield client
    await client.close()


async def failure(client: HttpClient, url: str, **more: Any) -> FetchFailed:
    """How the fetch fails; its words hold neither URL nor token."""
    with pytest.raises(FetchFailed) as caught:
        await client.get(url, **more)
    assert TOKEN not in repr(caught.value)
    assert "://" not in str(caught.value)
    return caught.value


async def test_a_document_comes_with_its_etag(server: DocumentServer, client: HttpClient) -> None:
    """Body and etag as the server has them; asked for uncompressed and with the token."""
    server.answer = serving(b'{"a":1}', etag='"v1"')
    assert await client.get(server.url) == (b'{"a":1}', '"v1"', False)
    assert server.seen[0]["Authorization"] == f"Bearer {TOKEN}"
    assert server.seen[0]["Accept-Encoding"] == "identity"


async def test_an_unchanged_document_is_said_to_be_the_same(server: DocumentServer, client: HttpClient) -> None:
    """304 to the etag that we have; a changed one comes whole."""
    server.answer = serving(b"one", etag='"v1"')
    assert await client.get(server.url, etag='"v1"') == (b"", '"v1"', True)
    server.answer = serving(b"two", etag='"v2"')
    assert await client.get(server.url, etag='"v1"') == (b"two", '"v2"', False)


async def test_not_modified_without_an_etag_is_no_answer(server: DocumentServer, client: HttpClient) -> None:
    """There is nothing that it could be the same as."""
    server.answer = serving(b"", status=304)
    assert (await failure(client, server.url)).fault is Fault.REFUSED


@pytest.mark.parametrize("status", [201, 204, 206, 401, 404, 429, 500, 503])
async def test_any_other_status_is_refused(status: int, server: DocumentServer, client: HttpClient) -> None:
    """The sentence names the status."""
    server.answer = serving(b"", status=status)
    failed = await failure(client, server.url)
    assert failed.fault is Fault.REFUSED
    assert str(status) in str(failed)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_never_followed(status: int, server: DocumentServer, client: HttpClient) -> None:
    """Nobody else learns the token."""
    async with document_server() as other:
        server.answer = redirecting(other.url, status)
        assert (await failure(client, server.url)).fault is Fault.REFUSED
        assert other.seen == []


async def test_a_document_that_says_it_is_too_large_is_not_read(server: DocumentServer, client: HttpClient) -> None:
    """By its Content-Length."""
    server.answer = serving(b" " * 100_001)
    failed = await failure(client, server.url)
    assert failed.fault is Fault.MALFORMED
    assert "100000 bytes" in str(failed)


async def test_a_document_that_turns_out_too_large_is_dropped(server: DocumentServer, client: HttpClient) -> None:
    """Without a Content-Length too; what just fits is read whole."""
    server.answer = chunked(110_000)
    assert "larger" in str(await failure(client, server.url))
    server.answer = chunked(100_000)
    assert len((await client.get(server.url)).body) == 100_000


async def test_a_compressed_answer_is_refused_unread(server: DocumentServer, client: HttpClient) -> None:
    """It was not asked for, and a few bytes can become fifty million."""
    server.answer = bomb()
    assert "compressed" in str(await failure(client, server.url))


@pytest.mark.parametrize("answer", [hanging, dripping])
async def test_the_deadline_is_for_the_whole(answer: Any, server: DocumentServer, client: HttpClient) -> None:
    """A server that says nothing, and one that never stops, cost the same."""
    server.answer = answer
    began = asyncio.get_running_loop().time()
    assert (await failure(client, server.url)).fault is Fault.TIMEOUT
    assert asyncio.get_running_loop().time() - began < 2


@pytest.mark.parametrize("answer", [resetting, breaking_off])
async def test_a_connection_that_breaks_is_a_reset(answer: Any, server: DocumentServer, client: HttpClient) -> None:
    """Before or within the answer. Half a document is none."""
    server.answer = answer
    assert (await failure(client, server.url)).fault is Fault.RESET


async def test_what_is_no_http_is_malformed(client: HttpClient) -> None:
    """As from a port that something else listens on."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as mail:
        port = mail.sockets[0].getsockname()[1]
        assert (await failure(client, f"http://127.0.0.1:{port}/")).fault is Fault.MALFORMED


async def test_nobody_there_is_refused(client: HttpClient) -> None:
    """And the next fetch is tried again."""
    async with document_server() as server:
        url = server.url
    assert (await failure(client, url)).fault is Fault.REFUSED
    async with document_server(port=int(url.split(":")[2].split("/")[0])) as server:
        assert (await client.get(server.url)).body == b"{}"


@pytest.mark.parametrize("url", ["http://", "no url", "http://127.0.0.1:99999/", "ftp://localhost/x", "http://[::"])
async def test_what_is_no_address_is_a_failure_like_any_other(url: str, client: HttpClient) -> None:
    """Settings refuse these; here nothing else than `FetchFailed` leaves either way."""
    with pytest.raises(FetchFailed):
        await client.get(url)


async def test_a_proxy_of_the_environment_is_not_asked(
    server: DocumentServer, client: HttpClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nor is .netrc read."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    async with document_server() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        without_token = HttpClient()
        await without_token.get(server.url)
        await without_token.close()
        assert proxy.seen == []
    assert "Authorization" not in server.seen[0]


async def test_no_cookie_is_kept(server: DocumentServer, client: HttpClient) -> None:
    """The second request is like the first. It goes by name: of bare addresses none are ever kept."""
    server.answer = setting_cookies
    for _ in range(2):
        await client.get(server.url.replace("127.0.0.1", "localhost"))
    assert "Cookie" not in server.seen[1]


async def test_the_token_is_asked_for_at_every_request(server: DocumentServer) -> None:
    """It may be rotated; an empty one is not sent."""
    tokens = iter(["one", "", "two"])
    client = HttpClient(token=lambda: next(tokens))
    for _ in range(3):
        await client.get(server.url)
    await client.close()
    assert [seen.get("Authorization") for seen in server.seen] == ["Bearer one", None, "Bearer two"]


@pytest.mark.parametrize("token", [f"{TOKEN}\r\nX-Evil: 1", f"{TOKEN}\u00e9", f"{TOKEN}\0"])
async def test_a_token_that_no_header_can_hold_is_not_sent(token: str, server: DocumentServer) -> None:
    """Nothing is asked, and the error does not quote it."""
    client = HttpClient(token=lambda: token)
    failed = await failure(client, server.url)
    assert (failed.fault, failed.__cause__, server.seen) == (Fault.NOT_LOADED, None, [])


async def test_a_token_file_that_is_gone_is_a_failure(server: DocumentServer) -> None:
    """The request is not made without it."""

    def gone() -> str:
        raise FileUnusable("/run/token cannot be read")

    failed = await failure(HttpClient(token=gone), server.url)
    assert (failed.fault, server.seen) == (Fault.NOT_LOADED, [])


async def test_only_the_named_authority_is_trusted(tmp_path: Path) -> None:
    """A certificate of its own authority passes; one of another, or for another name, does not."""
    mine, other = Authority(), Authority("Other")
    trusting = HttpClient(ca_file=mine.write(tmp_path / "ca.pem"))
    for authority, name, is_good in (
        (mine, "localhost", True),
        (other, "localhost", False),
        (mine, "elsewhere", False),
    ):
        async with document_server(authority.server_context(tmp_path, name)) as server:
            if is_good:
                assert (await trusting.get(server.url)).body == b"{}"
            else:
                assert (await failure(trusting, server.url)).fault is Fault.REFUSED
                assert server.seen == []
    await trusting.close()


async def test_the_machines_own_authorities_do_not_vouch_for_a_private_one(tmp_path: Path) -> None:
    """Without a CA file a private authority is a stranger."""
    async with document_server(Authority().server_context(tmp_path)) as server:
        client = HttpClient()
        assert (await failure(client, server.url)).fault is Fault.REFUSED
        await client.close()


async def test_plain_http_at_a_tls_port_and_the_reverse_are_failures(server: DocumentServer, tmp_path: Path) -> None:
    """Neither hangs, neither passes."""
    authority = Authority()
    client = HttpClient(ca_file=authority.write(tmp_path / "ca.pem"), timeout_seconds=2)
    async with document_server(authority.server_context(tmp_path)) as encrypted:
        await failure(client, encrypted.url.replace("https", "http"))
    await failure(client, server.url.replace("http", "https"))
    await client.close()


async def test_a_rotated_authority_holds_within_a_second(tmp_path: Path) -> None:
    """A connection that the former one vouched for is not used again."""
    old, new, clock = Authority(), Authority("New"), FakeClock()
    ca_file = old.write(tmp_path / "ca.pem")
    client = HttpClient(ca_file=ca_file, monotonic=clock.monotonic)
    async with document_server(old.server_context(tmp_path)) as server:
        await client.get(server.url)
        new.write(ca_file)
        clock.advance(1)
        assert (await failure(client, server.url)).fault is Fault.REFUSED
    async with document_server(new.server_context(tmp_path)) as server:
        assert (await client.get(server.url)).body == b"{}"
    await client.close()


@pytest.mark.parametrize("content", [None, b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END"])
async def test_a_ca_file_that_cannot_be_used_is_a_sentence(content: bytes | None, tmp_path: Path) -> None:
    """At `check` and at every fetch; the file may come later."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    clock = FakeClock()
    client = HttpClient(ca_file=path, monotonic=clock.monotonic)
    for _ in range(2):
        with pytest.raises(FetchFailed, match="CA file") as caught:
            client.check()
        assert caught.value.fault is Fault.NOT_LOADED
    assert (await failure(client, "https://localhost:1/")).fault is Fault.NOT_LOADED
    Authority().write(path)
    clock.advance(1)
    client.check()


async def test_comments_around_certificates_do_no_harm(tmp_path: Path) -> None:
    """Bundles name authorities in every language."""
    path = tmp_path / "ca.pem"
    path.write_bytes("# Főtanúsítvány\n".encode() + Authority().pem)
    HttpClient(ca_file=path).check()


async def test_closing_twice_is_harmless(server: DocumentServer, client: HttpClient) -> None:
    """Also before anything was fetched, and a client can be used again."""
    await client.close()
    await client.get(server.url)
    await client.close()
    await client.close()


async def test_a_caller_that_goes_away_is_not_told_of_a_timeout(server: DocumentServer, client: HttpClient) -> None:
    """Cancelling is cancelling."""
    server.answer = hanging
    fetching = asyncio.create_task(client.get(server.url))
    await server.is_asked.wait()
    fetching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetching


def _every(kind: type[BaseException]) -> set[type[BaseException]]:
    return {kind}.union(*map(_every, kind.__subclasses__()))


def test_every_exception_of_the_library_is_ours_outside() -> None:
    """Whatever aiohttp can raise, now and in its next version, becomes `FetchFailed`."""
    kinds = [kind for kind in _every(aiohttp.ClientError) if kind.__module__.startswith("aiohttp")]
    assert len(kinds) > 20
    for kind in [*kinds, ssl.SSLError, ssl.SSLCertVerificationError, TimeoutError, OSError, UnicodeError]:
        with pytest.raises(FetchFailed), _mapped():
            raise kind.__new__(kind)


async def test_a_document_is_sent_and_the_answer_given_back(client: HttpClient) -> None:
    """With its kind; any good status is one."""
    async with collector() as made:
        made.answer = b"thanks"
        assert await client.post(made.url, b'{"a":1}', content_type="application/json") == b"thanks"
        assert made.requests == [{"a": 1}]
        assert made.headers[0]["Content-Type"] == "application/json"


@pytest.mark.parametrize("status", [301, 400, 404, 503])
async def test_a_document_that_is_not_taken_is_told_with_the_status(status: int, client: HttpClient) -> None:
    """Whoever sends decides what it means."""
    async with collector() as made:
        made.status = status
        with pytest.raises(FetchFailed, match=f"status {status}") as caught:
            await client.post(made.url, b"{}", content_type="application/json")
        assert (caught.value.fault, caught.value.status) == (Fault.REFUSED, status)


async def test_a_server_that_hangs_on_what_it_is_sent_is_timed_out() -> None:
    """As for a fetch."""
    async with collector() as made:
        made.is_hanging = True
        client = HttpClient(timeout_seconds=0.05)
        with pytest.raises(FetchFailed) as caught:
            await client.post(made.url, b"{}", content_type="application/json")
        assert (caught.value.fault, caught.value.status) == (Fault.TIMEOUT, 0)
        await client.close()
