"""Small documents by HTTP: key sets and policy bundles. Nothing ambient is honoured: no proxy, no .netrc, no
redirect.
"""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import aiohttp

from adapters.base import Fault


class Fetched(NamedTuple):
    """What a server gave out. `is_same` when it says that nothing changed; the body is empty then."""

    body: bytes
    etag: str
    is_same: bool


class FetchFailed(Exception):  # noqa: N818 - named for what it is
    """Nothing was fetched. The text is one sentence for operators: no URL, no token, nothing of the body."""

    def __init__(self, sentence: str, fault: Fault) -> None:
        super().__init__(sentence)
        self.fault = fault


class HttpClient:
    """Fetches from one server. Use it on one loop."""

    def __init__(
        self,
        *,
        ca_file: Path | None = None,
        token: Callable[[], str] = lambda: "",
        timeout_seconds: float = 5.0,
        max_bytes: int = 1024 * 1024,
    ) -> None:
        """`token` is asked at every request for a bearer token; empty sends none."""
        self._ca_file = ca_file
        self._token = token
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._session: aiohttp.ClientSession | None = None

    async def get(self, url: str, *, etag: str = "") -> Fetched:
        """The document. Raises `FetchFailed`, also for a document that is larger than allowed."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._get(url, etag)
        except TimeoutError as error:
            raise FetchFailed("the server did not answer in time", Fault.TIMEOUT) from error
        except aiohttp.ClientSSLError as error:
            raise FetchFailed("the server's certificate is not to be trusted", Fault.REFUSED) from error
        except aiohttp.ClientConnectorError as error:
            raise FetchFailed("the server cannot be reached", Fault.REFUSED) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise FetchFailed(f"the answer cannot be read ({type(error).__name__})", Fault.MALFORMED) from error

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _get(self, url: str, etag: str) -> Fetched:
        headers = {"If-None-Match": etag} if etag else {}
        if token := self._token():
            headers["Authorization"] = f"Bearer {token}"
        async with self._opened().get(url, headers=headers, allow_redirects=False) as response:
            if response.status == 304 and etag:
                return Fetched(b"", etag, is_same=True)
            if response.status != 200:
                raise FetchFailed(f"the server answered with status {response.status}", Fault.REFUSED)
            body = await response.content.read(self._max_bytes + 1)
            while len(body) <= self._max_bytes and (more := await response.content.read(self._max_bytes + 1)):
                body += more
            if len(body) > self._max_bytes:
                raise FetchFailed(f"the document is larger than {self._max_bytes} bytes", Fault.MALFORMED)
            return Fetched(body, response.headers.get("ETag", ""), is_same=False)

    def _opened(self) -> aiohttp.ClientSession:
        """The session; made here because it belongs to the loop. The CA file is read once for each session."""
        if self._session is None:
            context = ssl.create_default_context(cafile=self._ca_file)
            connector = aiohttp.TCPConnector(ssl=context, limit=4)
            cookies = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=connector, trust_env=False, cookie_jar=cookies)
        return self._session
