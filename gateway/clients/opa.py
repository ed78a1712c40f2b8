"""OPA over REST: the one home of opa_client. What the library adds of its own (retries, ambient proxies, redirects,
paths made of names) is turned off here, and none of its exceptions leaves.
"""

import contextlib
import json
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import aiohttp
from opa_client.opa_async import AsyncOpaClient  # type: ignore[import-untyped]

from adapters.base import Fault
from gateway.clients.deadline import within
from gateway.settings.part import UNIX
from gateway.watched import FileUnusable

MAX_ANSWER_BYTES = 1024 * 1024
MAX_CONNECTIONS = 64
"""Who has to wait for one waits within the deadline of the request."""
MAX_REVISION = 256
_MAX_SENTENCE = 300
_SECRET = re.compile(r"""(?<=//)[^/\s@"]*@|[?][^\s"]*""")
"""What may be secret in a URL: user and password, and the query."""
_CHUNK_BYTES = 64 * 1024

# Constants: the library builds paths unquoted, so a name in one could reach anything that OPA serves.
_DECISION = "/v1/data/gateway/authz/decision?provenance=true&strict-builtin-errors=true"
_ADMIN_DECISION = "/v1/data/gateway/admin/decision?provenance=true&strict-builtin-errors=true"
_STATUS = "/v1/status"
_HEALTH = "/health"
_Headers = Mapping[str, str]
_HEADERS: _Headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}


class OpaFailed(Exception):  # noqa: N818 - named for what it is
    """OPA gave no usable answer. The text is for operators only: it holds OPA's code and places in the policy,
    nothing of the input, no value and no token.
    """

    def __init__(self, sentence: str, fault: Fault) -> None:
        super().__init__(sentence)
        self.fault = fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What OPA said about one document."""

    is_defined: bool
    value: Any = field(default=None, repr=False)
    """What the rule evaluated to; None when it is undefined, and also when it is null."""
    revision: str
    """Of the wanted bundle, at the moment of this evaluation; empty when the bundle was not active."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleState:
    """How the wanted bundle stands in OPA."""

    revision: str
    """Empty when it is not active, or was built without one."""
    heard_at: float | None
    """When OPA last heard from its bundle service, in seconds since the epoch by OPA's clock; None for never."""
    error: str
    """Why the newest bundle could not be fetched or was refused; empty when all is well."""


class OpaClient:
    """Asks one OPA about one bundle. Use it on one loop. Every method raises nothing but `OpaFailed`."""

    def __init__(
        self,
        url: str,
        bundle: str,
        *,
        timeout_seconds: float,
        ca_file: Path | None = None,
        token: Callable[[], str] = lambda: "",
    ) -> None:
        """`url` is `unix:PATH`, `http://` or `https://`; `token` is asked at every request for a bearer token."""
        self._bundle = bundle
        self._timeout_seconds = timeout_seconds
        self._token = token
        self._rest = _Rest(url, ca_file)

    async def decide(self, input_json: bytes) -> Reply:
        """What the policy makes of this document, which is sent as it is."""
        return await self._decided(_DECISION, input_json)

    async def decide_admin(self, input_json: bytes) -> Reply:
        """The same by the rule that decides on operators."""
        return await self._decided(_ADMIN_DECISION, input_json)

    async def _decided(self, path: str, input_json: bytes) -> Reply:
        body = b"".join((b'{"input":', input_json, b"}"))
        answer = await self._ask("POST", path, self._timeout_seconds, body)
        bundles = _object(_object(answer.get("provenance", {})).get("bundles", {}))
        revision = _revision(_object(bundles.get(self._bundle, {})).get("revision", ""))
        return Reply(is_defined="result" in answer, value=answer.get("result"), revision=revision)

    async def bundle(self, timeout_seconds: float) -> BundleState:
        """How the bundle stands now, by OPA's status plugin."""
        answer = await self._ask("GET", _STATUS, timeout_seconds)
        bundles = _object(_object(answer.get("result", {})).get("bundles", {}))
        if self._bundle not in bundles:
            return BundleState(revision="", heard_at=None, error="OPA's configuration does not name the bundle")
        found = _object(bundles[self._bundle])
        return BundleState(
            revision=_revision(found.get("active_revision", "")),
            heard_at=_moment(found.get("last_successful_request", "")),
            error=_bundle_error(found),
        )

    async def check_health(self, timeout_seconds: float) -> None:
        """Return when OPA's process serves; that says nothing about any policy."""
        await self._ask("GET", _HEALTH, timeout_seconds)

    async def close(self) -> None:
        """Close every connection. The next request opens new ones."""
        await self._rest.close_connection()

    async def _ask(self, method: str, path: str, seconds: float, body: bytes | None = None) -> dict[str, Any]:
        """The answer's object. The deadline is one for everything: a connection, the answer's last byte."""
        with _failures():
            async with within(seconds):
                status, raw = await self._rest.exchange(method, path, body, self._authorization())
        if status != 200:
            raise _failed(status, raw)
        return _object(_parsed(raw))

    def _authorization(self) -> _Headers:
        token = self._token()
        return {**_HEADERS, "Authorization": f"Bearer {token}"} if token else _HEADERS


