"""Callers who bring a signed token (RFC 7519): issuer, audience and algorithms are pinned."""

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jwt
import orjson

from adapters.base import Clock
from gateway.call import CallerKind, Principal
from gateway.errors import StartError, Unauthenticated
from gateway.identity.base import Metadata
from gateway.identity.principal import build_principal
from gateway.settings.listeners import JwtIdentity

CACHED_TOKENS = 4096
MAX_TOKEN_BYTES = 16 * 1024
FILE_CHECK_SECONDS = 1.0
"""How often the key set's file is looked at: a removed key is out within this time."""

_STANDARD = frozenset({"iss", "aud", "exp", "nbf", "iat", "jti", "sub"})

FileState = tuple[int, int, int]


class JwtAuthenticator:
    """Verifies tokens against the key set in a file, and remembers verified ones until they expire.

    A token is remembered by its bytes. Any change of the file empties what is remembered, so a removed
    key is out at the next look at the file. A file that cannot be read any more lets nobody in.
    """

    def __init__(self, settings: JwtIdentity, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._verified: OrderedDict[str, tuple[float, Principal]] = OrderedDict()
        self._next_look = 0.0
        self._state = _file_state(settings.jwks_file)
        self._keys = read_keys(settings.jwks_file)

    def authenticate(self, metadata: Metadata) -> Principal:
        """The token's principal. Raises `Unauthenticated`."""
        token = bearer_token(metadata)
        self._look_at_file()
        remembered = self._verified.get(token)
        if remembered is not None and self._clock.now() < remembered[0]:
            return remembered[1]
        expires_at, principal = self._verify(token)
        self._verified[token] = (expires_at, principal)
        if len(self._verified) > CACHED_TOKENS:
            self._verified.popitem(last=False)
        return principal

    def _look_at_file(self) -> None:
        now = self._clock.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + FILE_CHECK_SECONDS
        try:
            state = _file_state(self._settings.jwks_file)
            if state != self._state:
                self._verified.clear()
                self._keys = read_keys(self._settings.jwks_file)
                self._state = state
        except StartError as error:
            self._verified.clear()
            self._keys = {}
            self._state = (0, 0, 0)
            raise Unauthenticated("the key set cannot be read") from error

    def _verify(self, token: str) -> tuple[float, Principal]:
        try:
            header = jwt.get_unverified_header(token)
            algorithm = header.get("alg")
            if algorithm not in self._settings.algorithms:
                raise Unauthenticated("the token's algorithm is not allowed")
            key = self._key(header.get("kid"))
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm] if _fits(key, algorithm) else [],
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=self._settings.leeway_seconds,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
            return float(claims["exp"]) + self._settings.leeway_seconds, self._principal(claims)
        # A claim can be a number beyond 64 bits or infinite, half a character, or nested without end.
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise Unauthenticated(f"the token is not valid ({type(error).__name__})") from error

    def _key(self, key_id: object) -> jwt.PyJWK:
        """The key that the token names, or the only one when it names none."""
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        key = self._keys.get(key_id) if isinstance(key_id, str) else None
        if key is None:
            raise Unauthenticated("the token names no key that we have")
        return key

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        settings = self._settings
        named = {settings.tenant_claim, settings.agent_claim, settings.scopes_claim, settings.roles_claim}
        return build_principal(
            tenant=_text(claims, settings.tenant_claim),
            id=_text(claims, "sub"),
            kind=CallerKind.AGENT,
            agent=_text(claims, settings.agent_claim),
            scopes=frozenset(_words(claims.get(settings.scopes_claim))),
            roles=frozenset(_words(claims.get(settings.roles_claim))),
            claims={name: value for name, value in claims.items() if name not in _STANDARD | named},
            proof="jwt",
        )


def bearer_token(metadata: Metadata) -> str:
    """The token in `authorization`. Raises `Unauthenticated` when there is none, or more than one."""
    values = [value for name, value in metadata if name == "authorization"]
    if len(values) != 1:
        raise Unauthenticated("no token, or more than one")
    value = values[0]
    if not isinstance(value, str) or value[:7].lower() != "bearer " or len(value) > MAX_TOKEN_BYTES:
        raise Unauthenticated("not a bearer token")
    return value[7:].strip()


def read_keys(path: Path) -> dict[str, jwt.PyJWK]:
    """The public keys of a JSON Web Key Set by key id. Raises `StartError`.

    Symmetric keys are refused: whoever can verify with one can also sign with it.
    """
    try:
        document = orjson.loads(path.read_bytes())
        keys = [jwt.PyJWK(entry) for entry in document["keys"] if entry.get("use", "sig") == "sig"]
    except OSError as error:
        raise StartError(f"the key set {path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError, jwt.PyJWTError) as error:
        raise StartError(f"the key set {path} is not a JSON Web Key Set of public keys") from error
    if not keys or any(key.key_type == "oct" for key in keys):
        raise StartError(f"the key set {path} must hold at least one public key and no symmetric one")
    by_id = {key.key_id or "": key for key in keys}
    if len(by_id) != len(keys):
        raise StartError(f"the key set {path} names one key id twice; give every key a kid of its own")
    return by_id


def _fits(key: jwt.PyJWK, algorithm: str) -> bool:
    """Whether the algorithm is one for this type of key, so that a key is never used for another."""
    families = {"EC": ("ES",), "RSA": ("RS", "PS"), "OKP": ("Ed",)}
    return algorithm.startswith(families.get(key.key_type or "", ("-",)))


def _file_state(path: Path) -> FileState:
    try:
        status = path.stat()
    except OSError as error:
        raise StartError(f"the key set {path} cannot be read: {error.strerror}") from error
    return status.st_mtime_ns, status.st_size, status.st_ino


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
