"""A vendor's HTTP API that speaks JSON: what is asked of it, and what its answers mean.

An adapter says what is particular to its vendor (`Vendor`) and asks (`Api.ask`). What all have in common is here:
the base URL of a connection, proof of who asks, pauses that the vendor wanted, sizes, and answers that are no JSON.
"""

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import quote, urlencode

import orjson

from adapters.base import (
    AdapterError,
    Clock,
    ErrorKind,
    Fault,
    Happened,
    Invocation,
    Operation,
    Pauses,
    Target,
    TokenStore,
)
from adapters.transport.authorisation import Authorises
from adapters.transport.client import Transport
from adapters.transport.failures import status_error
from adapters.transport.messages import Request, Response
from adapters.transport.retry import MAX_RETRY_AFTER_SECONDS
from adapters.transport.urls import UrlProblem, WebUrl, canonical_url

MAX_BYTES = 4 * 1024 * 1024
"""How much of an answer is read."""
USER_AGENT = "tollhouse/0.1"
Words = Mapping[int, tuple[ErrorKind, str]]
"""By HTTP status: the kind of error and our own sentence for the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to a vendor's API. What it carries may be private and is never printed."""

    method: str = "GET"
    path: str
    """What comes after the base URL, beginning with a slash: make it by `path_of` when an argument is in it."""
    query: Mapping[str, str | int | bool | list[str] | None] = field(default_factory=dict, repr=False)
    """A None is left out, a bool is `true` or `false`, a list is one parameter for each."""
    json: Any = field(default=None, repr=False)
    form: Mapping[str, str] | None = field(default=None, repr=False)
    """Instead of `json`: a form in the body."""
    body: bytes | None = field(default=None, repr=False)
    """Instead of both: bytes, whose type stands in `headers`."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_read: bool = False
    """It changes nothing, although it is no GET."""
    has_native_key: bool = False
    """It carries a key by which the vendor tells repetitions apart, so it may be repeated."""
    max_bytes: int = MAX_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer with any status. `value` is the parsed JSON; None when there is none."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    value: Any = field(repr=False)
    happened: Happened
    """What the status alone says of the effect."""
    retry_after_seconds: float | None = None
    attempts: int = 1

    def error(
        self, kind: ErrorKind, message: str, *, happened: Happened | None = None, wait: float | None = None
    ) -> AdapterError:
        """The answer as an error, in our own words: nothing of what the vendor says may be in the message."""
        return AdapterError(
            kind,
            message,
            happened=self.happened if happened is None else happened,
            fault=Fault.ERROR if kind is ErrorKind.UNAVAILABLE else None,
            retry_after_seconds=_clamped(self.retry_after_seconds if wait is None else wait),
            attempts=self.attempts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A vendor wants to be left alone for so long: the whole account, or the part of it that `name` is for."""

    seconds: float
    name: str = ""
    is_of_call: bool = False
    """It is the part that the call itself counts to (the `limit` of `Api.ask`), whatever it is called."""


def judge_by_status(reply: Reply) -> AdapterError | None:
    """The error that an HTTP status is; None for a 2xx."""
    return by_status(reply, {})


def by_status(reply: Reply, words: Words) -> AdapterError | None:
    """The error that an HTTP status is, in the vendor's own terms where `words` has them; None for a 2xx."""
    if 200 <= reply.status < 300:
        return None
    kind, message = words.get(reply.status) or _WORDS.get(reply.status) or (None, "")
    if kind is not None:
        return reply.error(kind, message)
    error = status_error(reply.status, reply.happened, reply.retry_after_seconds)
    assert error is not None
    error.attempts = reply.attempts
    return error


