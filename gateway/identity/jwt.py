"""Callers who bring a signed token (RFC 7519): issuer, audience and algorithms are pinned."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import jwt

from adapters.base import Clock
from gateway.call import CallerKind, Principal
from gateway.errors import Unauthenticated
from gateway.identity.base import AuthStatus, Metadata, Proof
from gateway.identity.jwks import Key, KeySet, KeySource
from gateway.identity.principal import build_principal
from gateway.settings.listeners import JwtIdentity

CACHED_TOKENS = 4096
MAX_TOKEN_BYTES = 16 * 1024

_KINDS = {kind.value: kind for kind in CallerKind}
_STANDARD = frozenset({"iss", "aud", "exp", "nbf", "iat", "jti", "sub"})


class JwtAuthenticator:
    """Verifies tokens against a key set, and remembers verified ones until they expire.

    A token is remembered by its bytes. Any change of the key set empties what is remembered, so that a removed
    key is out at once. While no key set holds nobody is let in, with a remembered token neither.
    """

    def __init__(self, settings: JwtIdentity, keys: KeySource, clock: Clock) -> None:
        self._settings = settings
        self._source = keys
        self._clock = clock
        self._keys: KeySet | None = None
        self._verified: OrderedDict[str, tuple[float, Principal]] = OrderedDict()

    async def start(self) -> None:
        """Get the keys. Raises `StartError`."""
        await self._source.start()

    async def stop(self) -> None:
        """Follow the keys no longer."""
        await self._source.stop()
        self._verified.clear()

    def status(self) -> AuthStatus:
        """How the key set stands."""
        return self._source.status()

    async def authenticate(self, proof: Proof) -> Principal:
        """The token's principal. Raises `Unauthenticated`."""
        token = bearer_token(proof.metadata)
        keys = self._current()
        remembered = self._verified.get(token)
        if remembered is not None and self._clock.now() < remembered[0]:
            return remembered[1]
        header = _header(token)
        key_id = header.get("kid")
        if key_id is not None and keys.find(key_id) is None and self._is_allowed(header):
            await self._source.look_again()
            keys = self._current()
        return self._remember(token, *self._verify(token, header, keys.find(key_id)))  # no await since `_current`

    def _current(self) -> KeySet:
        keys = self._source.current()
        if keys is not self._keys:
            self._verified.clear()
            self._keys = keys
        return keys

    def _remember(self, token: str, expires_at: float, principal: Principal) -> Principal:
        self._verified[token] = (expires_at, principal)
        if len(self._verified) > CACHED_TOKENS:
            self._verified.popitem(last=False)
        return principal

    def _is_allowed(self, header: Mapping[str, Any]) -> bool:
        return header.get("alg") in self._settings.algorithms

    def _verify(self, token: str, header: Mapping[str, Any], key: Key | None) -> tuple[float, Principal]:
        """The token's principal, and until when. Errors are not chained: their words may hold parts of the token."""
        algorithm = header.get("alg")
        if not self._is_allowed(header) or not isinstance(algorithm, str):
            raise Unauthenticated("the token's algorithm is not allowed")
        if key is None:
            raise Unauthenticated("the token names no key that we have")
        if algorithm not in key.algorithms:
            raise Unauthenticated("the token's algorithm is not its key's")
        try:
            claims = self._claims(token, key, algorithm)
            return float(claims["exp"]) + self._settings.leeway_seconds, self._principal(claims)
        # A claim can be a number beyond 64 bits or infinite, half a character, or nested without end.
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            why = type(error).__name__
        raise Unauthenticated(f"the token is not valid ({why})")

    def _claims(self, token: str, key: Key, algorithm: str) -> dict[str, Any]:
        return jwt.decode(
            token,
            key.public,
            algorithms=[algorithm],
            audience=self._settings.audience,
            issuer=self._settings.issuer,
            leeway=self._settings.leeway_seconds,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        settings = self._settings
        named = {
            *(settings.tenant_claim, settings.agent_claim, settings.scopes_claim, settings.roles_claim),
            settings.kind_claim,
        }
        agent = self._agent(claims)
        return build_principal(
            tenant=_text(claims, settings.tenant_claim),
            id=_text(claims, "sub"),
            kind=self._kind(claims, agent),
            agent=agent,
            scopes=frozenset(_words(claims.get(settings.scopes_claim))),
            roles=frozenset(_words(claims.get(settings.roles_claim))),
            claims={name: value for name, value in claims.items() if name not in _STANDARD | named},
            proof="jwt",
        )

    def _agent(self, claims: Mapping[str, Any]) -> str:
        """The agent that the token names; empty where it needs to name none and does not."""
        name = self._settings.agent_claim
        return _text(claims, name) if self._settings.needs_agent or name in claims else ""

    def _kind(self, claims: Mapping[str, Any], agent: str) -> CallerKind:
        """What the caller is. An agent that brings its token to where people are expected is no person."""
        settings = self._settings
        if settings.kind_claim:
            kind = _KINDS.get(_text(claims, settings.kind_claim))
            if kind is None:
                raise Unauthenticated(f"the token's claim {settings.kind_claim} is no kind of caller")
            return kind
        if settings.principal_kind is CallerKind.HUMAN and agent and not settings.needs_agent:
            raise Unauthenticated("the token is an agent's, and people are expected here")
        return settings.principal_kind


def bearer_token(metadata: Metadata) -> str:
    """The token in `authorization`. Raises `Unauthenticated` when there is none, or more than one."""
    values = [value for name, value in metadata if name == "authorization"]
    if len(values) != 1:
        raise Unauthenticated("no token, or more than one")
    value = values[0]
    if not isinstance(value, str) or value[:7].lower() != "bearer " or len(value) > MAX_TOKEN_BYTES:
        raise Unauthenticated("not a bearer token")
    return value[7:].strip()


def _header(token: str) -> dict[str, Any]:
    """What the token says of itself, unproven."""
    try:
        return jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
        why = type(error).__name__
    raise Unauthenticated(f"the token is not valid ({why})")  # not chained: the words may hold parts of the token


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= 256 or not value.isprintable():
        raise Unauthenticated(f"the token's claim {name} is missing or not a plain text")
    return value


def _words(value: object) -> list[str]:
    """A claim that is a space-separated text (RFC 8693, 4.2) or a list of texts."""
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    if value is None:
        return []
    raise Unauthenticated("the token's scopes or roles are neither a text nor a list of texts")
