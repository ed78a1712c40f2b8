"""A vendor's token endpoint (RFC 6749 section 3.2): a form is posted, and an access token comes back.

Nothing that is asked here changes the world outside, so whatever fails, `happened` is NO. Nothing is tried twice: a
vendor may take the old credential back by the very first request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any
from urllib.parse import urlencode

import orjson

from adapters.base import AdapterError, Clock, ErrorKind, Fault, Grant, Happened, Invocation, Target
from adapters.transport.api import USER_AGENT
from adapters.transport.authorisation import needs_authorisation
from adapters.transport.base_urls import url_problems
from adapters.transport.client import Transport
from adapters.transport.messages import Request, Response
from adapters.transport.urls import UrlProblem, WebUrl, canonical_url

OPTION = "token_url"
"""The connection's option that names another endpoint than the vendor's own."""
ANSWER_SECONDS = 15.0
"""How long an answer is waited for, however little time the call has left: see `TokenEndpoint.post`."""
USUAL_SECONDS = 3600.0
"""How long a token is taken to be good when the vendor does not say."""
MOST_SECONDS = 86_400.0
"""No token is kept for longer, whatever the vendor says."""
_MAX_BYTES = 64 * 1024
_MAX_TOKEN_CHARACTERS = 8192

_GONE = frozenset(
    {
        "invalid_grant",
        "invalid_client",
        "unauthorized_client",
        "access_denied",
        # what vendors say instead
        "consent_required",
        "interaction_required",
        "invalid_auth",
        "login_required",
        "bad_refresh_token",
        "incorrect_client_credentials",
        "invalid_refresh_token",
        "invalid_client_id",
        "bad_client_secret",
        "token_revoked",
        "token_expired",
    }
)
_LATER = frozenset({"temporarily_unavailable", "server_error", "internal_error", "service_unavailable"})


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """Where access tokens are asked for."""

    transport: Transport
    clock: Clock
    url: str
    """The vendor's own; a connection's option `token_url` takes its place."""

    async def post(
        self, invocation: Invocation, form: Mapping[str, str], *, headers: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        """The JSON object that the endpoint answers. Asked once.

        It may take longer than the call has time: an answer that nobody waited for may hold the only credential that
        is good from now on. A caller in a hurry leaves the waiting to somebody else (see `TokenStore`).

        Raises `AdapterError` (`happened` NO): needs_authorisation when the vendor does not take the credential any
        more, and whatever else kept it from answering.
        """
        request = self._request(invocation, form, headers or {})
        try:
            return _answer(await self.transport.send(request))
        except AdapterError as error:
            if error.kind is ErrorKind.DEADLINE:  # ours, and not the call's
                raise _error(_TOO_SLOW) from error
            error.happened = Happened.NO
            raise

    def _request(self, invocation: Invocation, form: Mapping[str, str], headers: Mapping[str, str]) -> Request:
        target = invocation.target
        return Request(
            method="POST",
            url=_url(target, self.url),
            headers={
                "Accept": "application/json",
                "User-Agent": USER_AGENT,
                "Content-Type": "application/x-www-form-urlencoded",
                **headers,
            },
            body=urlencode(form).encode(),
            deadline=self.clock.monotonic() + ANSWER_SECONDS,
            circuit=target.account or target.name,
            max_bytes=_MAX_BYTES,
            hosts=target.hosts,
            follows=False,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal:
    kind: ErrorKind
    message: str
    fault: Fault | None = None


_NO = _Refusal(
    kind=ErrorKind.FORBIDDEN,
    message="The vendor gives the connection's account no access token; an operator has to look at the connection.",
)
_NOT_NOW = _Refusal(
    kind=ErrorKind.UNAVAILABLE,
    message="The vendor cannot give an access token now; try again later.",
    fault=Fault.ERROR,
)
_TOO_SLOW = _Refusal(
    kind=ErrorKind.UNAVAILABLE,
    message="The vendor did not give an access token in time; try again later.",
    fault=Fault.TIMEOUT,
)
_TOO_OFTEN = _Refusal(
    kind=ErrorKind.RATE_LIMITED, message="The vendor was asked for access tokens too often; wait before the next call."
)
_UNREADABLE = _Refusal(
    kind=ErrorKind.MALFORMED, message="The vendor's answer about an access token cannot be read.", fault=Fault.MALFORMED
)


def grant_of(answer: Mapping[str, Any], now: float, *, credential: str | None = None) -> Grant:
    """The access token in an endpoint's answer. `credential` is what has to be kept from now on, if anything.

    Raises `AdapterError` (malformed) when there is none that can be sent.
    """
    token = answer.get("access_token")
    if not isinstance(token, str) or not is_sendable(token):
        raise _error(_UNREADABLE)
    return Grant(access_token=token, expires_at=now + seconds_of(answer.get("expires_in")), credential=credential)


def is_sendable(token: str) -> bool:
    """Whether the text can stand in a header as it is."""
    return 0 < len(token) <= _MAX_TOKEN_CHARACTERS and token.isascii() and token.isprintable() and " " not in token


def seconds_of(value: object) -> float:
    """The `expires_in` of an answer, a day at most; an hour when it is no positive number (or digits in a string)."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 12:
        value = int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or value <= 0:  # type: ignore[arg-type, operator]  # it is a number
        return USUAL_SECONDS
    return min(float(value), MOST_SECONDS)  # type: ignore[arg-type]


def token_url_problems(target: Target, token_url: str) -> list[str]:
    """A sentence for each thing wrong with where a connection's tokens are asked for, for `check_target`.

    `token_url` is the vendor's own. The rules are those of `base_url`: https, and a host that the connection names.
    """
    return url_problems(target, OPTION, token_url)


def _url(target: Target, own: str) -> WebUrl:
    try:
        return canonical_url(str(target.options.get(OPTION, own)))
    except UrlProblem as problem:
        raise _error(_NO) from problem


def _answer(response: Response) -> Mapping[str, Any]:
    value = _object(response)
    code = value.get("error") if value is not None else None
    if 200 <= response.status < 300 and value is not None and not code and value.get("ok") is not False:
        return value
    raise _failure(response, code if isinstance(code, str) else "")


def _object(response: Response) -> dict[str, Any] | None:
    """The object in the body; None when there is none, or it was cut."""
    try:
        value = orjson.loads(response.body) if response.cut is None else None
    except orjson.JSONDecodeError:  # an error's status is enough
        return None
    return value if isinstance(value, dict) else None


def _failure(response: Response, code: str) -> AdapterError:
    # cases: 1. the vendor says what is wrong  2. the status does  3. it says nothing that can be read
    status, wait = response.status, response.retry_after_seconds
    if code in _GONE or (status == 401 and code not in _LATER):
        return needs_authorisation()
    if status == 429 or code in ("slow_down", "ratelimited", "rate_limited"):
        return _error(_TOO_OFTEN, wait)
    if status >= 500 or status == 408 or code in _LATER:
        return _error(_NOT_NOW, wait)
    if code or 400 <= status < 500:
        return _error(_NO)
    return _error(_UNREADABLE)


def _error(refusal: _Refusal, wait: float | None = None) -> AdapterError:
    return AdapterError(
        refusal.kind, refusal.message, happened=Happened.NO, fault=refusal.fault, retry_after_seconds=wait
    )
