"""Who asks Google: by a refresh token, by a service account's own signature, or by an access token as it stands."""

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import jwt
import orjson

from adapters.base import Grant, Invocation, Secret, Target
from adapters.transport.api import ApiParts
from adapters.transport.authorisation import Authorises, Bearer, needs_authorisation
from adapters.transport.oauth import ByForm, OAuth
from adapters.transport.refresh import Refresh, is_oauth_credential
from adapters.transport.token_endpoint import OPTION, TokenEndpoint, grant_of, token_url_problems

TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105 - where, not what
SCOPES = (
    "https://www.googleapis.com/auth/calendar.events",
    "https://www.googleapis.com/auth/calendar.freebusy",
)
OPTIONS = (OPTION, "scopes", "subject")
"""`scopes` and `subject` are a service account's: what it asks for, and for whom in its organisation it acts."""
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_GOOD_FOR_SECONDS = 3600
_MAX_SCOPES = 20
_UNUSABLE = (
    "The connection's service account key cannot be used (client_email and a private_key for RS256 are needed); "
    "its operator has to authorise the connection again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    email: str
    key_id: str | None
    private_key: str = field(repr=False)


class ServiceAccount:
    """Asks for an access token with a claim that the account's private key has signed (RFC 7523)."""

    def __init__(self, parts: ApiParts) -> None:
        self._endpoint = TokenEndpoint(parts.transport, parts.clock, TOKEN_URL)
        self._clock = parts.clock

    async def __call__(self, invocation: Invocation, credential: Secret) -> Grant:
        """An access token. Raises `AdapterError` (`happened` NO): needs_authorisation for a key that is none."""
        key = _key(credential)
        invocation.learn(Secret(key.private_key))
        claims = _claims(invocation.target, key.email, int(self._clock.now()))
        # Reading a key checks it, which takes long enough to be felt by other calls.
        assertion = await asyncio.to_thread(_signed, claims, key)
        invocation.learn(Secret(assertion))
        answer = await self._endpoint.post(invocation, {"grant_type": _GRANT, "assertion": assertion})
        return grant_of(answer, self._clock.now())


class _PerSubject:
    """A token is of the subject and the scopes that it was asked for, so it is not kept under the account alone."""

    def __init__(self, oauth: OAuth) -> None:
        self._oauth = oauth

    async def headers(self, invocation: Invocation) -> Mapping[str, str]:
        return await self._oauth.headers(_apart(invocation))

    async def renewed(self, invocation: Invocation, refused: Mapping[str, str]) -> Mapping[str, str] | None:
        return await self._oauth.renewed(_apart(invocation), refused)


def authorises(parts: ApiParts) -> Authorises:
    """By what the credential looks like: a service account's key, an OAuth credential, or a plain token."""
    account = _PerSubject(OAuth(parts.tokens, ServiceAccount(parts)))
    refresh = OAuth(parts.tokens, Refresh(parts.transport, parts.clock, TOKEN_URL))
    return ByForm(is_service_account, account, ByForm(is_oauth_credential, refresh, Bearer()))


def is_service_account(text: str) -> bool:
    """Whether the credential is a service account's key file."""
    return _parsed(text).get("type") == "service_account"


def option_problems(target: Target) -> list[str]:
    """A sentence for each thing wrong with how a connection proves itself."""
    problems = token_url_problems(target, TOKEN_URL)
    scopes, subject = target.options.get("scopes", list(SCOPES)), target.options.get("subject", "a@b")
    is_list = isinstance(scopes, list) and 0 < len(scopes) <= _MAX_SCOPES
    if not is_list or not all(_is_word(scope) for scope in scopes):
        problems.append(f"options: scopes must be a list of 1 to {_MAX_SCOPES} scopes, each without blanks")
    if not _is_word(subject) or "@" not in subject:
        problems.append("options: subject must be the address of the person for whom the service account acts")
    return problems


def _apart(invocation: Invocation) -> Invocation:
    target = invocation.target
    told = orjson.dumps([target.options.get("subject"), _scopes(target)])
    suffix = hashlib.sha256(told).hexdigest()[:16]
    return replace(invocation, target=replace(target, account=f"{target.account or target.name} {suffix}"))


def _scopes(target: Target) -> list[str]:
    return [str(scope) for scope in target.options.get("scopes", SCOPES)]


def _claims(target: Target, email: str, now: int) -> dict[str, Any]:
    claims = {
        "iss": email,
        "scope": " ".join(_scopes(target)),
        "aud": str(target.options.get(OPTION, TOKEN_URL)),
        "iat": now,
        "exp": now + _GOOD_FOR_SECONDS,
    }
    subject = target.options.get("subject")
    return claims if subject is None else {**claims, "sub": subject}


def _signed(claims: Mapping[str, Any], key: _Key) -> str:
    headers = None if key.key_id is None else {"kid": key.key_id}
    with suppress(Exception):  # a key of another kind fails in as many ways as there are kinds
        return jwt.encode(dict(claims), key.private_key, algorithm="RS256", headers=headers)
    raise needs_authorisation(_UNUSABLE)  # not chained: the error may quote the key


def _key(credential: Secret) -> _Key:
    value = _parsed(credential.reveal())
    email, private_key, key_id = (value.get(name) for name in ("client_email", "private_key", "private_key_id"))
    if not isinstance(email, str) or not email or not isinstance(private_key, str) or not private_key:
        raise needs_authorisation(_UNUSABLE)
    return _Key(email=email, key_id=key_id if isinstance(key_id, str) else None, private_key=private_key)


def _parsed(text: str) -> dict[str, Any]:
    value = None
    with suppress(ValueError):
        value = orjson.loads(text)
    return value if isinstance(value, dict) else {}


def _is_word(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable() and bool(value) and " " not in value
