"""A field of a secret in a vault is given another value: by check-and-set, and not over what somebody else wrote."""

from collections.abc import Awaitable, Callable

from gateway.clients.vault_answers import SecretFields, SecretPlace, Trouble, VaultFailed
from gateway.credentials.vault_places import VaultPlace

ROUNDS = 3
"""How often others may change other fields of the secret meanwhile."""

Read = Callable[[SecretPlace], Awaitable[SecretFields]]
Write = Callable[[SecretPlace, SecretFields], Awaitable[None]]
"""All fields, if the newest version still is that of `SecretFields`."""


async def replaced(read: Read, write: Write, place: VaultPlace, change: tuple[str, str]) -> bool:
    """The field holds the second of `change` from now on, if it held the first. False when it holds something else.

    Raises `VaultFailed`; trying again is harmless.
    """
    old, new = change
    failure = VaultFailed(Trouble.REJECTED)
    fields = await read(place.secret)
    for _ in range(ROUNDS):
        value = fields.values.get(place.field)
        if value != old:
            return bool(value == new)  # ours came to be all the same, though nobody told us
        try:
            await write(place.secret, SecretFields({**fields.values, place.field: new}, 0.0, fields.version))
        except VaultFailed as failed:
            if failed.trouble is not Trouble.REJECTED:
                raise
            failure = failed
        else:
            return True
        before, fields = fields, await read(place.secret)
        if fields.version == before.version and fields.values == before.values:
            break  # nobody was faster: it is the write itself that is not taken
    raise failure