class _Rest(AsyncOpaClient):  # type: ignore[misc] # the library has no types
    """The library's client with a socket, a private CA, and without its retries."""

    def __init__(self, url: str, ca_file: Path | None) -> None:
        super().__init__(retries=0)
        self._session: aiohttp.ClientSession | None = None
        self._socket = url.removeprefix(UNIX) if url.startswith(UNIX) else ""
        parts = urlsplit("http://opa" if self._socket else url)
        self._base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._ca_file = ca_file

    async def exchange(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """Status and body of one request."""
        if self._session is None:
            await self._init_session()
        try:
            sent = self._request(method, self._base + path, data=body, headers=headers, allow_redirects=False)
            async with sent as response:
                return response.status, await _bounded(response.content)
        except aiohttp.ClientSSLError:
            await self.close_connection()  # the next request reads the CA file again: it may have been rotated
            raise

    async def close_connection(self) -> None:
        """The library would let others go on using the session while it closes."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _init_session(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=self._connection(),
            timeout=aiohttp.ClientTimeout(total=None),  # the caller's counts, the wait for a connection included
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("Accept", "User-Agent"),
        )

    def _connection(self) -> aiohttp.BaseConnector:
        if self._socket:
            return aiohttp.UnixConnector(self._socket, limit=MAX_CONNECTIONS)
        is_plain = self._base.startswith("http://")
        context = True if is_plain else ssl.create_default_context(cafile=self._ca_file)
        return aiohttp.TCPConnector(ssl=context, limit=MAX_CONNECTIONS)


async def _bounded(content: aiohttp.StreamReader) -> bytes:
    """The whole body. Raises `OpaFailed` when it is larger than an answer may be."""
    body = b""
    while chunk := await content.read(_CHUNK_BYTES):
        body += chunk  # nearly always the only one
        if len(body) > MAX_ANSWER_BYTES:
            raise OpaFailed(f"the answer is larger than {MAX_ANSWER_BYTES} bytes", Fault.MALFORMED)
    return body


_KINDS: tuple[tuple[type[Exception], str, Fault], ...] = (
    (TimeoutError, "OPA did not answer in time", Fault.TIMEOUT),
    (aiohttp.ClientSSLError, "OPA's certificate is not to be trusted", Fault.REFUSED),
    (aiohttp.ClientConnectorError, "OPA cannot be reached", Fault.REFUSED),
    (aiohttp.ClientConnectionError, "OPA broke the connection off", Fault.RESET),
    (aiohttp.ClientPayloadError, "OPA broke the connection off", Fault.RESET),
    (aiohttp.ClientError, "OPA's answer is not HTTP", Fault.MALFORMED),
)
"""The first that fits: each is also what some after it are."""


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Everything that can go wrong on the way, as `OpaFailed`."""
    try:
        yield
    except OpaFailed:
        raise
    except FileUnusable as error:
        raise OpaFailed(str(error), Fault.ERROR) from error
    except Exception as error:
        raise _failure_of(error) from error


def _failure_of(error: Exception) -> OpaFailed:
    for kind, sentence, fault in _KINDS:
        if isinstance(error, kind):
            return OpaFailed(sentence, fault)
    # No CA file, a token that no header can hold, a session that somebody else has just closed.
    return OpaFailed(f"OPA cannot be asked ({type(error).__name__})", Fault.ERROR)


def _failed(status: int, raw: bytes) -> OpaFailed:
    """What another status than 200 means, with what OPA says about it."""
    if status in {401, 403}:
        return OpaFailed("OPA refuses the gateway: its token is missing or wrong", Fault.REFUSED)
    if status < 400:
        return OpaFailed(f"OPA answered with status {status}", Fault.MALFORMED)
    return OpaFailed(f"OPA answered with status {status}{_told(raw)}", Fault.ERROR)


def _told(raw: bytes) -> str:
    """OPA's code and message, and the places of errors in the policy. The message of a single error may quote
    values of the input, so none is kept.
    """
    try:
        body = _object(_parsed(raw))
    except OpaFailed:
        return ""
    words = [_clean(body.get("code")), _clean(body.get("message"))]
    errors = body.get("errors")
    words += [_error(each) for each in errors[:4]] if isinstance(errors, list) else []
    return "".join(f": {word}" for word in words if word)[:_MAX_SENTENCE]


def _error(value: Any) -> str:
    error = value if isinstance(value, dict) else {}
    place = error.get("location")
    if not isinstance(place, dict):
        return _clean(error.get("code"))
    return f"{_clean(error.get('code'))} at {_clean(place.get('file'))}:{_clean(place.get('row'))}"


def _bundle_error(found: dict[str, Any]) -> str:
    """Code and message of a bundle's failure. The message may quote the address of the bundle service: what in
    it could be a secret goes.
    """
    if not found.get("code"):
        return ""
    return f"{_clean(found['code'])}: {_SECRET.sub('', _clean(found.get('message')))}"


def _clean(value: Any) -> str:
    """One line of printable text, cut."""
    text = str(value) if isinstance(value, str | int) else ""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:_MAX_SENTENCE]


def _moment(value: Any) -> float | None:
    """Seconds since the epoch; None for Go's zero time and for what is no time."""
    try:
        seconds = datetime.fromisoformat(value).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None


def _revision(value: Any) -> str:
    """It goes to audit lines, so it has to be short and printable; what is not counts as none."""
    return value if isinstance(value, str) and len(value) <= MAX_REVISION and value.isprintable() else ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else _malformed()


def _malformed(*_: object) -> NoReturn:
    raise OpaFailed("OPA's answer cannot be read", Fault.MALFORMED)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _malformed()


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_malformed)


def _parsed(raw: bytes) -> Any:
    """Strict JSON: a key that stands twice, or a number that JSON lacks, makes the whole unreadable."""
    try:
        return _DECODER.decode(raw.decode())
    except (ValueError, RecursionError) as error:
        raise OpaFailed("OPA's answer cannot be read", Fault.MALFORMED) from error
