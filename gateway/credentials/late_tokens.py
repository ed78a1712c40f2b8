"""A `TokenStore` that adapters are handed before there is one: it needs what comes after them."""

from typing import Protocol

from adapters.base import Exchange, Invocation, Secret, TokenStore


class Tokens(TokenStore, Protocol):
    """A `TokenStore` with a life of its own."""

    async def start(self) -> None:
        """Get ready."""
        ...

    async def stop(self) -> None:
        """Let go of everything."""
        ...


class LateTokens:
    """Stands for one that is bound before anybody asks."""

    def __init__(self) -> None:
        self._tokens: Tokens | None = None

    def bind(self, tokens: Tokens) -> None:
        """This is it, from now on."""
        self._tokens = tokens

    async def start(self) -> None:
        """See `Tokens.start`."""
        await self._bound.start()

    async def stop(self) -> None:
        """Harmless when there is none."""
        if self._tokens is not None:
            await self._tokens.stop()

    async def access_token(self, invocation: Invocation, exchange: Exchange, *, refused: str = "") -> Secret:
        """See `TokenStore.access_token`."""
        return await self._bound.access_token(invocation, exchange, refused=refused)

    @property
    def _bound(self) -> Tokens:
        assert self._tokens is not None
        return self._tokens
