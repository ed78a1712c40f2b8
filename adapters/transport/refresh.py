"""An access token in exchange for a refresh token (RFC 6749 section 6), for `OAuth`."""

import base64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

import orjson

from adapters.base import Clock, Grant, Invocation, Secret
from adapters.transport.authorisation import needs_authorisation
from adapters.transport.client import Transport
from adapters.transport.token_endpoint import TokenEndpoint, grant_of

_UNREADABLE = (
    "The connection's credential is no OAuth credential (client_id, client_secret and refresh_token as JSON); "
    "its operator has to authorise the connection again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthCredential:
    """What a connection's credential holds: who we are to the vendor, and what the account's owner agreed to."""

    client_id: str
    client_secret: str = field(repr=False)
    refresh_token: str = field(repr=False)

    def with_refresh_token(self, token: str) -> str:
        """The credential with another one, as text."""
        parts = {"client_id": self.client_id, "client_secret": self.client_secret, "refresh_token": token}
        return orjson.dumps(parts).decode()


class Refresh:
    """Asks a vendor's token endpoint. Nothing is tried twice: the first request may have taken the old token back."""

    def __init__(self, transport: Transport, clock: Clock, token_url: str, *, by_basic: bool = False) -> None:
        """`token_url` is the vendor's own; a connection's option `token_url` takes its place (check it by
        `token_url_problems`). The client proves itself in the form, or `by_basic` authentication.
        """
        self._endpoint = TokenEndpoint(transport, clock, token_url)
        self._clock = clock
        self._by_basic = by_basic

    async def __call__(self, invocation: Invocation, credential: Secret) -> Grant:
        """An access token, and the credential to keep when the vendor has put another refresh token in its place.

        Raises `AdapterError` (`happened` NO): needs_authorisation when the credential is none or is taken no more.
        """
        parts = oauth_credential(credential)
        _learn(invocation, parts.client_secret, parts.refresh_token)
        form = {"grant_type": "refresh_token", "refresh_token": parts.refresh_token}
        if self._by_basic:
            answer = await self._endpoint.post(invocation, form, headers=_basic(parts))
        else:
            proof = {"client_id": parts.client_id, "client_secret": parts.client_secret}
            answer = await self._endpoint.post(invocation, form | proof)
        return grant_of(answer, self._clock.now(), credential=_rotated(invocation, parts, answer))


def oauth_credential(credential: Secret) -> OAuthCredential:
    """The parts: exactly these three, each a text that is not empty. Raises `AdapterError` (needs_authorisation)."""
    value = None
    with suppress(orjson.JSONDecodeError):  # not chained: the error holds the text
        value = orjson.loads(credential.reveal())
    if not isinstance(value, dict) or value.keys() != {"client_id", "client_secret", "refresh_token"}:
        raise needs_authorisation(_UNREADABLE)
    if not all(isinstance(part, str) and part for part in value.values()):
        raise needs_authorisation(_UNREADABLE)
    return OAuthCredential(**value)


def is_oauth_credential(text: str) -> bool:
    """Whether it looks like one, for `ByForm`: a vendor may take a plain token as well."""
    return text.lstrip().startswith("{")


def _basic(parts: OAuthCredential) -> dict[str, str]:
    """RFC 6749 section 2.3.1: both are encoded as in a form before they are joined."""
    pair = f"{quote_plus(parts.client_id)}:{quote_plus(parts.client_secret)}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _rotated(invocation: Invocation, parts: OAuthCredential, answer: Mapping[str, Any]) -> str | None:
    token = answer.get("refresh_token")
    if not isinstance(token, str) or not token or token == parts.refresh_token:
        return None
    credential = parts.with_refresh_token(token)
    _learn(invocation, token, credential)
    return credential


def _learn(invocation: Invocation, *secrets: str) -> None:
    for secret in secrets:
        invocation.learn(Secret(secret))
