"""Small documents by HTTP: key sets and policy bundles. Nothing ambient is honoured: no proxy, no .netrc, no
cookie, no redirect, no key log.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp

from adapters.base import Fault
from gateway.watched import FileUnusable, WatchedFile

CONNECTIONS = 16


class Fetched(NamedTuple):
    """What a server gave out. `is_same` when it says that nothing changed; the body is empty then."""

    body: bytes
    etag: str
    is_same: bool


class FetchFailed(Exception):  # noqa: N818 - named for what it is
    """Nothing was fetched. The text is one sentence for operators: no URL, no token, nothing of the body.

    `fault` is `refused` (unreachable, not to be trusted, or another status than 200), `timeout`, `reset` (broke
    off), `malformed` (no answer of HTTP, too large, or encoded) or `not_loaded` (a file of ours cannot be used).
    """

    def __init__(self, sentence: str, fault: Fault, status: int = 0) -> None:
        super().__init__(sentence)
        self.fault = fault
        self.status = status
        """Of the answer, when there was one that was not good."""


class HttpClient:
    """Fetches from one server. Use it on one loop."""

    def __init__(
        self,
        *,
        ca_file: Path | None = None,
        token: Callable[[], str] = lambda: "",
        timeout_seconds: float = 5.0,
        max_bytes: int = 1024 * 1024,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ca_file` holds who may vouch for the server, PEM, and is read again when it changes; without it the
        machine's own certificates do. `token` is asked at every request for a bearer token; empty sends none; it
        may raise `FileUnusable`. `timeout_seconds` is for the whole of one fetch, `max_bytes` for its body.
        """
        self._ca = WatchedFile(ca_file, monotonic) if ca_file is not None else None
        self._token = token
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._trusted: bytes | None = None
        self._context: ssl.SSLContext | None = None
        self._session: aiohttp.ClientSession | None = None

    def check(self) -> None:
        """Raises `FetchFailed` when the CA file cannot be used. Asks nobody."""
        self._tls()

    async def get(self, url: str, *, etag: str = "") -> Fetched:
        """The document. Raises `FetchFailed`, also for a document that is larger than allowed."""
        headers = self._headers(etag)
        context = self._tls()
        with _mapped():
            async with asyncio.timeout(self._timeout_seconds):
                return await self._get(url, headers, context)

    async def post(self, url: str, body: bytes, *, content_type: str) -> bytes:
        """What the server says to this document. Raises `FetchFailed`; the server may have taken it all the same."""
        headers = self._headers("") | {"Content-Type": content_type}
        context = self._tls()
        with _mapped():
            async with asyncio.timeout(self._timeout_seconds):
                return await self._post(url, body, headers, context)

    async def close(self) -> None:
        """Close every connection. Calling it twice is harmless."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _get(self, url: str, headers: dict[str, str], context: ssl.SSLContext) -> Fetched:
        async with self._opened().get(url, headers=headers, ssl=context, allow_redirects=False) as response:
            etag = headers.get("If-None-Match", "")
            if response.status == 304 and etag:
                return Fetched(b"", etag, is_same=True)
            if response.status != 200:
                raise _bad_status(response.status)
            return Fetched(await self._body(response), response.headers.get("ETag", ""), is_same=False)

    async def _post(self, url: str, body: bytes, headers: dict[str, str], context: ssl.SSLContext) -> bytes:
        sent = self._opened().post(url, data=body, headers=headers, ssl=context, allow_redirects=False)
        async with sent as response:
            if not 200 <= response.status < 300:
                raise _bad_status(response.status)
            return await self._body(response)

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        """The body as it was sent. What is compressed is refused: it was not asked for, and may grow without end."""
        if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise FetchFailed("the server sent the document compressed, which was not asked for", Fault.MALFORMED)
        too_large = FetchFailed(f"the document is larger than {self._max_bytes} bytes", Fault.MALFORMED)
        if (response.content_length or 0) > self._max_bytes:
            raise too_large
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > self._max_bytes:
                raise too_large
        return bytes(body)

    def _headers(self, etag: str) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity"}
        if etag:
            headers["If-None-Match"] = etag
        try:
            token = self._token()
        except FileUnusable as error:
            raise FetchFailed(f"the token cannot be sent: {error}", Fault.NOT_LOADED) from error
        if token and not (token.isascii() and token.isprintable()):
            raise FetchFailed("the token cannot be sent: it holds more than printable ASCII", Fault.NOT_LOADED)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _tls(self) -> ssl.SSLContext:
        """Whom to trust now; made anew when the CA file has changed, and then no old connection is used again."""
        try:
            trusted = self._ca.read() if self._ca is not None else b""
            if self._context is None or trusted is not self._trusted:
                self._context, self._trusted = None, trusted
                self._context = _context_of(trusted if self._ca is not None else None)
        except FileUnusable as error:
            raise FetchFailed(f"the CA file cannot be used: {error}", Fault.NOT_LOADED) from error
        except (ssl.SSLError, ValueError) as error:
            raise FetchFailed("the CA file holds no certificates in PEM", Fault.NOT_LOADED) from error
        return self._context

    def _opened(self) -> aiohttp.ClientSession:
        """The session; made here because it belongs to the loop."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=CONNECTIONS)
            cookies = aiohttp.DummyCookieJar()
            # The deadline is our own. What is compressed is refused, so nothing of it need be unpacked before.
            self._session = aiohttp.ClientSession(
                connector=connector,
                trust_env=False,
                cookie_jar=cookies,
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self._session


def _bad_status(status: int) -> FetchFailed:
    return FetchFailed(f"the server answered with status {status}", Fault.REFUSED, status)


def _context_of(trusted: bytes | None) -> ssl.SSLContext:
    """Checks name and chain, TLS 1.2 or newer. `create_default_context` would honour SSLKEYLOGFILE as well."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if trusted is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        context.load_verify_locations(cadata=trusted.decode("ascii", "ignore"))  # comments may be in any language
    return context


@contextmanager
def _mapped() -> Iterator[None]:
    """Whatever the library raises, as `FetchFailed`. The most specific first: all of these are `OSError` as well."""
    try:
        yield
    except TimeoutError as error:
        raise FetchFailed("the server did not answer in time", Fault.TIMEOUT) from error
    except (aiohttp.ClientSSLError, aiohttp.ServerFingerprintMismatch, ssl.SSLError) as error:
        raise FetchFailed("no trusted TLS connection to the server comes about", Fault.REFUSED) from error
    except aiohttp.ClientConnectorError as error:
        raise FetchFailed("the server cannot be reached", Fault.REFUSED) from error
    except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, ConnectionError) as error:
        raise FetchFailed("the connection broke off before the whole answer was there", Fault.RESET) from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise FetchFailed(f"the answer cannot be read ({type(error).__name__})", Fault.MALFORMED) from error
