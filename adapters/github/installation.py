"""Proof as an installation of a GitHub App: its private key signs who it is, and GitHub gives a token for an hour.

https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import jwt
from cryptography.exceptions import UnsupportedAlgorithm

from adapters.base import AdapterError, Clock, ErrorKind, Grant, Invocation, Secret, Target
from adapters.transport.api import Api
from adapters.transport.authorisation import needs_authorisation
from adapters.transport.calls import Call, path_of
from adapters.transport.replies import Reply, malformed

OPTIONS = ("app_id", "installation_id")
SKEW_SECONDS = 60
"""How far GitHub's clock may be behind ours."""
_JWT_SECONDS = 540
"""GitHub takes ten minutes at most."""
_SHORT_SECONDS = 300.0
"""How long a token is used whose end cannot be read."""
_APP = re.compile(r"[0-9]{1,20}|Iv[A-Za-z0-9.]{8,40}")
_INSTALLATION = re.compile(r"[0-9]{1,20}")
_UNUSABLE = (jwt.PyJWTError, UnsupportedAlgorithm, ValueError, TypeError, AttributeError, NotImplementedError)
"""What comes of signing with what is no private RSA key."""
_REFUSED = (
    "GitHub does not accept the App's key, its app_id, or the installation; an operator has to set up the connection "
    "again."
)
_UNFIT = (
    "The connection's private key cannot be used; it needs a PEM RSA key and the options app_id and installation_id."
)


def is_private_key(credential: str) -> bool:
    """Whether a credential is an App's private key, and no token."""
    return credential.lstrip().startswith("-----BEGIN ")


def option_problems(target: Target) -> list[str]:
    """A sentence for each thing wrong with the options of an App."""
    given = {name: str(target.options[name]) for name in OPTIONS if name in target.options}
    problems = [] if len(given) in (0, 2) else ["options: app_id and installation_id are needed together"]
    if not _APP.fullmatch(given.get("app_id", "0")):
        problems.append("options: app_id must be the App's number or its client id")
    if not _INSTALLATION.fullmatch(given.get("installation_id", "0")):
        problems.append("options: installation_id must be a number")
    return problems


class AppJwt:
    """`Authorises` by the App itself, for the few questions that it alone may ask."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def headers(self, invocation: Invocation) -> Mapping[str, str]:
        """One header, which is good for nine minutes. Raises `AdapterError` (needs_authorisation)."""
        key = "" if invocation.credential is None else invocation.credential.reveal()
        issuer = str(invocation.target.options.get("app_id", ""))
        if not is_private_key(key) or not _APP.fullmatch(issuer):
            raise needs_authorisation(_UNFIT)
        token = self._signed(key, issuer)
        invocation.learn(Secret(token))
        return {"Authorization": f"Bearer {token}"}

    async def renewed(self, _invocation: Invocation, _refused: Mapping[str, str]) -> None:
        """There is no other."""

    def _signed(self, key: str, issuer: str) -> str:
        now = int(self._clock.now())
        claims = {"iat": now - SKEW_SECONDS, "exp": now + _JWT_SECONDS, "iss": issuer}
        try:
            # A variable of an environment often has its line breaks written out.
            return jwt.encode(claims, key.strip().replace("\\n", "\n"), algorithm="RS256")
        except _UNUSABLE as error:
            raise needs_authorisation(_UNFIT) from error


class Installation:
    """Gets tokens for the installation that a connection names."""

    def __init__(self, api: Api, clock: Clock) -> None:
        """`api` asks as the App itself."""
        self._api = api
        self._clock = clock

    async def token(self, invocation: Invocation, key: Secret) -> Grant:
        """An access token. Raises `AdapterError`; nothing was done to the world then."""
        number = str(invocation.target.options.get("installation_id", ""))
        if not _INSTALLATION.fullmatch(number):
            raise needs_authorisation(_UNFIT)
        call = Call(
            method="POST",
            path=path_of("/app/installations/{}/access_tokens", number),
            is_read=True,  # a token more changes nothing that anybody would see
        )
        try:
            reply = await self._api.ask(replace(invocation, credential=key), call)
        except AdapterError as error:
            if error.kind in (ErrorKind.NOT_FOUND, ErrorKind.FORBIDDEN, ErrorKind.INVALID):
                raise needs_authorisation(_REFUSED) from error
            raise
        return self._grant(reply)

    def _grant(self, reply: Reply) -> Grant:
        value = reply.value if isinstance(reply.value, dict) else {}
        token = value.get("token")
        if not isinstance(token, str) or not token:
            malformed(reply)
        return Grant(access_token=token, expires_at=self._end(value.get("expires_at")))

    def _end(self, text: object) -> float:
        try:
            end = datetime.fromisoformat(text if isinstance(text, str) else "")
            return (end if end.tzinfo else end.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return self._clock.now() + _SHORT_SECONDS