_WORDS: Words = {
    400: (ErrorKind.INVALID, "The vendor does not take these arguments; check each against the tool's description."),
    401: (
        ErrorKind.NEEDS_AUTHORISATION,
        "The vendor does not accept the connection's credential; its operator has to authorise the connection again.",
    ),
    403: (ErrorKind.FORBIDDEN, "The connection's account may not do this at the vendor; an operator can extend it."),
    404: (ErrorKind.NOT_FOUND, "The vendor knows nothing by this name, or hides it from the connection's account."),
    409: (ErrorKind.CONFLICT, "It was changed meanwhile, or is there already; read it again before the next try."),
    422: (ErrorKind.INVALID, "The vendor does not take these arguments; check each against the tool's description."),
    429: (ErrorKind.RATE_LIMITED, "The vendor asks for fewer calls of this account; wait before the next one."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """What is particular to one vendor's API."""

    base_url: str
    """Where it is when a connection's options name no `base_url`."""
    authorises: Authorises
    judge: Callable[[Reply], AdapterError | None] = judge_by_status
    """The error that an answer is; None when all is well. Asked of every answer, whatever its status."""
    pauses: Callable[[Reply, float], Iterable[Pause]] = lambda _reply, _now: ()
    """What an answer's headers say of when to ask again; the second argument is now, in seconds since the epoch."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """In every request."""


class Api:
    """Asks one vendor."""

    def __init__(self, vendor: Vendor, transport: Transport, clock: Clock, pauses: Pauses) -> None:
        self._vendor = vendor
        self._transport = transport
        self._clock = clock
        self._pauses = pauses

    async def ask(self, invocation: Invocation, call: Call, *, limit: str = "") -> Reply:
        """The answer, when it is a good one. `limit` names the part of the vendor's limits that the call counts to.

        Raises `AdapterError`: what the vendor's answer means, `rate_limited` at once while the vendor wants to be
        left alone, `too_large` and `malformed` for an answer that cannot be used.
        """
        await self._check_pauses(invocation, limit)
        headers = await self._vendor.authorises.headers(invocation)
        try:
            return await self._asked(invocation, call, headers, limit)
        except AdapterError as error:
            if error.kind is not ErrorKind.NEEDS_AUTHORISATION or error.happened is not Happened.NO:
                raise
            renewed = await self._vendor.authorises.renewed(invocation, headers)
            if renewed is None:
                raise
        return await self._asked(invocation, call, renewed, limit)

    async def _asked(self, invocation: Invocation, call: Call, proof: Mapping[str, str], limit: str) -> Reply:
        response = await self._transport.send(self._request(invocation, call, proof))
        reply = _reply(response)
        await self._note(invocation, reply, limit)
        error = self._vendor.judge(reply)
        if error is not None:
            raise error
        return reply

    def _request(self, invocation: Invocation, call: Call, proof: Mapping[str, str]) -> Request:
        body, kind = _body(call)
        return Request(
            method=call.method,
            url=url_of(invocation.target, self._vendor.base_url, call),
            headers={
                "Accept": "application/json",
                "User-Agent": USER_AGENT,
                **kind,
                **self._vendor.headers,
                **_checked(call.headers),
                **proof,
            },
            body=body,
            deadline=invocation.deadline,
            circuit=invocation.target.account or invocation.target.name,
            max_bytes=call.max_bytes,
            hosts=invocation.target.hosts,
            is_read=call.is_read,
            follows=False,
            has_native_key=call.has_native_key,
        )

    async def _check_pauses(self, invocation: Invocation, limit: str) -> None:
        wait = await self._pauses.seconds_left([_pause_name(invocation, name) for name in {"", limit}])
        if wait > 0:
            message = "The vendor wants fewer calls of this account, so it was not asked; wait before the next one."
            raise AdapterError(ErrorKind.RATE_LIMITED, message, happened=Happened.NO, retry_after_seconds=wait)

    async def _note(self, invocation: Invocation, reply: Reply, limit: str) -> None:
        if reply.status == 429 and reply.retry_after_seconds:
            await self._pauses.pause(_pause_name(invocation, limit), reply.retry_after_seconds)
        for pause in self._vendor.pauses(reply, self._clock.now()):
            name = limit if pause.is_of_call else pause.name
            await self._pauses.pause(_pause_name(invocation, name), _clamped(pause.seconds) or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiParts:
    """What an adapter of a JSON API is handed. Its transport is its own, and closed by it."""

    clock: Clock
    transport: Transport
    pauses: Pauses
    tokens: TokenStore


class ApiAdapter:
    """What adapters of JSON APIs have in common. Each says its name and its operations."""

    name: str
    operations: Mapping[str, Operation]

    def __init__(self, vendor: Vendor, parts: ApiParts, *, options: Iterable[str] = ()) -> None:
        """`options` are those of a connection beside `base_url`."""
        self._vendor = vendor
        self._transport = parts.transport
        self._options = tuple(options)
        self.api = Api(vendor, parts.transport, parts.clock, parts.pauses)

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection; empty when all is well."""
        return target_problems(target, self._vendor.base_url, self._options)

    @property
    def open_circuits(self) -> int:
        """How many of the vendor's servers are left alone for the moment."""
        return self._transport.open_circuits

    async def close(self) -> None:
        """Let go of connections."""
        await self._transport.close()


def path_of(form: str, *segments: str | int) -> str:
    """The path with each `{}` filled by one segment that stays one, whatever is in it.

    Raises `AdapterError` (invalid) for a segment that is empty or would lead elsewhere (`.`, `..`).
    """
    for segment in segments:
        if str(segment).strip(".") == "":
            message = "An argument that names something at the vendor is empty or only dots."
            raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO)
    with _fitting():
        return form.format(*(quote(str(segment), safe="") for segment in segments))


def url_of(target: Target, base_url: str, call: Call) -> WebUrl:
    """Where the call goes, for a connection. Raises `AdapterError` (invalid) when that is no URL."""
    query = [
        (name, _plain(one))
        for name, value in call.query.items()
        if value is not None
        for one in (value if isinstance(value, list) else [value])
    ]
    base = str(target.options.get("base_url", base_url)).rstrip("/")
    with _fitting():
        return canonical_url(f"{base}{call.path}" + (f"?{urlencode(query, quote_via=quote)}" if query else ""))


@contextmanager
def _fitting() -> Iterator[None]:
    """What cannot be written into a request is an argument that is wrong: a text that is no Unicode, a number without
    end, a URL without end.
    """
    try:
        yield
    except (UrlProblem, UnicodeError, orjson.JSONEncodeError) as problem:
        message = "The arguments do not fit into a request to the vendor; shorten or correct them."
        raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO) from problem


