"""Cursors: how far somebody has watched, sealed for one agent, so that nobody reads, makes or borrows one."""

import base64
import binascii

from gateway.call import Principal
from gateway.errors import Refused, RefusedKind
from gateway.store.sealing import Seal, SealBroken, SealDown

MOST_CHARACTERS = 2048
_NUMBER_BYTES = 8


class Cursors:
    """Writes and reads them."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal

    async def write(self, principal: Principal, number: int) -> str:
        """What the agent gives back to go on behind this number. Raises `SealBroken`."""
        plain = number.to_bytes(_NUMBER_BYTES, "big")
        sealed = await self._seal.seal(principal.tenant, _place(principal), plain)
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    async def read(self, principal: Principal, cursor: str) -> int:
        """The number. Raises `Refused` (invalid) for what was never this agent's cursor, and `SealDown` when nobody
        can tell now.
        """
        try:
            plain = await self._seal.open(principal.tenant, _place(principal), _bytes_of(cursor))
        except SealDown:
            raise
        except SealBroken as broken:
            raise not_a_cursor() from broken
        if len(plain) != _NUMBER_BYTES:
            raise not_a_cursor()
        return int.from_bytes(plain, "big")


def not_a_cursor() -> Refused:
    """Whatever is wrong with it."""
    message = (
        "This is no cursor of yours that can be used here. Leave `after` empty, or give the last one that you got."
    )
    return Refused(RefusedKind.INVALID, message)


def _bytes_of(cursor: str) -> bytes:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error) as error:
        raise not_a_cursor() from error


def _place(principal: Principal) -> str:
    """Not below `events/`, where an event of a connection called `cursor` would be."""
    return f"event-cursors/{principal.agent}"
