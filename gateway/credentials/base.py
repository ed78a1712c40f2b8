"""Step 11: a reference becomes a secret for the length of one invocation."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from adapters.base import Secret


def _nothing() -> None:
    """A credential that is nobody's to take back."""


@dataclass(frozen=True, slots=True)
class Lent:
    """A credential for one invocation, which ends with it."""

    secrets: tuple[Secret, ...]
    """The first is for the adapter; none of them may be found in what leaves."""
    lease_id: str = ""
    """Of a credential that was made for this invocation, or for a few; for the audit line."""
    give_back: Callable[[], None] = field(default=_nothing, repr=False)
    """Has the lease revoked, in the background. Neither waits nor raises; more than once is harmless."""

    def end(self) -> None:
        """Forget the secrets and give the lease back. Neither waits nor raises; more than once is harmless."""
        for secret in self.secrets:
            secret.drop()
        self.give_back()


class Source(Protocol):
    """Resolves the references of one scheme, e.g. `env:`."""

    async def resolve(self, tenant: str, name: str) -> Secret:
        """The secret behind the part of the reference after the scheme, for a connection of this tenant.

        Raises `Refusal`: `credential_missing` when there is no such thing, `credential_unavailable`
        when it cannot be told. The message names neither the reference nor the value.
        """
        ...


@runtime_checkable
class Shelf(Source, Protocol):
    """A source that can be written as well."""

    async def again(self, tenant: str, name: str) -> Secret:
        """The secret as it is now, whatever was read a while ago. Raises `Refusal` as `resolve` does."""
        ...

    async def replace(self, tenant: str, name: str, old: Secret, new: str) -> bool:
        """It is `new` from now on, if it still is `old`. False when it is something else by now, which stays.

        Raises `Refusal` when nobody knows, or it may not be written; trying again is harmless.
        """
        ...


class Lender(Protocol):
    """Has credentials made, by the references of one scheme, e.g. `vault-dynamic:`."""

    async def lend(self, tenant: str, name: str, seconds: float) -> Lent:
        """A credential for an invocation that takes at most so many seconds, to be ended by the caller.

        Raises `Refusal` as `Source.resolve` does. Cancelled, it leaves nothing behind.
        """
        ...