def target_problems(target: Target, base_url: str, options: Iterable[str] = ()) -> list[str]:
    """A sentence for each thing wrong with a connection to an API; `options` are those beside `base_url`."""
    known = {"base_url", *options}
    problems = [
        f"options: {name!r} is not known; known are {', '.join(sorted(known))}"
        for name in sorted(target.options.keys() - known)
    ]
    return [*problems, *url_problems(target, "base_url", base_url)]


def url_problems(target: Target, option: str, default: str) -> list[str]:
    """A sentence for each thing wrong with where a connection's credential goes: what the option says, or `default`."""
    text = target.options.get(option, default)
    try:
        url = canonical_url(text if isinstance(text, str) else "")
    except UrlProblem as problem:
        return [f"options: {option} {problem.message}"]
    problems = []
    if "?" in text or "#" in text:  # as it is written: what comes after would swallow every path
        problems.append(f"options: {option} must not have a query or a fragment")
    if url.scheme != "https" and not _is_loopback(url.host):
        problems.append(f"options: {option} must be https; the credential would be readable on the way")
    shown = f"[{url.host}]" if ":" in url.host else url.host
    if url.host not in target.hosts and f"{shown}:{url.port}" not in target.hosts:
        problems.append(f"hosts: must name {shown}: it is where the credential goes")
    return problems


def malformed(reply: Reply) -> NoReturn:
    """Raise what an answer is that lacks what it must have."""
    raise AdapterError(
        ErrorKind.MALFORMED,
        "The vendor's answer lacks what it should have.",
        happened=reply.happened,
        fault=Fault.MALFORMED,
        attempts=reply.attempts,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _pause_name(invocation: Invocation, limit: str) -> str:
    return f"{invocation.target.account or invocation.target.name} {limit}"


def _plain(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _clamped(seconds: float | None) -> float | None:
    """A finite wait of a day at most. What is no number is none."""
    if seconds is None or seconds != seconds:  # noqa: PLR0124 - so is not-a-number told
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS)


def _body(call: Call) -> tuple[bytes | None, Mapping[str, str]]:
    if call.body is not None:
        return call.body, {}
    with _fitting():
        if call.form is not None:
            return urlencode(call.form).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
        if call.json is not None:
            return orjson.dumps(call.json), {"Content-Type": "application/json; charset=utf-8"}
    return None, {}


def _checked(headers: Mapping[str, str]) -> Mapping[str, str]:
    """The headers, each of one line. Raises `AdapterError` (invalid): an argument may be in one."""
    if not all(value.isascii() and (value.isprintable() or not value) for value in headers.values()):
        message = "An argument that goes into a header of the request must be printable ASCII of one line."
        raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO)
    return headers


def _reply(response: Response) -> Reply:
    value = None
    is_good = 200 <= response.status < 300
    if response.cut is not None and is_good:
        message = "The vendor's answer is larger than can be taken; ask for less at once."
        raise _unread(response, ErrorKind.TOO_LARGE, message)
    if response.body.strip():
        try:
            value = orjson.loads(response.body)
        except ValueError as error:
            if is_good:  # of an error, its status is enough
                raise _unread(response, ErrorKind.MALFORMED, "The vendor's answer cannot be read.") from error
    return Reply(
        status=response.status,
        headers=response.headers,
        value=value,
        happened=response.happened,
        retry_after_seconds=response.retry_after_seconds,
        attempts=response.attempts,
    )


def _unread(response: Response, kind: ErrorKind, message: str) -> AdapterError:
    """Nothing is known by an answer that was not read: its status may be a proxy's, with a page to sign in on."""
    happened = Happened.UNKNOWN if response.happened is Happened.YES else response.happened
    return AdapterError(kind, message, happened=happened, fault=Fault.MALFORMED, attempts=response.attempts)
