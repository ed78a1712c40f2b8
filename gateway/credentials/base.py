"""Step 11: a reference becomes a secret for the length of one invocation."""

from typing import Protocol

from adapters.base import Secret


class Source(Protocol):
    """Resolves the references of one scheme, e.g. `env:`."""

    async def resolve(self, tenant: str, name: str) -> Secret:
        """The secret behind the part of the reference after the scheme, for a connection of this tenant.

        Raises `Refusal`: `credential_missing` when there is no such thing, `credential_unavailable`
        when it cannot be told. The message names neither the reference nor the value.
        """
        ...
