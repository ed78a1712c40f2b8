"""Proof by an access token that a vendor gives in exchange for the connection's credential."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from adapters.base import Grant, Invocation, Secret, TokenStore
from adapters.transport.authorisation import Authorises, header_text

_SCHEME = "Bearer "


class OAuth:
    """A bearer token (RFC 6750) that is kept as long as it is good, and renewed when the vendor refuses it."""

    def __init__(self, tokens: TokenStore, exchange: Callable[[Invocation, Secret], Awaitable[Grant]]) -> None:
        """`exchange` asks the vendor of this invocation for a token; it raises `AdapterError`."""
        self._tokens = tokens
        self._exchange = exchange

    async def headers(self, invocation: Invocation) -> Mapping[str, str]:
        """One header. Raises `AdapterError`."""
        return await self._header(invocation, "")

    async def renewed(self, invocation: Invocation, refused: Mapping[str, str]) -> Mapping[str, str] | None:
        """A header with another token; None when the vendor gives the refused one again."""
        header = await self._header(invocation, refused["Authorization"].removeprefix(_SCHEME))
        return None if header == refused else header

    async def _header(self, invocation: Invocation, refused: str) -> Mapping[str, str]:
        token = await self._tokens.access_token(invocation, partial(self._exchange, invocation), refused=refused)
        return {"Authorization": _SCHEME + header_text(token)}


class ByForm:
    """One of two ways to prove who asks, by what the credential looks like."""

    def __init__(self, is_first: Callable[[str], bool], first: Authorises, other: Authorises) -> None:
        """`is_first` is given the credential itself."""
        self._is_first = is_first
        self._first = first
        self._other = other

    async def headers(self, invocation: Invocation) -> Mapping[str, str]:
        """The headers of the way that fits. Raises `AdapterError`."""
        return await self._way(invocation).headers(invocation)

    async def renewed(self, invocation: Invocation, refused: Mapping[str, str]) -> Mapping[str, str] | None:
        """Others in their place, if that way has others. Raises `AdapterError`."""
        return await self._way(invocation).renewed(invocation, refused)

    def _way(self, invocation: Invocation) -> Authorises:
        secret = invocation.credential
        return self._first if secret is not None and self._is_first(secret.reveal()) else self._other
