"""Asks a vault with the gateway's own token, and knows how that went."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.credentials.vault_login import Login

T = TypeVar("T")


class VaultSession:
    """One login for everybody who asks. A token that has died is replaced once, and the question asked once more."""

    def __init__(self, login: Login) -> None:
        self._login = login
        self.trouble: Trouble | None = None
        """Why the last question had no answer; None when it had one, and also when there was nothing to find."""

    async def ask(self, question: Callable[[str], Awaitable[T]]) -> T:
        """What the question, given a token, comes to. Raises `VaultFailed`."""
        try:
            answer = await self._asked(question)
        except VaultFailed as failed:
            self.trouble = failed.trouble if failed.trouble.fault is not None else None
            raise
        self.trouble = None
        return answer

    async def _asked(self, question: Callable[[str], Awaitable[T]]) -> T:
        token = await self._login.token()
        try:
            return await question(token)
        except VaultFailed as failed:
            if failed.trouble is not Trouble.DENIED:
                raise
            other = await self._other_token(token)
            if other is None:
                raise
        try:
            return await question(other)
        except VaultFailed as failed:
            if failed.trouble is Trouble.DENIED:
                self._login.was_in_vain()
            raise

    async def _other_token(self, denied: str) -> str | None:
        """Another token, if the no was for this one. A server has said no: when none can say what for, it stands, lest
        what was taken away is used as if nobody had answered.
        """
        try:
            return await self._login.token_instead_of(denied)
        except VaultFailed as failed:
            if failed.trouble.may_be_stale:
                return None
            raise
